//! The table of models: names, families, overrides.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn found(name: &str) -> Option<String> {
    ModelTable::shipped().find(name).map(|model| model.name.clone())
}

#[test]
fn the_file_that_ships_reads_and_makes_sense() {
    let shipped: Shipped = toml::from_str(SHIPPED).unwrap();
    let names = shipped.models.len();
    assert!(names >= 60, "{names}");
    let table = ModelTable::of(shipped).unwrap();
    assert_eq!(table, ModelTable::shipped());
    assert_eq!(table.iter().count(), names, "two names are spelled the same after normalizing");
    for model in table.iter() {
        let name = &model.name;
        assert!(model.window >= 4_096, "{name}");
        assert!((1.0..=1.6).contains(&model.ratio), "{name}");
        assert_ne!(model.provider, Provider::Other, "{name}");
        assert_eq!(
            table.find(name.trim_end_matches('*')).map(|found| found.window),
            Some(model.window),
            "{name}"
        );
        let family = match model.provider {
            Provider::Openai => 1.0,
            Provider::Anthropic if model.image_rule == ImageRule::AnthropicHigh => 1.6,
            Provider::Anthropic => 1.25,
            _ => 1.1,
        };
        assert_eq!(model.ratio, family, "{name}");
    }
}

#[test]
fn names_find_their_model_however_they_are_spelled() {
    let table = [
        ("gpt-4o", "gpt-4o"),
        ("GPT-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("ft:gpt-4o", "gpt-4o"),
        ("gpt-4", "gpt-4"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-1106"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-5.1-codex-max", "gpt-5.1"),
        ("gpt-5.9-future", "gpt-5.*"),
        ("gpt-6-astra", "gpt-6*"),
        ("o3-2025-04-16", "o3"),
        ("o3-mini-high", "o3-mini"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5[1m]"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-opus-4-7", "claude-opus-4-7"),
        ("openrouter/anthropic/claude-3.5-sonnet:beta", "claude-3-5-sonnet"),
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("claude-3-sonnet-20240229", "claude-3"),
        ("claude-opus-4@20250514", "claude-opus-4"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-something-new", "claude-*"),
        ("models/gemini-2.5-flash-lite-preview-06-17", "gemini-2.5-flash-lite"),
        ("gemini-3.8-flash", "gemini-3*"),
        ("deepseek/deepseek-chat-v3.1:free", "deepseek-chat"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3"),
        ("meta.llama3-1-8b-instruct-v1:0", "llama-3.1"),
        ("meta.llama3-8b-instruct-v1:0", "llama-3"),
        ("llama3.2:3b", "llama-3.2"),
        ("accounts/fireworks/models/kimi-k2-instruct", "kimi-k2"),
        ("moonshotai/Kimi-K2.5", "kimi-k2.5"),
        ("z-ai/glm-4.6", "glm-4.6"),
        ("x-ai/grok-4-fast:free", "grok-4-fast"),
        ("grok-4-0709", "grok-4"),
    ];
    for (spelled, name) in table {
        // A fine-tune names its base after the first colon, which no table can know.
        let expected = (!spelled.starts_with("ft:")).then(|| name.to_owned());
        assert_eq!(found(spelled), expected, "{spelled}");
    }
}

#[test]
fn a_name_that_only_begins_alike_is_unknown() {
    for name in ["", "/", "o", "o1000", "gpt-4000", "gpt", "my-model", "clod", "*", ":free"] {
        assert_eq!(found(name), None, "{name}");
    }
}

#[test]
fn unknown_names_get_the_nearest() {
    let table = ModelTable::shipped();
    assert_eq!(table.suggest("gpt4o"), Some("gpt-4o"));
    assert_eq!(table.suggest("claude-sonet-4-5"), Some("claude-sonnet-4-5"));
    assert_eq!(table.suggest("my-own-thing"), None);
    assert_eq!(table.suggest(""), None);
}

#[test]
fn overrides_correct_and_extend() {
    let user: BTreeMap<String, ModelEntry> = toml::from_str(
        r#"
        "gpt-4o" = { window = 64_000 }
        "house/gpt-4o-tuned" = { ratio = 1.5 }
        "our-model*" = { window = 32_000, counter = "approximate" }
        "claude-3-haiku" = { provider = "openai" }
        "#,
    )
    .unwrap();
    let table = ModelTable::shipped().with_overrides(user).unwrap();

    assert_eq!(table.find("gpt-4o-2024-08-06").unwrap().window, 64_000);
    let tuned = table.find("house/gpt-4o-tuned").unwrap();
    assert_eq!((tuned.window, tuned.ratio), (128_000, 1.5), "inherits what shipped");
    let ours = table.find("our-model2").unwrap();
    assert_eq!(ours.counter, CounterKind::Approximate);
    assert_eq!((ours.provider, ours.ratio), (Provider::Other, USUAL_RATIO));
    assert_eq!(table.find("claude-3-haiku").unwrap().image_rule, ImageRule::OpenaiTiles);
}

#[test]
fn entries_that_cannot_be_used_are_all_named() {
    let entry = ModelEntry::default;
    let errors = ModelTable::shipped()
        .with_overrides([
            ("mine".to_owned(), entry()),
            ("gpt-4o".to_owned(), ModelEntry { window: Some(0), ..entry() }),
            ("o1".to_owned(), ModelEntry { ratio: Some(f64::NAN), ..entry() }),
            ("o3".to_owned(), ModelEntry { ratio: Some(2.0), ..entry() }),
            ("*".to_owned(), ModelEntry { window: Some(5), ..entry() }),
        ])
        .unwrap_err();
    let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "`models.\"mine\"` needs `window`: no model that ships has this name",
            "`models.\"gpt-4o\".window` is 0; give the number of tokens or leave it out",
            "`models.\"o1\".ratio` is NaN; it lies between 0.1 and 10",
            "`models.\"*\"` is no model name",
        ]
    );
}

#[test]
fn unknown_keys_of_an_entry_are_refused() {
    let error = toml::from_str::<ModelEntry>("windwo = 5").unwrap_err().to_string();
    assert!(error.contains("unknown field `windwo`"), "{error}");
}

proptest! {
    #[test]
    fn any_name_is_survived(name in any::<String>()) {
        let table = ModelTable::shipped();
        let _ = table.find(&name);
        let _ = table.suggest(&name);
        let entry = ModelEntry { window: Some(9), ..ModelEntry::default() };
        if let Ok(table) = table.with_overrides([(name.clone(), entry)]) {
            prop_assert_eq!(table.find(name.trim().trim_end_matches('*')).map(|model| model.window), Some(9));
        }
    }
}

#[test]
fn a_price_is_that_of_the_very_model() {
    let table = ModelTable::shipped();
    let input = |name: &str| table.price(name).map(|price| price.input);
    for (name, price) in [
        ("gpt-4o", Some(2.5)),
        ("openrouter/openai/gpt-4o-2024-08-06", Some(2.5)),
        ("gpt-4-0613", Some(30.0)),
        ("claude-3-5-haiku-latest", Some(0.8)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None),
        ("claude-sonnet-4-5@20250929", Some(3.0)),
        ("gpt-5-pro", None),
        ("gpt-4o-audio-preview", None),
        ("claude-opus-4-9", None),
        ("claude-sonnet-4-5[1m]", None),
        ("qwen2.5-coder", None),
        ("nobody-knows", None),
    ] {
        assert_eq!(input(name), price, "{name}");
    }
    for model in table.iter() {
        let fault = model.price.and_then(|price| price.fault());
        assert_eq!(fault, None, "{}", model.name);
        let dearer = model.price.is_none_or(|price| {
            price.cached.is_none_or(|cached| cached < price.input) && price.input < price.output
        });
        assert!(dearer, "{}", model.name);
    }
}

#[test]
fn a_user_says_what_a_model_costs() {
    let price = |input| Some(Price { input, cached: None, output: 2.0 });
    let entry = |input| ModelEntry { price: price(input), ..ModelEntry::default() };
    let with = |name: &str, entry| ModelTable::shipped().with_overrides([(name.to_owned(), entry)]);
    let ours = ModelEntry { window: Some(8_000), ..entry(1.0) };
    assert_eq!(with("ours", ours).unwrap().price("ours"), price(1.0));
    let family = with("gpt-4o-*", entry(1.0)).unwrap();
    assert_eq!(family.price("gpt-4o-audio-preview"), price(1.0));
    assert_eq!(family.price("gpt-4o").unwrap().input, 2.5);
    let wider = ModelEntry { window: Some(256_000), ..ModelEntry::default() };
    assert_eq!(with("gpt-4o", wider).unwrap().price("gpt-4o").unwrap().input, 2.5);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        let errors = with("gpt-4o", entry(wrong)).unwrap_err();
        assert!(
            errors[0].to_string().starts_with("`models.\"gpt-4o\".price.input` is "),
            "{errors:?}"
        );
    }
}
