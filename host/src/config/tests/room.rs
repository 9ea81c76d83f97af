//! The room for a request, and the compactor that is made for it.

use super::*;
use crate::config::{Origin, Source, Sources, load};
use crate::layers::Layers;
use crate::models::ModelTable;
use crate::tokens::media::ImageRule;
use brute_core::{MessageId, Part};

fn config(text: &str) -> Config {
    let source = Source::new("brute.toml", text, Origin::Project);
    let sources = Sources { project: Some(source), ..Sources::default() };
    let loaded = load(&sources, &Layers::built_in());
    assert!(loaded.config.is_some(), "{:?}", loaded.diagnostics);
    loaded.config.unwrap()
}

fn read(config: &Config, json: &str) -> Document {
    config.read(json, &ReadOptions::default()).unwrap()
}

/// A request of one small message, with `tools` to offer.
fn request(model: &str, tools: &str) -> String {
    format!(
        r#"{{"model": "{model}", "tools": {tools}, "messages": [{{"role": "user", "content": "hello"}}]}}"#
    )
}

#[tokio::test]
async fn tool_schemas_take_room() {
    let tools = serde_json::json!([{ "type": "function", "function": {
        "name": "look", "description": "all there is to say ".repeat(20_000) } }]);
    let config = Config::default();
    let document = read(&config, &request("gpt-4o", &tools.to_string()));
    let compactor = config.compactor(&document).unwrap();
    assert!(compactor.budget().overhead() > 90_000);
    let done = compactor.compact(document.conversation().clone()).await;
    assert!(!done.outcome.fits(), "the schemas alone are above the trigger: {:?}", done.outcome);
}

