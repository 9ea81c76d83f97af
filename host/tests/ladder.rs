//! What a ladder does with rungs that behave, and with rungs that do not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::{laws, notation};
use brute_core::{
    Approximate, Completion, CompletionError, Configure, Conversation, Edit, Flow, Host,
    LayerError, LogLevel, MarkKind, Outline, PartView, Plan, Prompt, Protection, Stop, Strategy,
    SummarizerLimits, TokenCounter, Window,
};
use brute_host::ladder::{
    BlockerKind, Budget, Compaction, Compactor, Event, NotAsked, OnError, Outcome, Rung,
    RungResult, When,
};
use brute_host::summarizers::{BoxFuture, Summarizer};

/// A layer that is one closure.
struct Layer<F>(F);

impl<F> Strategy for Layer<F>
where
    F: Fn(&Window<'_>) -> Result<Plan, LayerError> + Send + Sync,
{
    fn plan(&self, window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
        (self.0)(window)
    }
}

fn rung(
    name: &str,
    plan: impl Fn(&Window<'_>) -> Result<Plan, LayerError> + Send + Sync + 'static,
) -> Rung {
    Rung::new(name, Layer(plan))
}

/// Drops the oldest turn.
fn drop_oldest(window: &Window<'_>) -> Result<Plan, LayerError> {
    let oldest = window.outline().history().first();
    Ok(oldest
        .map_or_else(Plan::decline, |turn| Plan::of(vec![Edit::Drop { span: turn.span.clone() }])))
}

fn compactor(target: u64, rungs: Vec<Rung>) -> Compactor {
    let budget = Budget::new(100_000, 0, target + 1, target).unwrap();
    rungs.into_iter().fold(Compactor::new(Arc::new(Approximate), budget), Compactor::rung)
}

fn run(compactor: &Compactor, conversation: Conversation) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let compaction = runtime.block_on(compactor.compact(conversation));
    runtime.shutdown_background();
    compaction
}

fn now(compactor: &Compactor, conversation: Conversation) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(compactor.compact_now(conversation))
}

/// Four turns of 100 tokens and more, then the task.
fn talk() -> Conversation {
    let turn = "user askx80\nassistant answerx60\n";
    notation::conversation(&format!("system s\n{}user task", turn.repeat(4)))
}

fn results(compaction: &Compaction) -> Vec<RungResult> {
    compaction.rungs.iter().map(|report| report.result.clone()).collect()
}

#[test]
fn a_layer_that_meets_the_target_ends_the_descent() {
    let size = talk().measure(&Approximate);
    let rungs = vec![rung("first", drop_oldest), rung("second", |_| unreachable!())];
    let compaction = run(&compactor(size - 50, rungs), talk());
    assert_eq!(compaction.outcome, Outcome::Fitted);
    assert_eq!(
        results(&compaction),
        [RungResult::Applied, RungResult::NotAsked { reason: NotAsked::TargetMet }]
    );
    assert_eq!(compaction.removed.len(), 2);
}

#[test]
fn below_the_trigger_nothing_is_asked() {
    let compaction = run(&compactor(99_000, vec![rung("any", |_| unreachable!())]), talk());
    assert_eq!(compaction.outcome, Outcome::BelowTrigger);
    assert_eq!(compaction.conversation, talk());
    assert_eq!(results(&compaction), [RungResult::NotAsked { reason: NotAsked::BelowTrigger }]);
    assert!(compaction.duration > Duration::ZERO);
}

#[test]
fn what_fits_is_left_alone_and_nothing_is_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let size = talk().measure(&Approximate);
    let compactor = compactor(size, vec![rung("any", |_| unreachable!())])
        .on(move |event| sink.lock().unwrap().push(event.clone()));
    let compaction = now(&compactor, talk());
    assert_eq!(compaction.outcome, Outcome::Fitted);
    assert_eq!(compaction.conversation, talk());
    assert_eq!((compaction.before, compaction.after), (size, size));
    assert_eq!(results(&compaction), [RungResult::NotAsked { reason: NotAsked::TargetMet }]);
    assert!(told.lock().unwrap().is_empty(), "{told:?}");
}

/// Counts like [`Approximate`], but slowly.
struct Slow;

impl TokenCounter for Slow {
    fn id(&self) -> &'static str {
        "slow"
    }
    fn count(&self, text: &str) -> u32 {
        std::thread::sleep(Duration::from_millis(2));
        Approximate.count(text)
    }
    fn bounds(&self, bytes: usize) -> (u32, u32) {
        Approximate.bounds(bytes)
    }
}

