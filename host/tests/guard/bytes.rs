//! Bytes on the wire as a second limit.

use brute_core::{
    Edit, Flow, Host, LayerError, Media, Message, MessageId, Plan, Relief, Strategy, ToolCall,
    ToolResult, Window, old_messages,
};
use brute_host::ladder::{Compaction, Limit};
use tokio::runtime::Runtime;

use super::*;

const MOST: u64 = 32 << 20;
const IMAGE: u64 = 1_400_000;

/// A conversation of so many steps, each with a screenshot of 1.4 MB and 1,105 tokens and some words.
fn pictured(steps: usize, words: usize) -> Conversation {
    let mut conversation = notation::conversation("system s\nuser go");
    for step in 0..steps {
        let id = format!("c{step}");
        let (name, arguments) = ("screenshot".to_owned(), "{}".to_owned());
        let call = Part::ToolCall(ToolCall {
            id: id.clone().into(),
            name: name.into(),
            arguments: arguments.into(),
        });
        conversation.push(Role::Assistant, [call]).unwrap();
        let media = vec![Media { kind: "image/png".into(), tokens: 1_105, bytes: IMAGE }];
        let text = "word ".repeat(words);
        let result = Part::ToolResult(ToolResult {
            call: id.into(),
            text: text.into(),
            media: media.into(),
            is_error: false,
        });
        conversation.push(Role::Tool, [result]).unwrap();
    }
    conversation
}

fn images(conversation: &Conversation) -> usize {
    let parts = conversation.messages().iter().flat_map(|message| message.parts());
    parts.filter(|part| part.media_bytes() > 0).count()
}

fn compactor() -> Compactor {
    let budget = Budget::new(200_000, 20_000, 140_000, 80_000).unwrap();
    Compactor::new(Arc::new(Approximate), budget.with_max_bytes(Some(MOST)))
}

fn compact(compactor: &Compactor, conversation: Conversation) -> Compaction {
    Runtime::new().unwrap().block_on(compactor.compact(conversation))
}

#[test]
fn images_of_few_tokens_and_many_bytes_come_down() {
    for words in [0, 1_000] {
        let start = pictured(30, words);
        let mut size = start.clone();
        assert!(size.measure(&Approximate) < 80_000 && size.wire_bytes() > 40_000_000);
        for rung in [
            Rung::new("tool-results", ToolResults::default()),
            Rung::new("sliding-window", SlidingWindow::default()),
        ] {
            let name = rung.name.clone();
            let done = compact(&compactor().rung(rung), start.clone());
            assert_eq!(done.outcome, Outcome::Fitted, "{name}");
            let wire = done.wire.unwrap();
            assert!(wire.before > MOST && wire.after <= MOST * 4 / 10, "{wire:?}");
            assert_eq!(wire.after, done.conversation.clone().wire_bytes());
            // No more went than had to.
            assert!((8..=9).contains(&images(&done.conversation)), "{name}");
        }
        let unlimited = compactor().with_budget(compactor().budget().with_max_bytes(None));
        let done = compact(&unlimited, start);
        assert_eq!((done.outcome, done.wire), (Outcome::BelowTrigger, None));
    }
}

/// Rewrites old results to a word, those without an image first, as many as the window asks for.
struct WordsFirst;

impl Strategy for WordsFirst {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        for pictured in [false, true] {
            for message in old_messages(window, 1) {
                let result = message.result().filter(|(_, one)| (one.media > 0) == pictured);
                if let Some((part, _)) = result.filter(|_| !relief.is_enough()) {
                    relief.rewrite(&message, part, "Removed.".into());
                }
            }
        }
        Ok(relief.into_plan())
    }
}