#[tokio::test]
async fn what_is_kept_and_who_summarizes_is_in_the_compactor() {
    let call = |id: usize| {
        format!(
            r#"{{"role": "assistant", "content": null, "tool_calls": [{{"id": "c{id}", "type": "function", "function": {{"name": "shell", "arguments": "{{}}"}}}}]}},
        {{"role": "tool", "tool_call_id": "c{id}", "content": "{}"}}"#,
            "many words of output ".repeat(400)
        )
    };
    let calls: Vec<String> = (0..8).map(call).collect();
    let json = format!(r#"[{{"role": "user", "content": "go"}}, {}]"#, calls.join(", "));
    let base = "[window]\nsize = 10_000\n";
    let ladder = "[[ladder]]\nlayer = \"tool-results\"\n";
    for (more, applied) in [("", true), ("[keep]\ntools = [\"shell\"]\n", false)] {
        let config = config(&format!("{base}{more}{ladder}"));
        let document = read(&config, &json);
        let compactor = config.compactor(&document).unwrap();
        let done = compactor.compact(document.conversation().clone()).await;
        assert_eq!(!done.removed.is_empty(), applied, "{more}");
    }
    let summarize = "[summarizer]\nbackend = \"extract\"\n[[ladder]]\nlayer = \"summarize\"\n";
    let config = config(&format!("{base}{summarize}"));
    let document = read(&config, &json);
    let done = config.compactor(&document).unwrap().compact(document.conversation().clone()).await;
    assert!(done.rungs[0].summarizer.calls > 0, "{:?}", done.rungs);
}

#[test]
fn sizes_are_tokens_of_the_provider() {
    let ours = "[models.ours]\nwindow = 50_000\ncounter = \"approximate\"\nratio = 2.5\n";
    for (text, model, id, count) in [
        ("", "gpt-4o", "o200k", 3),
        ("", "gpt-4", "cl100k", 3),
        ("", "claude-sonnet-4-5", "o200k × 1.25", 4),
        ("", "gemini-2.5-pro", "o200k × 1.1", 4),
        // Nothing is known of how another counter errs.
        ("[window]\ncounter = \"cl100k\"\n", "claude-sonnet-4-5", "cl100k", 3),
        (ours, "ours", "approximate × 2.5", 10),
        ("[models.claude-sonnet-4-5]\nratio = 1.5\n", "claude-sonnet-4-5", "o200k × 1.5", 5),
    ] {
        let config = config(text);
        let counter = config.room(Some(model)).unwrap().token_counter();
        assert_eq!((counter.id(), counter.count("counted words")), (id, count), "{text} {model}");
        assert_eq!(config.token_counter(Some(model)).id(), id);
        let document = read(&config, &request(model, "[]"));
        assert_eq!(config.compactor(&document).unwrap().counter().id(), id);
    }
}

#[test]
fn images_count_by_the_rule_of_the_model() {
    let image = |json: &str, config: &Config| {
        let document = read(config, json);
        let messages = document.conversation().messages();
        messages.iter().flat_map(|message| message.parts()).map(Part::media_tokens).sum::<u32>()
    };
    let openai = |model: &str| {
        format!(
            r#"{{"model": "{model}", "messages": [{{"role": "user", "content": [{{"type": "image_url", "image_url": {{"url": "https://example.org/a.png"}}}}]}}]}}"#
        )
    };
    let anthropic = |model: &str| {
        format!(
            r#"{{"model": "{model}", "max_tokens": 9, "messages": [{{"role": "user", "content": [{{"type": "image", "source": {{"type": "url", "url": "https://example.org/a.png"}}}}]}}]}}"#
        )
    };
    let none = Config::default();
    let of = |rule: ImageRule| {
        crate::tokens::media::image_tokens(
            rule,
            crate::tokens::media::MediaSource::Remote,
            crate::tokens::media::Detail::Auto,
        )
    };
    for model in ModelTable::shipped().iter() {
        let name = model.name.trim_end_matches('*');
        for json in [openai(name), anthropic(name)] {
            assert_eq!(image(&json, &none), of(model.image_rule), "{json}");
        }
    }
    assert_eq!(image(&openai("nobody-knows"), &none), of(ImageRule::OpenaiTiles));
    // What is configured wins over what the request names.
    let configured = config("[window]\nmodel = \"gemini-3-pro\"\n");
    assert_eq!(image(&openai("gpt-4o"), &configured), of(ImageRule::GoogleFixed));
    let own = config("[models.gpt-4o]\nimage-rule = \"anthropic-high\"\n");
    assert_eq!(image(&openai("gpt-4o"), &own), of(ImageRule::AnthropicHigh));
    let told = ReadOptions { image_rule: Some(ImageRule::GoogleTiles), ..ReadOptions::default() };
    let document = none.read(openai("gpt-4o"), &told).unwrap();
    assert_eq!(document.conversation().messages()[0].id(), MessageId(0));
    let told = document.conversation().messages()[0].parts()[0].media_tokens();
    assert_eq!(told, of(ImageRule::GoogleTiles));
}

#[test]
fn a_window_that_is_too_small_names_the_least_that_works() {
    for text in [
        "",
        "[window]\nreserve = 5_000\n",
        "[trigger]\ncompact-at = 90_000\n",
        "[trigger]\ncompact-at = 90_000\ncompact-to = 0.9\n",
        "[trigger]\ncompact-at = 0.5\ncompact-to = 0.499\n",
        "[trigger]\ncompact-at = 7_000_000_000\n[window]\nreserve = 100_000\n",
    ] {
        let mut config = config(text);
        config.window.size = Some(1);
        let error = config.room(None).unwrap_err();
        let RoomError::TooSmall { size: 1, least } = error else { unreachable!("{text}: {error}") };
        assert!(!error.advice().is_empty());
        config.window.size = Some(least);
        assert_eq!(config.room(None).unwrap().size, least, "{text}");
        config.window.size = Some(least - 1);
        assert!(config.room(None).is_err(), "{text}: {least}");
    }
    let mut never = Config::default();
    never.window.size = Some(1_000);
    never.trigger.compact_to = never.trigger.compact_at;
    let error = never.room(None).unwrap_err();
    assert!(matches!(error, RoomError::Budget(_)) && !error.advice().is_empty(), "{error}");
}
