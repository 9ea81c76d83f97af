//! Law 10: a key has a default, a doc, a schema entry and a test, from one place.

use super::*;
use crate::config::document::Document;
use crate::config::reference::groups;
use crate::layers::{Field, Shape};

#[test]
fn the_file_is_what_the_sections_and_layers_say() {
    let rendered = render_defaults(&layers());
    if std::env::var_os("UPDATE_DEFAULTS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/config/defaults.toml");
        std::fs::write(path, &rendered).unwrap();
        return;
    }
    let hint = "run this test with UPDATE_DEFAULTS=1 to write defaults.toml anew";
    similar_lines(&rendered, resolve::DEFAULTS, hint);
}

fn similar_lines(rendered: &str, file: &str, hint: &str) {
    for (index, (rendered, file)) in rendered.lines().zip(file.lines()).enumerate() {
        assert_eq!(rendered, file, "line {}: {hint}", index + 1);
    }
    assert_eq!(rendered, file, "{hint}");
}

#[test]
fn the_file_is_right_and_says_what_the_types_say() {
    let loaded = load(&Sources::default(), &layers());
    assert_eq!(loaded.diagnostics, []);
    let config = loaded.config.unwrap();
    let document = Document::default();
    assert_eq!(config.window, document.window);
    assert_eq!(config.trigger, document.trigger);
    assert_eq!(config.truncate, document.truncate);
    assert_eq!(config.archive, document.archive);
    assert_eq!(config.keep, document.keep);
    assert_eq!(config.summarizer, document.summarizer);
    assert_eq!(config.models, ModelTable::shipped());
    let names: Vec<_> = config.ladder.iter().map(|rung| rung.name.as_str()).collect();
    assert_eq!(names, ["tool-results", "sliding-window"]);
}

#[test]
fn the_defaults_are_a_file_that_changes_nothing() {
    let text = defaults_toml(&layers());
    assert_eq!(said(&text), "");
    let (with, without) = (good(&project(&text)), Config::default());
    assert_eq!(with.truncate, without.truncate);
    assert_eq!(with.trigger, without.trigger);
    assert_eq!(with.window, without.window);
    assert_eq!(with.keep, without.keep);
    assert_eq!(format!("{:?}", with.ladder), format!("{:?}", without.ladder));
    // With the comment signs off, the rung that needs a summarizer is as it is by default.
    let rung = "# [[ladder]]\n# layer = \"summarize\"\n";
    assert_eq!(text.matches(rung).count(), 1, "{text}");
    let text = text.replace(rung, "[[ladder]]\nlayer = \"summarize\"\n");
    let own = |sources| Sources { own_summarizer: true, ..sources };
    let ladder = |sources| format!("{:?}", good(&own(sources)).ladder);
    assert_eq!(ladder(project(&text)), ladder(Sources::default()));
}

#[test]
fn every_key_has_a_doc_a_type_and_its_line_in_the_file() {
    let schema = json_schema(&layers()).to_string();
    let markdown = reference_markdown(&layers());
    let mut count = 0;
    for group in groups(&layers()) {
        for field in &group.fields {
            count += 1;
            let key = format!("{}.{}", group.name, field.name);
            let last = field.name.rsplit('.').next().unwrap();
            assert!(!field.doc.is_empty(), "{key} has no doc");
            assert!(!matches!(field.shape, Shape::Any), "{key} has no type");
            assert!(schema.contains(&format!("\"{last}\":{{")), "{key} is not in the schema");
            assert!(markdown.contains(&format!("### `{}`", field.name)), "{key}: no reference");
            assert!(reference(key.trim_start_matches('.'), &layers()).is_ok(), "{key}");
            let names = |line: &str| {
                let line = line.trim_start_matches("# ");
                line.starts_with(&format!("{last} = "))
                    || line.starts_with(&format!("{} = ", field.name))
                    || line.contains(&format!("{last} = "))
                    || line.starts_with(&format!("[{key}"))
                    || line == format!("[[{}]]", field.name)
                    || line.starts_with(&format!("[{}", key.trim_end_matches(".NAME")))
            };
            // Where a key chooses among others, each choice has a doc of its own.
            let doc = format!("# {}", field.doc.lines().next().unwrap());
            let is_choice = key == "summarizer.backend";
            for text in [resolve::DEFAULTS, &defaults_toml(&layers())] {
                let lines: Vec<_> = text.lines().collect();
                let is_below_its_doc = |at: &usize| {
                    let above = lines[..*at].iter().rev().take_while(|line| line.starts_with('#'));
                    names(lines[*at]) && (is_choice || above.into_iter().any(|line| *line == doc))
                };
                assert!((0..lines.len()).any(|at| is_below_its_doc(&at)), "{key}: {text}");
            }
        }
    }
    assert!(count > 40, "{count} keys");
}