#[test]
fn the_duration_includes_the_counting() {
    let talk_takes = Duration::from_millis(2 * talk().len() as u64);
    for (window, target) in [(100_000, 90_000), (100_000, 250)] {
        let budget = Budget::new(window, 0, target + 1, target).unwrap();
        let compactor = Compactor::new(Arc::new(Slow), budget);
        let compaction = run(&compactor, talk());
        assert!(compaction.duration >= talk_takes, "{:?}", compaction.outcome);
        let compaction = now(&compactor, talk());
        assert!(compaction.duration >= talk_takes, "{:?}", compaction.outcome);
    }
}

#[test]
fn a_layer_that_never_ends_is_ended_and_the_operator_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let word = |window: &Window<'_>| {
        let message = window.get(0).unwrap();
        let Some(PartView::Text(text)) = message.part(0) else { return Ok(Plan::decline()) };
        let text = text[4..].to_owned();
        let edits = vec![Edit::Rewrite { message: 0, part: 0, text }];
        Ok(Plan { edits, flow: Flow::Again })
    };
    let compactor = compactor(1, vec![rung("endless", word)])
        .on(move |event| sink.lock().unwrap().push(event.clone()));
    let compaction = run(&compactor, notation::conversation("assistant abcx9000\nuser task"));
    assert_eq!(compaction.rungs[0].rounds, 1_000);
    let told = told.lock().unwrap();
    let mut logs = told.iter().filter_map(|event| match event {
        Event::Log { rung, level: LogLevel::Warn, message } => Some((rung.as_str(), message)),
        _ => None,
    });
    assert!(matches!(logs.next(), Some(("endless", message)) if message.contains("1000 rounds")));
    assert_eq!(logs.next(), None);
}

/// A summarizer that says how often it was asked.
#[derive(Clone, Default)]
struct Tally(Arc<AtomicUsize>);

impl Summarizer for Tally {
    fn name(&self) -> &str {
        "tally"
    }
    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: 16_000 }
    }
    fn complete<'a>(&'a self, _: &'a Prompt) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(Completion::new("gist", Stop::End)) })
    }
}

#[test]
fn whoever_is_out_of_time_asks_no_summarizer() {
    /// Takes longer than it may, then asks.
    struct Late(std::sync::mpsc::SyncSender<Result<Completion, CompletionError>>);
    impl Strategy for Late {
        fn plan(&self, _: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
            std::thread::sleep(Duration::from_millis(150));
            let (instructions, input) = (String::new(), String::new());
            let answer = host.complete(&Prompt { instructions, input, max_tokens: 9 });
            self.0.send(answer).unwrap();
            Ok(Plan::decline())
        }
    }
    let (sender, answers) = std::sync::mpsc::sync_channel(1);
    let late = Rung { timeout: Some(Duration::from_millis(20)), ..Rung::new("late", Late(sender)) };
    let tally = Tally::default();
    let compactor = compactor(1, vec![late]).summarizer(Arc::new(tally.clone()));
    let compaction = run(&compactor, talk());
    assert!(matches!(compaction.rungs[0].result, RungResult::Failed { .. }));
    assert_eq!(compaction.rungs[0].summarizer.calls, 0);
    let refused = answers.recv_timeout(Duration::from_secs(60)).unwrap().unwrap_err();
    assert!(refused.to_string().contains("out of time"), "{refused}");
    assert_eq!(tally.0.load(Ordering::Relaxed), 0);
}

#[test]
fn a_layer_that_wants_rounds_gets_them_until_it_fits() {
    let again =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Again, ..plan });
    let compaction = run(&compactor(250, vec![rung("rounds", again)]), talk());
    assert_eq!(compaction.outcome, Outcome::Fitted);
    assert_eq!(compaction.rungs[0].rounds, 3);
    let compaction = run(&compactor(1, vec![rung("rounds", again)]), talk());
    assert_eq!(compaction.rungs[0].rounds, 4);
    assert!(matches!(compaction.outcome, Outcome::Partial { over_by, .. } if over_by > 0));
}

#[test]
fn a_plan_may_end_the_descent() {
    let stop =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Stop, ..plan });
    let compaction =
        run(&compactor(1, vec![rung("stop", stop), rung("next", |_| unreachable!())]), talk());
    assert_eq!(results(&compaction)[1], RungResult::NotAsked { reason: NotAsked::Stopped });
}

#[test]
fn when_is_judged_by_what_is_left() {
    let size = talk().measure(&Approximate);
    let low = Rung { when: Some(When { above: size }), ..rung("low", |_| unreachable!()) };
    let high = Rung { when: Some(When { above: size - 1 }), ..rung("high", drop_oldest) };
    let compaction = run(&compactor(1, vec![low, high]), talk());
    assert_eq!(
        results(&compaction),
        [RungResult::NotAsked { reason: NotAsked::When }, RungResult::Applied]
    );
}

