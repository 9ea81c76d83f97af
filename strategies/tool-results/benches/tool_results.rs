//! What clearing old results costs: the plan alone, and with its application and both outlines.
//!
//! Counts are known beforehand, as they are in a session. The items per second stay the same when the
//! layer is linear.

use brute_core::testing::TestHost;
use brute_core::{
    Approximate, Conversation, Outline, Part, Plan, Protection, Role, Sizes, Strategy, ToolCall,
    ToolResult, Window,
};
use brute_tool_results::ToolResults;
use divan::Bencher;
use divan::counter::ItemsCount;

const MESSAGES: [usize; 4] = [200, 2_000, 3_201, 20_000];

fn main() {
    divan::main();
}

/// One request and then calls with a result of one KiB each.
fn conversation(messages: usize) -> Conversation {
    let mut conversation = Conversation::default();
    let mut push = |role, part: Part| {
        let _ = conversation.push(role, [part]);
    };
    push(Role::User, Part::Text("Make the tests pass.".into()));
    for step in 0..messages / 2 {
        let id = format!("call_{step}");
        let arguments = format!("{{\"path\":\"src/module_{step}.rs\"}}");
        push(
            Role::Assistant,
            Part::ToolCall(ToolCall { id: id.clone(), name: "read".into(), arguments }),
        );
        let text = "    let lease = slots.get(17)?;\n".repeat(32);
        let result = ToolResult { call: id, text, media: Vec::new(), is_error: false };
        push(Role::Tool, Part::ToolResult(result));
    }
    conversation.measure(&Approximate);
    conversation
}

fn plan(conversation: &Conversation, outline: &Outline, protection: &Protection) -> Plan {
    let used = conversation.clone().measure(&Approximate);
    let sizes = Sizes { window: used, used, target: used / 4 };
    let window = Window::new(conversation.messages(), outline, protection, &Approximate, sizes);
    ToolResults::default().plan(&window, &TestHost::new()).unwrap_or_default()
}

#[divan::bench(args = MESSAGES)]
fn planned(bencher: Bencher<'_, '_>, messages: usize) {
    let conversation = conversation(messages);
    let outline = conversation.outline();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    bencher
        .counter(ItemsCount::new(conversation.len()))
        .bench(|| plan(&conversation, &outline, &protection));
}

#[divan::bench(args = MESSAGES)]
fn outlined_planned_and_applied(bencher: Bencher<'_, '_>, messages: usize) {
    let conversation = conversation(messages);
    bencher.counter(ItemsCount::new(conversation.len())).bench(|| {
        let outline = conversation.outline();
        let protection = Protection::of(conversation.messages(), &outline, &[]);
        let plan = plan(&conversation, &outline, &protection);
        conversation.apply(&plan, &outline, &protection, &Approximate)
    });
}
