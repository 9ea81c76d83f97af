//! The same strategy, built in and behind the boundary, plans the same.

use brute_core::testing::{TestHost, generate, laws};
use brute_core::{Approximate, Configure, Strategy};
use brute_sliding_window::SlidingWindow;
use proptest::prelude::*;
use serde_json::json;

fn mirror(keep_steps: u32) -> (Box<dyn Strategy>, SlidingWindow) {
    let options = json!({ "keep-steps": keep_steps });
    let built_in = SlidingWindow::build(serde_json::from_value(options.clone()).unwrap()).unwrap();
    (super::kind("mirror", "mirror").build(options).unwrap(), built_in)
}

proptest! {
    #[test]
    fn plans_are_equal(conversation in generate::conversation(16), share in 0_u64..110, keep_steps in 1_u32..4) {
        let (plugin, built_in) = mirror(keep_steps);
        let target = conversation.clone().measure(&Approximate) * share / 100;
        let host = TestHost::new().keeping(&["read"]);
        prop_assert_eq!(
            host.plan(&*plugin, &conversation, target),
            host.plan(&built_in, &conversation, target)
        );
    }

    #[test]
    fn a_plugin_keeps_the_laws(conversation in generate::conversation(16), share in 0_u64..110) {
        let (plugin, _) = mirror(2);
        let target = conversation.clone().measure(&Approximate) * share / 100;
        let kept = laws::check_strategy(&*plugin, &TestHost::new(), &conversation, target);
        prop_assert!(kept.is_ok(), "{kept:?}");
    }
}

#[test]
fn the_schema_and_the_errors_of_options_are_those_of_the_strategy() {
    let kind = super::kind("mirror", "mirror");
    let built_in = brute_host::layers::LayerKind::of::<SlidingWindow>();
    assert_eq!(kind.schema, built_in.schema);
    assert_eq!(kind.fields(), built_in.fields());
    for options in [json!({ "keep-steps": 0 }), json!({ "keep": 1 }), json!({ "keep-steps": "x" })]
    {
        let errors =
            [&kind, &built_in].map(|kind| kind.build(options.clone()).map(|_| ()).unwrap_err());
        assert_eq!(errors[0], errors[1], "{options}");
    }
}

#[test]
fn the_mirror_conforms() {
    let (plugin, built_in) = mirror(2);
    assert_eq!(brute_core::testing::conformance::check(&*plugin, 200), Ok(()));
    assert_eq!(brute_core::testing::conformance::check(&built_in, 200), Ok(()));
}
