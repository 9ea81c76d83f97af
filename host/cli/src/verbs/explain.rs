//! `brute explain`: what `compact` would do, rung by rung.

use std::collections::{HashMap, HashSet};

use brute_core::{Message, MessageId, PartView, Role, TokenCounter};
use brute_host::formats::{Document, WriteOptions};
use brute_host::ladder::Outcome;
use brute_host::replay::{Compacted, Fates, Recall, Run};
use serde::Serialize;

use crate::args::{Explain, Global};
use crate::exit::Done;
use crate::page::{self, Page, Walks, Went};
use crate::reported::Reported;
use crate::setup::Ran;
use crate::style::{self, BAD, DIM, GOOD, WARN, excerpt, number, styled};
use crate::tape::Tape;
use crate::{output, report, session, setup};

/// Columns of the diff before the words of a message.
const BEFORE_WORDS: usize = 37;

pub(crate) fn run(global: &Global, args: &Explain) -> Done {
    let (config, layers) = setup::load_for(global, true, args.tape.replay.is_some())?;
    let toml = page::ladder(global, global.config.as_deref(), &config, &layers)?;
    let config = setup::over(config, &args.room);
    let session = session::read(global, &config, &args.session)?;
    let document = &session.document;
    if !global.quiet {
        session.say(&args.session.file);
        setup::say_unknown_tools(&config, document);
    }
    let focus = setup::focus(&config, args.focus.as_deref(), global.quiet);
    let sizing = setup::sizing(config, args.room.to, document)?.focusing(focus);
    let kind = sizing.kind;
    let reported = Reported::of(&session, &sizing, args.reported);
    let (tape, sizing) = Tape::of(&args.tape, sizing)?;
    let ran = setup::run(global, sizing, document, true)?;
    tape.check()?;
    let done = &ran.done;
    if let Some(file) = &args.html {
        page(&session::name(&args.session.file), document, &ran, toml).write(file)?;
    }
    if args.json {
        let written = document.write(&done.conversation, &WriteOptions::default());
        let messages = session.messages_in(&written)?;
        let report = report::Report::of(document, &ran, messages);
        output::json(&Explained { report, provider: reported })?;
        tape.finish()?;
        return Ok(report::exit(done));
    }
    let mut text = report::heading(&session::name(&args.session.file), document, &ran);
    if let Some(reported) = reported {
        text.push_str(&reported.text(kind));
    }
    text.push('\n');
    text.push_str(&report::rungs(&ran));
    text.push('\n');
    text.push_str(&report::outcome(document, &ran));
    if args.diff {
        text.push('\n');
        text.push_str(&diff(document, &ran));
    }
    output::text(&text)?;
    tape.finish()?;
    Ok(report::exit(done))
}

/// The same as a page.
fn page(name: &str, document: &Document, ran: &Ran, toml: String) -> Page {
    let done = &ran.done;
    let mut fates = Fates::of(document.conversation());
    // Which rung did what is known only as long as there is one.
    let asked: Vec<usize> = (done.rungs.iter().enumerate())
        .filter(|(_, rung)| rung.edits > 0)
        .map(|(at, _)| at)
        .collect();
    fates.settle(&done.conversation, <[usize; 1]>::try_from(asked).ok().map(|[only]| only));
    let budget = &done.budget;
    let mut lead = report::room(name, document, ran);
    let outcome = anstream::adapter::strip_str(&report::outcome(document, ran)).to_string();
    lead.push(outcome.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut page = Page {
        title: "What a compaction gives up".to_owned(),
        lead,
        tables: vec![("Rung by rung".to_owned(), report::grid(ran))],
        walks: Walks::new(&[]),
        ladders: vec![("brute.toml".to_owned(), toml)],
        ..Page::default()
    };
    let compacted = Compacted {
        message: document.conversation().len(),
        before: budget.request(done.before),
        after: budget.request(done.after),
        fits: done.outcome.fits(),
        gone: done.removed.len(),
        new: done.added.len(),
        recall: Recall::default(),
        rungs: done.rungs.clone(),
        became: fates.changed(),
        violations: Vec::new(),
        failing: None,
    };
    let is_due = !matches!(done.outcome, Outcome::BelowTrigger);
    let run = Run {
        order: done.rungs.iter().map(|rung| rung.rung.clone()).collect(),
        compactions: is_due.then_some(compacted).into_iter().collect(),
        ..Run::default()
    };
    let walk = Went { run: &run, budget, is_own: false };
    page.walks.add(vec![], document.conversation(), &*ran.counter, walk, vec![]);
    page.walks.cut();
    page
}

/// What is said for programs.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    report: report::Report<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Reported>,
}