/// A rung is set to what holds: an option of it that stands in a comment has no default.
#[test]
fn no_option_in_force_is_in_a_comment() {
    for text in [resolve::DEFAULTS, &defaults_toml(&layers())] {
        let mut layer = "";
        for line in text.lines() {
            // From here on a rung may be in a comment as a whole.
            if line.ends_with("[[ladder]]") {
                layer = "";
            }
            layer = line.strip_prefix("layer = ").unwrap_or(layer).trim_matches('"');
            let fields = layers().get(layer).map(|kind| kind.fields().to_vec()).unwrap_or_default();
            let commented = |field: &Field| line.starts_with(&format!("# {} = ", field.name));
            let wrong = fields.iter().find(|field| commented(field) && field.default.is_some());
            assert_eq!(wrong, None, "{text}");
        }
    }
}

/// What the reference says to write can be written, and makes a difference that can be seen.
#[test]
fn every_key_can_be_set_and_is_seen() {
    let base = "[window]\nsize = 100_000\n";
    let server = |backend: &str, more: &str| {
        let own = "base-url = \"http://x\", model = \"x\", window = 9_000";
        format!("{{ backend = \"{backend}\", {own}{more} }}")
    };
    for (key, value) in [
        ("window.model", "\"gpt-4\""),
        ("window.size", "5000"),
        ("window.counter", "\"cl100k\""),
        ("window.reserve", "20_000"),
        ("window.max-bytes", "\"20MB\""),
        ("trigger.compact-at", "0.9"),
        ("trigger.compact-to", "\"12.5%\""),
        ("truncate.max-lines", "7"),
        ("truncate.max-bytes", "\"2KB\""),
        ("truncate.max-line-chars", "77"),
        ("truncate.keep", "\"tail\""),
        ("truncate.strip-ansi", "true"),
        ("truncate.spill", "\"x\""),
        ("truncate.readable", "[\"x\"]"),
        ("truncate.shown-spill", "\"x\""),
        ("truncate.max-age", "\"1d\""),
        ("truncate.max-total", "\"1MB\""),
        ("truncate.tools.read.skip", "true"),
        ("truncate.tools.read.max-lines", "7"),
        ("truncate.tools.read.max-bytes", "\"2KB\""),
        ("truncate.tools.read.max-line-chars", "77"),
        ("truncate.tools.read.keep", "\"ends\""),
        ("truncate.tools.read.strip-ansi", "true"),
        ("keep.tools", "[\"todo_write\"]"),
        ("summarizer.backend", "\"extract\""),
        ("summarizer", "{ backend = \"command\", command = [\"x\"], timeout = \"5s\" }"),
        ("summarizer", "{ backend = \"openai\", base-url = \"http://x\", model = \"gpt-4o\" }"),
        ("summarizer", &server("anthropic", "")),
        ("summarizer", &server("openai", ", api-key-env = \"A_KEY\"")),
        ("summarizer", &server("openai", ", max-tokens = 500")),
        ("summarizer", &server("openai", ", timeout = \"5s\"")),
        ("summarizer", &server("openai", ", retries = 0")),
        ("summarizer", &server("openai", ", stream = false")),
        ("summarizer", &server("openai", ", budget = { max-calls = 3 }")),
        ("summarizer", &server("anthropic", ", budget = { session-max-tokens = 9_000 }")),
        ("summarizer", "{ backend = \"extract\", budget = { max-tokens = 9_000 } }"),
        (
            "summarizer",
            "{ backend = \"command\", command = [\"x\"], budget = { session-max-calls = 9 } }",
        ),
        ("models.\"gpt-4o\".window", "64_000"),
        ("models.\"gpt-4o\".counter", "\"approximate\""),
        ("models.\"gpt-4o\".ratio", "1.5"),
        ("models.\"gpt-4o\".price", "{ input = 1.0, cached = 0.5, output = 2.0 }"),
        ("models.\"gpt-4o\".provider", "\"google\""),
        ("models.\"gpt-4o\".image-rule", "\"google-fixed\""),
        ("ladder", "[{ layer = \"tool-results\" }]"),
        ("ladder", "[{ layer = \"tool-results\", name = \"x\" }]"),
        ("ladder", "[{ layer = \"tool-results\", when = { above = 0.6 } }]"),
        ("ladder", "[{ layer = \"tool-results\", on-error = \"stop\" }]"),
        ("ladder", "[{ layer = \"tool-results\", timeout = \"90s\" }]"),
        ("ladder", "[]"),
    ] {
        let set = format!("{key} = {value}");
        let sources = Sources { set: vec![set.clone()], ..project(base) };
        let (with, without) = (good(&sources), good(&project(base)));
        let seen = |config: &Config| {
            let room = config.room(None).unwrap();
            format!(
                "{:?} {} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                config.window.model,
                room.size,
                room.budget.wire(),
                room.counter,
                config.window.reserve,
                config.trigger,
                config.truncate,
                config.keep,
                (&config.summarizer, &config.fallback),
                config.models.find("gpt-4o"),
                config.ladder
            )
        };
        assert_ne!(seen(&with), seen(&without), "{set}");
        let shown = with.resolved_toml(&layers());
        assert!(shown.contains("# --set"), "{set}\n{shown}");
        let again = good(&project(&shown));
        assert_eq!(seen(&again), seen(&with), "{shown}");
    }
}

