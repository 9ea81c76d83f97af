//! What crosses the boundary comes out as it went in, with both sides in one program.

use proptest::prelude::*;

use super::lend::Flat;
use super::plugin::{exported, plugin};
use super::raw::RawParts;
use super::*;
use crate::testing::{TestHost, generate};
use crate::{
    Approximate, Configure, Conversation, Edit, Host, LayerError, LogLevel, MessageView,
    OptionsError, Plan, Prompt, Protection, Sizes, Strategy, Window,
};

/// Hands out what `check` makes of a window and of the same window, lent.
fn both<T>(conversation: &Conversation, check: impl Fn(&Window<'_>) -> T) -> (T, T) {
    let mut conversation = conversation.clone();
    let used = conversation.measure(&Approximate);
    let outline = conversation.outline();
    let keep = ["read".to_owned(), "t0".to_owned()];
    let protection = Protection::of(conversation.messages(), &outline, &keep);
    let sizes = Sizes { window: used * 2, used, target: used / 2 };
    let own = Window::new(conversation.messages(), &outline, &protection, &Approximate, sizes);
    let flat = Flat::of(&own).unwrap();
    let raw = flat.raw();
    let parts = flat.parts();
    let lent = Lent::new(&raw, &parts);
    (check(&own), check(&Window::lent(&lent)))
}

/// All that a window says of a message.
fn told(window: &Window<'_>, message: MessageView<'_>) -> String {
    let index = message.index();
    let parts: Vec<_> = message
        .parts()
        .enumerate()
        .map(|(part, view)| {
            assert_eq!(message.part(part), Some(view));
            (view, message.part_tokens(part))
        })
        .collect();
    format!(
        "{index} {} {} {:?} {} {parts:?} {:?} {:?} {}",
        message.role(),
        message.tokens(),
        message.mark(),
        message.is_real_user(),
        message.result(),
        window.tool_of(index),
        window.is_protected(index),
    )
}

proptest! {
    #[test]
    fn a_lent_window_says_the_same(conversation in generate::conversation(12)) {
        let (own, lent) = both(&conversation, |window| {
            let messages: Vec<_> = window.all().map(|message| told(window, message)).collect();
            let runs: Vec<_> =
                window.outline().turns.iter().map(|turn| window.free_runs(turn.span.clone())).collect();
            let past = (window.get(window.len()).is_none(), window.is_protected(window.len()));
            (messages, runs, window.outline().clone(), window.sizes(), window.len(), past)
        });
        prop_assert_eq!(own, lent);
    }
}

/// Options of [`Asks`].
#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    /// What to do.
    act: String,
}

/// Does as its options say.
struct Acts(String);

impl Configure for Acts {
    type Options = Options;
    const NAME: &'static str = "acts";
    const SUMMARY: &'static str = "does as its options say";
    const VERSION: &'static str = "1.0.0";

    fn build(options: Options) -> Result<Self, OptionsError> {
        match options.act.as_str() {
            "refuse" => Err(OptionsError { option: "act", message: "not that".to_owned() }),
            "panic in build" => panic!("in build"),
            _ => Ok(Self(options.act)),
        }
    }
}

impl Strategy for Acts {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        match self.0.as_str() {
            "fail" => Err(LayerError::new("it failed")),
            "panic" => panic!("in plan"),
            "ask" => {
                let prompt =
                    Prompt { instructions: "sum up".into(), input: "it".into(), max_tokens: 5 };
                let answer = host.complete(&prompt)?.text;
                let limit = host.summarizer().map_or(0, |limits| limits.window);
                host.log(LogLevel::Warn, "asked");
                let text =
                    format!("{answer} {limit} {} {:?}", host.count("12345678"), host.retrieval(3));
                Ok(Plan::of(vec![Edit::Rewrite { message: window.len(), part: 0, text }]))
            }
            _ => Ok(Plan::decline()),
        }
    }

    fn end(&mut self) -> Result<(), LayerError> {
        assert!(self.0 != "panic in end", "in end");
        match self.0.as_str() {
            "fail to end" => Err(LayerError::new("it is\nbusy")),
            _ => Ok(()),
        }
    }
}

impl Drop for Acts {
    fn drop(&mut self) {
        assert!(self.0 != "panic in drop", "in drop");
    }
}

fn acts(act: &str) -> Result<PluginLayer, BuildFailure> {
    let library = Library::of_module(plugin(vec![exported::<Acts>()]));
    let strategy = library.strategies().next().unwrap();
    assert_eq!(strategy.name(), "acts");
    strategy.build(&serde_json::json!({ "act": act }).to_string())
}