/// One line for each message that went, came or changed, in the order of the conversation; runs of
/// untouched messages are counted.
fn diff(document: &Document, ran: &Ran) -> String {
    let done = &ran.done;
    let counter = &*ran.counter;
    let before = document.conversation().messages();
    let after = done.conversation.messages();
    let kept: HashMap<MessageId, &Message> =
        after.iter().map(|message| (message.id(), &**message)).collect();
    let known: HashSet<MessageId> = before.iter().map(|message| message.id()).collect();
    let mut lines = Lines { text: String::new(), untouched: 0, last: None };
    lines.head();
    let mut next = after.iter().peekable();
    for message in before {
        // What came stands before the first message that it precedes.
        if kept.contains_key(&message.id()) {
            while let Some(added) = next.next_if(|next| next.id() != message.id()) {
                lines.added(counter, added);
            }
            next.next();
        } else {
            while let Some(added) = next.next_if(|next| !known.contains(&next.id())) {
                lines.added(counter, added);
            }
        }
        let place = document.wire_index(message.id());
        match kept.get(&message.id()) {
            Some(now) if *now == &**message => lines.untouched(place),
            Some(now) => lines.changed(counter, place, message, now),
            None => lines.gone(counter, place, message),
        }
    }
    for added in next {
        lines.added(counter, added);
    }
    lines.flush();
    lines.text
}

struct Lines {
    text: String,
    /// Messages on the wire, of which one may be several here.
    untouched: usize,
    last: Option<usize>,
}

impl Lines {
    fn head(&mut self) {
        let head = format!("  {:>6} {:<9} {:>16}  begins with", "#", "role", "tokens");
        self.text.push_str(&styled(DIM, &head));
        self.text.push('\n');
    }

    fn untouched(&mut self, place: Option<usize>) {
        // Instructions in a field of the body stand in no message.
        if place.is_some() && place != self.last {
            self.untouched += 1;
        }
        self.last = place;
    }

    fn flush(&mut self) {
        if self.untouched > 0 {
            let line =
                format!("       {} untouched", style::counted(self.untouched as u64, "message"));
            self.text.push_str(&styled(DIM, &line));
            self.text.push('\n');
        }
        self.untouched = 0;
    }

    fn line(&mut self, sign: String, place: Option<usize>, role: Role, size: &str, words: &str) {
        self.flush();
        let place = place.map_or_else(String::new, |place| format!("#{place}"));
        let line = format!("{sign} {place:>6} {role:<9} {size:>16}  {words}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn gone(&mut self, counter: &dyn TokenCounter, place: Option<usize>, message: &Message) {
        let size = number(u64::from(message.tokens(counter)));
        self.line(styled(BAD, "-"), place, message.role(), &size, &words(message));
    }

    fn added(&mut self, counter: &dyn TokenCounter, message: &Message) {
        let size = number(u64::from(message.tokens(counter)));
        self.line(styled(GOOD, "+"), None, message.role(), &size, &words(message));
    }

    fn changed(
        &mut self,
        counter: &dyn TokenCounter,
        place: Option<usize>,
        from: &Message,
        to: &Message,
    ) {
        let size = |message: &Message| number(u64::from(message.tokens(counter)));
        let size = format!("{} → {}", size(from), size(to));
        self.line(styled(WARN, "~"), place, to.role(), &size, &words(to));
    }
}

/// The first words of a message, as many as the line has room for.
fn words(message: &Message) -> String {
    let most = style::columns().saturating_sub(BEFORE_WORDS);
    let mut words = String::new();
    for part in message.parts() {
        let said = match PartView::from(part) {
            PartView::Text(text) => text.to_owned(),
            PartView::ToolCall { name, arguments, .. } => format!("{name}({arguments})"),
            PartView::ToolResult(result) => result.text.to_owned(),
            PartView::Media { kind } | PartView::Opaque { kind } => format!("({kind})"),
            PartView::Reasoning { .. } => continue,
        };
        words.push_str(&said.chars().take(4 * most).collect::<String>());
        words.push(' ');
    }
    excerpt(&words, most)
}