#[test]
fn every_option_of_a_layer_can_be_set() {
    for kind in layers().iter() {
        for field in kind.fields() {
            let Some(value) = field.default.as_ref().or(field.example.as_ref()) else { continue };
            let text = format!(
                "[[ladder]]\nlayer = {:?}\n{} = {}\n",
                kind.name,
                field.name,
                show::toml_value(value)
            );
            good(&Sources { own_summarizer: true, ..project(&text) });
        }
    }
}

/// A rung's own keys stand beside its layer's options, so no option may have the name of one.
#[test]
fn no_option_has_the_name_of_a_key_of_every_rung() {
    for kind in layers().iter() {
        for field in kind.fields() {
            assert!(document::rung_fields().iter().all(|own| own.name != field.name), "{field:?}");
        }
    }
}

#[test]
fn the_file_to_start_with_is_right_also_without_its_comment_signs() {
    assert_eq!(said(init_toml()), "");
    let is_setting = |line: &str| {
        line.strip_prefix("# ").is_some_and(|rest| {
            let is_table = rest.starts_with('[') && rest.ends_with(']');
            let is_key = |(key, _): (&str, &str)| key.chars().all(|c| c.is_ascii_lowercase());
            is_table || rest.split_once(" = ").is_some_and(is_key)
        })
    };
    let lines: Vec<_> =
        init_toml().lines().map(|line| if is_setting(line) { &line[2..] } else { line }).collect();
    let text = lines.join("\n");
    assert_ne!(text.lines().count(), 0);
    assert!(text.contains("\nmodel = "), "{text}");
    assert_eq!(said(&text), "");
    // It shows the default ladder whole, and what its last rung needs.
    let full = good(&project(&text));
    let layers_of = |config: &Config| -> Vec<String> {
        config.ladder.iter().map(|rung| rung.layer.clone()).collect()
    };
    let own = Sources { own_summarizer: true, ..Sources::default() };
    assert_eq!(layers_of(&full), layers_of(&good(&own)));
    assert!(full.summarizer.is_some() && full.truncate.tools.contains_key("shell"));
    // The schema is not there of itself, so it has to say how to make it.
    assert!(init_toml().starts_with("#:schema ./brute.schema.json\n"));
    assert!(init_toml().contains("`brute schema > brute.schema.json`"));
}

#[test]
fn a_rung_has_one_form_for_each_layer_in_the_schema() {
    let schema = json_schema(&layers());
    let items = &schema["properties"]["ladder"]["items"];
    let forms = items["oneOf"].as_array().unwrap();
    assert_eq!(forms.len(), layers().iter().count());
    for (form, kind) in forms.iter().zip(layers().iter()) {
        assert_eq!(form["properties"]["layer"]["const"], kind.name.as_str());
        assert_eq!(form["additionalProperties"], false);
        assert!(form["properties"]["on-error"].is_object());
        for field in kind.fields() {
            assert!(form["properties"][&field.name].is_object(), "{}", field.name);
        }
    }
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["window"]["additionalProperties"], false);
    assert!(!schema.to_string().contains("\"$ref\""));
}