fn plan(act: &str, host: &TestHost) -> Result<Plan, LayerError> {
    host.plan(&acts(act).unwrap(), &Conversation::default(), 0)
}

#[test]
fn options_that_are_not_taken_come_back_with_their_name() {
    let failure = acts("refuse").err().unwrap();
    let expected =
        BuildFailure { option: Some("act".into()), message: "not that".into(), panicked: false };
    assert_eq!(failure, expected);
    let library = Library::of_module(plugin(vec![exported::<Acts>()]));
    let failure = library.strategies().next().unwrap().build(r#"{"akt":1}"#).err().unwrap();
    assert!(failure.message.starts_with("unknown field `akt`, expected `act`"), "{failure:?}");
}

#[test]
fn panics_become_errors_with_their_place() {
    let place = "core/src/abi/tests.rs:";
    let failure = acts("panic in build").err().unwrap();
    assert!(failure.panicked);
    let failure = failure.message;
    assert!(failure.contains(place) && failure.ends_with(": in build"), "{failure}");
    let error = plan("panic", &TestHost::new()).unwrap_err().to_string();
    assert!(error.contains(place) && error.ends_with(": in plan"), "{error}");
    for act in ["panic in drop", "panic in end"] {
        let error = acts(act).unwrap().end().unwrap_err().to_string();
        let said = act.trim_start_matches("panic ");
        assert!(error.contains(place) && error.ends_with(&format!(": {said}")), "{error}");
        drop(acts(act));
    }
    assert_eq!(acts("").unwrap().end(), Ok(()));
}

#[test]
fn errors_and_the_host_s_answers_cross() {
    assert_eq!(plan("fail", &TestHost::new()), Err(LayerError::new("it failed")));
    let ended = acts("fail to end").unwrap().end();
    assert_eq!(ended, Err(LayerError::new("it is busy")));
    assert_eq!(plan("", &TestHost::new()), Ok(Plan::decline()));
    let text = "done 100000 2 None".to_owned();
    let expected = Plan::of(vec![Edit::Rewrite { message: 0, part: 0, text }]);
    assert_eq!(plan("ask", &TestHost::saying("done")), Ok(expected));
    let kind = plan("ask", &TestHost::new()).unwrap_err().kind();
    assert_eq!(kind, crate::LayerErrorKind::Summarizer);
}

#[test]
fn a_host_that_panics_fails_the_rung_and_nothing_else() {
    let host = TestHost::answering(10, |_| panic!("no answer"));
    let error = plan("ask", &host).unwrap_err().to_string();
    assert_eq!(error, "the host panicked below it: no answer");
}

/// Counts nothing, and panics over it.
struct NoCounter;

impl crate::TokenCounter for NoCounter {
    fn id(&self) -> &'static str {
        "none"
    }

    fn count(&self, _: &str) -> u32 {
        panic!("no count")
    }

    fn bounds(&self, _: usize) -> (u32, u32) {
        (0, 0)
    }
}

#[test]
fn a_counter_that_panics_over_parts_fails_the_rung() {
    let mut conversation = crate::testing::notation::conversation("user hello");
    conversation.measure(&Approximate);
    let outline = conversation.outline();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    let sizes = Sizes { window: 9, used: 9, target: 1 };
    let window = Window::new(conversation.messages(), &outline, &protection, &Approximate, sizes);
    let flat = Flat::of(&window).unwrap();
    assert_eq!(flat.parts().of(0).len(), 1);
    assert_eq!((flat.panicked(), flat.parts().of(1).len()), (None, 0));
    let parts = super::lend::Parts::of(&Window::new(
        conversation.messages(),
        &outline,
        &protection,
        &NoCounter,
        sizes,
    ));
    assert_eq!(RawParts::of(&parts, 0).len(), 0);
    assert_eq!(parts.panicked(), Some("no count"));
}

#[test]
fn the_schema_is_that_of_the_options() {
    let library = Library::of_module(plugin(vec![exported::<Acts>()]));
    let schema = library.strategies().next().unwrap().schema().unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["properties"]["act"]["description"], "What to do.");
}

#[test]
fn the_symbols_are_those_that_the_macro_exports() {
    assert_eq!(HEADER_SYMBOL, abi_stable::library::ROOT_MODULE_LOADER_NAME);
    assert_eq!(MANIFEST_SYMBOL, "BRUTE_PLUGIN_MANIFEST");
}