#[test]
fn a_rung_that_gives_what_brings_no_bytes_is_asked_for_more() {
    let words = steps(1_500);
    let pictures = pictured(30, 0);
    let mut all = Vec::new();
    for (id, message) in words.messages().iter().chain(&pictures.messages()[2..]).enumerate() {
        all.push(Message::new(MessageId(id as u64), message.role(), message.parts().to_vec()));
    }
    let start = Conversation::new(all).unwrap();
    let budget = Budget::new(1_000_000, 0, 700_000, 400_000).unwrap();
    let compactor = compactor().with_budget(budget.with_max_bytes(Some(MOST)));
    let done = compact(&compactor.rung(Rung::new("words-first", WordsFirst)), start);
    assert_eq!(done.outcome, Outcome::Fitted);
    assert!(done.rungs[0].rounds > 2, "{:?}", done.rungs[0]);
    assert!(images(&done.conversation) > 0);
}

/// Rewrites one old result in each round.
struct OneByOne;

impl Strategy for OneByOne {
    fn plan(&self, window: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
        let mut results = old_messages(window, 1).filter_map(|message| {
            let (part, result) = message.result()?;
            let (message, text) = (message.index(), "-".to_owned());
            (result.text.len() > 1).then_some(Edit::Rewrite { message, part, text })
        });
        Ok(Plan { edits: results.next().into_iter().collect(), flow: Flow::Again })
    }
}

#[test]
fn any_number_of_rounds_may_bring_too_few_bytes() {
    let mut start = steps(200);
    let image = Part::Media(Media { kind: "image/png".into(), tokens: 1_105, bytes: MOST });
    start.push(Role::User, [image]).unwrap();
    start.push(Role::Assistant, [Part::text("I see.")]).unwrap();
    let done = compact(&compactor().rung(Rung::new("one-by-one", OneByOne)), start);
    assert!(matches!(done.outcome, Outcome::Partial { over_by: 0, over_by_bytes: 1.., .. }));
    assert!(done.rungs[0].rounds > 150, "{:?}", done.rungs[0]);
}

#[test]
fn what_cannot_be_given_up_is_said_in_bytes() {
    let mut start = notation::conversation("system s");
    let images = (0..30)
        .map(|_| Part::Media(Media { kind: "image/png".into(), tokens: 1_105, bytes: IMAGE }));
    start.push(Role::User, images.collect::<Vec<_>>()).unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let compactor = compactor()
        .rung(Rung::new("sliding-window", SlidingWindow::default()))
        .on(move |event| told.lock().unwrap().push(event.clone()));
    let done = compact(&compactor, start);
    let Outcome::Nothing { over_by, over_by_bytes, blockers } = &done.outcome else {
        panic!("{:?}", done.outcome)
    };
    assert_eq!((*over_by, *over_by_bytes), (0, done.wire.unwrap().after - MOST * 4 / 10));
    assert!(blockers[0].bytes > 30 * IMAGE && blockers[0].advice.contains("smaller images"));
    let events = events.lock().unwrap();
    assert!(matches!(events[0], Event::CompactStart { limit: Limit::Bytes, .. }));
    let json = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(json["outcome"]["over-by-bytes"], *over_by_bytes);
    assert_eq!(json["wire"]["before"], done.wire.unwrap().before);
}