#[test]
fn a_request_that_does_not_fit_is_above_every_amount() {
    let size = talk().measure(&Approximate);
    for (usable, is_asked) in [(size, false), (size - 1, true)] {
        let budget = Budget::new(100_000, 100_000 - usable, 2, 1).unwrap();
        let last = Rung { when: Some(When { above: 90_000 }), ..rung("last", drop_oldest) };
        let compaction = run(&Compactor::new(Arc::new(Approximate), budget).rung(last), talk());
        let expected = match is_asked {
            true => RungResult::Applied,
            false => RungResult::NotAsked { reason: NotAsked::When },
        };
        assert_eq!(results(&compaction), [expected], "{usable}");
    }
}

#[test]
fn a_layer_that_fails_costs_nothing_but_its_savings() {
    type Plans = fn(&Window<'_>) -> Result<Plan, LayerError>;
    let cases: [(&str, Plans, &str); 6] = [
        ("error", |_| Err(LayerError::new("out of ideas")), "out of ideas"),
        ("panic", |_| panic!("index out of bounds"), "the layer panicked: index out of bounds"),
        ("nonsense", |_| Ok(Plan::of(vec![Edit::Drop { span: 7..99 }])), "only 10"),
        ("task", |_| Ok(Plan::of(vec![Edit::Drop { span: 9..10 }])), "protected"),
        (
            "grows",
            |_| Ok(Plan::of(vec![Edit::Rewrite { message: 2, part: 0, text: "a".repeat(9_999) }])),
            "not become smaller",
        ),
        (
            "hangs",
            |_| {
                std::thread::sleep(Duration::from_millis(400));
                Ok(Plan::decline())
            },
            "time limit of 50ms",
        ),
    ];
    for (name, plan, reason) in cases {
        let limit = Duration::from_millis(if name == "hangs" { 50 } else { 60_000 });
        let bad = Rung { timeout: Some(limit), ..rung(name, plan) };
        let good = || rung("good", drop_oldest);
        let compaction = run(&compactor(1, vec![bad.clone(), good()]), talk());
        let RungResult::Failed { reason: told, summarizer: false } = &compaction.rungs[0].result
        else {
            panic!("{name}: {:?}", compaction.rungs[0].result);
        };
        assert!(told.contains(reason), "{name}: {told}");
        assert_eq!(compaction.rungs[0].after, compaction.before);
        assert_eq!(compaction.rungs[1].result, RungResult::Applied);

        let stopping = Rung { on_error: OnError::Stop, ..bad };
        let compaction = run(&compactor(1, vec![stopping, good()]), talk());
        assert_eq!(compaction.conversation, talk(), "{name}");
        assert!(matches!(compaction.outcome, Outcome::Nothing { .. }));
    }
}

#[test]
fn blockers_name_what_stands_in_the_way() {
    let compaction = run(&compactor(10, vec![rung("oldest", drop_oldest)]), talk());
    let kinds: Vec<String> =
        compaction.outcome.blockers().iter().map(|blocker| blocker.kind.to_string()).collect();
    assert_eq!(
        kinds,
        ["the newest steps", "older turns that no layer gave up", "the instructions", "the task"]
    );
}

#[test]
fn advice_is_about_this_ladder_and_this_conversation() {
    use brute_sliding_window::{Options, SlidingWindow};
    use brute_tool_results::ToolResults;

    let sliding = |keep_steps| {
        Rung::new("sliding-window", SlidingWindow::build(Options { keep_steps }).unwrap())
    };
    let unasked = Rung { when: Some(When { above: 50_000 }), ..sliding(1) };
    let failing = || rung("summarize", |_| Err(LayerError::summarizer("no answer")));
    let results = || Rung::new("tool-results", ToolResults::default());
    let old = "user askx80\nassistant answerx60\n".repeat(4);
    let old = format!("{old}user task");
    let calls = "user task\nassistant call:a\ntool a wordx300\nassistant call:b\ntool b wordx300";
    let talk = "user task\nassistant wordx300\nassistant wordx300";
    let add = "add `sliding-window` or `summarize` to the ladder";
    let see = "the rungs that give up turns and steps failed or were not asked: see to that";
    let cap = "cap tool results by `[truncate]`";
    let cases: Vec<(&str, Vec<Rung>, &str, BlockerKind, &str)> = vec![
        ("no rung", vec![], &old, BlockerKind::History, add),
        ("another rung", vec![results()], &old, BlockerKind::History, add),
        ("not asked", vec![unasked.clone()], &old, BlockerKind::History, see),
        ("failed", vec![failing()], &old, BlockerKind::History, see),
        (
            "one of two ran",
            vec![failing(), sliding(4)],
            &old,
            BlockerKind::History,
            "lower `keep-steps`, or use a larger window",
        ),
        (
            "a layer of one's own",
            vec![rung("mine", drop_oldest)],
            &old,
            BlockerKind::NewestSteps,
            "lower `keep-steps`",
        ),
        ("calls, no rung", vec![], calls, BlockerKind::NewestSteps, {
            "add `sliding-window` or `summarize` to the ladder, or cap tool results by `[truncate]`"
        }),
        ("calls, not asked", vec![unasked], calls, BlockerKind::NewestSteps, see),
        (
            "calls",
            vec![sliding(2)],
            calls,
            BlockerKind::NewestSteps,
            "lower `keep-steps`, or cap tool results by `[truncate]`",
        ),
        ("one call", vec![sliding(1)], calls, BlockerKind::NewestSteps, cap),
        ("talk, no rung", vec![], talk, BlockerKind::NewestSteps, add),
        ("talk", vec![sliding(2)], talk, BlockerKind::NewestSteps, "lower `keep-steps`"),
        (
            "one step of talk",
            vec![sliding(1)],
            talk,
            BlockerKind::NewestSteps,
            "the newest step always stays: use a larger window",
        ),
        (
            "summaries",
            vec![sliding(1)],
            "summary 3 gistx300\nuser task",
            BlockerKind::Summaries,
            "add `summarize` to the ladder, which combines them",
        ),
        (
            "summaries with a summarizer",
            vec![failing()],
            "summary 3 gistx300\nuser task",
            BlockerKind::Summaries,
            "lower `max-tokens` of `summarize`",
        ),
        (
            "a note",
            vec![sliding(1)],
            "note 3 gonex300\nuser task",
            BlockerKind::Notes,
            "raise `compact-to`, or use a larger window",
        ),
        (
            "pending",
            vec![sliding(1)],
            "user task\nassistant call:a call:b\ntool a wordx300",
            BlockerKind::Protected,
            "wait for the results of the calls, or use a larger window",
        ),
    ];
    for (name, rungs, text, kind, advice) in cases {
        let compaction = run(&compactor(1, rungs), notation::conversation(text));
        let blocker = &compaction.outcome.blockers()[0];
        assert_eq!((blocker.kind, blocker.advice), (kind, advice), "{name}");
    }
    let kept = compactor(1, vec![sliding(1)]).keeping(["keep".to_owned()]);
    let text = "user task\nassistant call:a:keep call:b\ntool a ok\ntool b wordx300\nassistant ok";
    let compaction = run(&kept, notation::conversation(text));
    let blocker = &compaction.outcome.blockers()[0];
    assert_eq!(blocker.kind, BlockerKind::Protected);
    assert_eq!(
        (&blocker.messages[..], blocker.advice),
        (&[1, 2, 3][..], "name fewer tools in `[keep]`")
    );
}

#[test]
fn events_add_up_to_the_difference_and_carry_what_went() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let again =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Again, ..plan });
    let compactor =
        compactor(1, vec![rung("rounds", again), rung("none", |_| Ok(Plan::decline()))])
            .on(|_| panic!("an observer that panics hurts nobody"))
            .on(move |event| sink.lock().unwrap().push(event.clone()));
    let compaction = run(&compactor, talk());
    let told = told.lock().unwrap();
    let saved: u64 = (told.iter())
        .map(|event| match event {
            Event::LayerApplied { before, after, .. } => before - after,
            _ => 0,
        })
        .sum();
    assert_eq!(saved, compaction.before - compaction.after);
    let Some(Event::Compacted { removed, .. }) = told.last() else { panic!("{told:?}") };
    assert_eq!(removed, &compaction.removed);
    assert_eq!(removed.len(), 8);
    assert!(told.iter().any(|event| matches!(event, Event::LayerDeclined { .. })));
}

#[test]
fn dropping_the_future_gives_up_on_the_layer() {
    let slow = rung("slow", |_| {
        std::thread::sleep(Duration::from_millis(200));
        Ok(Plan::decline())
    });
    let compactor = compactor(1, vec![slow]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let given_up = runtime.block_on(async {
        tokio::time::timeout(Duration::from_millis(20), compactor.compact(talk())).await
    });
    runtime.shutdown_background();
    assert!(given_up.is_err());
}

#[test]
fn what_the_host_says_of_itself_holds() {
    let compaction = run(&compactor(1, vec![rung("oldest", drop_oldest)]), talk());
    let outline = Outline::of(talk().messages()).unwrap();
    let conversation = talk();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    laws::check_step(&conversation, &compaction.conversation, &protection).unwrap();
    assert!(
        compaction
            .added
            .iter()
            .all(|message| message.mark().map(|m| m.kind) != Some(MarkKind::Cleared))
    );
}