#[tokio::test]
async fn a_session_keeps_both_limits_and_asks_again_only_after_growth() {
    let policy = Policy::new(
        compactor()
            .rung(Rung::new("tool-results", ToolResults::default()))
            .rung(Rung::new("sliding-window", SlidingWindow::default())),
        truncator(),
    );
    let guard = Guard::new(policy);
    let session = guard.resume("pictures", pictured(10, 0));
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    for step in 0..100 {
        let id = format!("more{step}");
        let (name, arguments) = ("screenshot".to_owned(), "{}".to_owned());
        let call = Part::ToolCall(ToolCall {
            id: id.clone().into(),
            name: name.into(),
            arguments: arguments.into(),
        });
        session.push(Role::Assistant, [call]).unwrap();
        let media = vec![Media { kind: "image/png".into(), tokens: 1_105, bytes: IMAGE }];
        let result =
            ToolResult { call: id.into(), text: "ok".into(), media: media.into(), is_error: false };
        session.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
        let before = session.conversation().wire_bytes();
        let done = session.before_call(None).await.unwrap().compaction;
        assert_eq!(done.is_some(), before >= MOST * 7 / 10, "{step}: {before}");
        assert!(session.conversation().wire_bytes() < MOST * 7 / 10);
    }
    // What a person shows now cannot go, and is not tried again and again.
    let shown = |count: usize| {
        let image = Part::Media(Media { kind: "image/png".into(), tokens: 1_105, bytes: IMAGE });
        vec![image; count]
    };
    session.push(Role::User, shown(25)).unwrap();
    let first = session.before_call(None).await.unwrap().compaction.unwrap();
    assert!(!first.outcome.fits());
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    session.push(Role::Assistant, [Part::text("I see.")]).unwrap();
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    session.push(Role::User, shown(2)).unwrap();
    assert!(session.before_call(None).await.unwrap().compaction.is_some());
}

#[tokio::test]
async fn a_request_in_json_is_as_long_as_it_is() {
    let data = "A".repeat(100_000);
    let url = format!("data:image/png;base64,{data}");
    let mut messages = vec![json!({"role": "user", "content": "look"})];
    for step in 0..10 {
        let image = json!({"type": "image_url", "image_url": {"url": url}});
        messages.push(json!({"role": "user", "content": [image]}));
        messages.push(json!({"role": "assistant", "content": format!("seen {step}")}));
    }
    let link = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    messages.push(json!({"role": "user", "content": [link]}));
    let tools = json!([{"type": "function", "function": {"name": "x".repeat(9_000)}}]);
    let request = json!({"messages": messages, "tools": tools}).to_string();
    let document = Document::read(request.clone(), &ReadOptions::default()).unwrap();
    let bytes: Vec<u64> = (document.conversation().messages().iter())
        .flat_map(|message| message.parts())
        .filter_map(|part| match part {
            Part::Media(media) => Some(media.bytes),
            _ => None,
        })
        .collect();
    assert_eq!(bytes, [vec![url.len() as u64; 10], vec![0]].concat());
    let length = request.len() as u64;
    assert_eq!(document.wire_bytes(), length);
    let fit = async |most: u64| {
        let budget = Budget::new(1_000_000, 0, 700_000, 400_000).unwrap();
        let compactor = Compactor::new(Arc::new(Approximate), budget.with_max_bytes(Some(most)))
            .rung(Rung::new("sliding-window", SlidingWindow::default()));
        let session = Guard::new(Policy::new(compactor, truncator())).session("json");
        session.fit(request.clone(), None).await.unwrap()
    };
    // To the byte: 7/10 are the trigger.
    assert!(fit(length * 10 / 7 + 10).await.compaction.is_none());
    let fitted = fit(length * 10 / 7 - 10).await;
    let wire = fitted.compaction.unwrap().wire.unwrap();
    assert_eq!(wire.before, length);
    let off = wire.after.abs_diff(fitted.request.len() as u64);
    assert!(off < length / 100, "{} for {}", wire.after, fitted.request.len());
    assert!(wire.after <= length * 4 / 7);
}

/// The check before a call looks only at what was appended.
#[test]
fn bytes_of_what_was_looked_at_cost_nothing() {
    let mut conversation = pictured(2_000, 50);
    conversation.wire_bytes();
    let budget = compactor().budget().with_max_bytes(Some(u64::MAX / 4));
    let begun = std::time::Instant::now();
    for _ in 0..1_000 {
        assert!(budget.wire().is_some_and(|room| room.request(conversation.wire_bytes()) > 0));
    }
    // A walk over all would take a thousand times 4,000 messages.
    assert!(begun.elapsed() < Duration::from_millis(50), "{:?}", begun.elapsed());
}
