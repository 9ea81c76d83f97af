//! Reads a conversation from its end, and finds for each result what came later and made it superfluous.

use std::collections::HashMap;

use brute_core::truncation::Notice;
use brute_core::{Mark, MarkKind, MessageView, PartView, ResultView, Window};

use crate::access::{Access, View};
use crate::{Cause, Options};

/// So many later reads and writes of one file are compared with a read, the nearest first: a file that is
/// read in thousands of pieces is not to cost their number squared.
const NEAREST: usize = 256;

/// How a result begins that reports a failure, where the format has no flag for it. In small letters.
const FAILURES: [&str; 7] =
    ["error", "failed", "failure", "fatal", "traceback", "<error", "<tool_use_error"];

/// What made a result superfluous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superseded<'a> {
    pub cause: Cause,
    /// The tool that did.
    pub tool: &'a str,
}

/// What was seen from the end of the conversation on.
pub(crate) struct Later<'a, 'o> {
    options: &'o Options,
    /// Reads and writes by file, the newest first.
    files: HashMap<String, Vec<Event<'a>>>,
    /// Results by tool, arguments and text.
    results: HashMap<(&'a str, &'a str, &'a str), &'a str>,
}

/// A call that was answered.
#[derive(Clone, Copy)]
struct Answered<'a> {
    tool: &'a str,
    arguments: &'a str,
    result: ResultView<'a>,
    tokens: u32,
    step: Option<usize>,
}

/// A read of a file, or a write to it.
#[derive(Clone)]
struct Event<'a> {
    call: Answered<'a>,
    /// What was read; nothing if it was a write.
    read: Option<View>,
}

impl<'a, 'o> Later<'a, 'o> {
    /// The superfluous results, by message.
    pub(crate) fn search(
        window: &Window<'a>,
        options: &'o Options,
    ) -> HashMap<usize, Superseded<'a>> {
        let mut later = Self { options, files: HashMap::new(), results: HashMap::new() };
        let mut found = HashMap::new();
        for message in window.all().rev() {
            let Some(call) = Answered::of(window, &message) else { continue };
            if call.is_empty_handed() {
                continue;
            }
            let access = Access::of(options, call.tool, call.arguments);
            match later.supersedes(&call, access.as_ref()) {
                // What is superseded supersedes nothing: it may be gone soon.
                Some(by) => {
                    found.insert(message.index(), by);
                }
                None => later.add(call, access),
            }
        }
        found
    }

    fn supersedes(&self, call: &Answered<'a>, access: Option<&Access>) -> Option<Superseded<'a>> {
        access.and_then(|access| self.on_file(call, access)).or_else(|| self.repeats(call))
    }

    /// The later call that made a read superfluous; the one of its first file if it read several.
    fn on_file(&self, call: &Answered<'a>, access: &Access) -> Option<Superseded<'a>> {
        let read = access.read.as_ref()?;
        let mut by = access.paths.iter().map(|path| {
            let events = self.files.get(path)?.iter().rev().take(NEAREST);
            events.filter(|event| event.call.step != call.step).find_map(|event| {
                let cause = event.supersedes(call, read)?;
                self.options
                    .by
                    .contains(&cause)
                    .then_some(Superseded { cause, tool: event.call.tool })
            })
        });
        let first = by.next()??;
        by.all(|by| by.is_some()).then_some(first)
    }

    fn repeats(&self, call: &Answered<'a>) -> Option<Superseded<'a>> {
        let tool = self.results.get(&call.key())?;
        let counts = self.options.by.contains(&Cause::Repeat) && call.result.media == 0;
        counts.then_some(Superseded { cause: Cause::Repeat, tool })
    }

    fn add(&mut self, call: Answered<'a>, access: Option<Access>) {
        if call.result.media == 0 {
            self.results.entry(call.key()).or_insert(call.tool);
        }
        let Some(Access { paths, read }) = access else { return };
        for path in paths {
            self.files.entry(path).or_default().push(Event { call, read: read.clone() });
        }
    }
}

impl<'a> Answered<'a> {
    fn of(window: &Window<'a>, message: &MessageView<'a>) -> Option<Self> {
        let (part, result) = message.result()?;
        let call = window.outline().call_of(message.index())?;
        let PartView::ToolCall { name, arguments, .. } =
            window.get(call.message)?.part(call.part)?
        else {
            return None;
        };
        let tokens = message.part_tokens(part);
        let step = window.outline().step_of(message.index());
        Some(Self { tool: name, arguments, result, tokens, step })
    }

    /// Whether there is nothing in it that could be superseded or supersede: it failed, or was cleared.
    fn is_empty_handed(&self) -> bool {
        let text = self.result.text.trim_start().as_bytes();
        let is_failure = |failure: &str| {
            text.get(..failure.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(failure.as_bytes()))
        };
        self.result.is_error
            || FAILURES.iter().any(|failure| is_failure(failure))
            || Mark::read(self.result.text).is_some_and(|mark| mark.kind == MarkKind::Cleared)
    }

    fn key(&self) -> (&'a str, &'a str, &'a str) {
        (self.tool, self.arguments, self.result.text)
    }

    fn lines(&self) -> u64 {
        self.result.text.lines().count() as u64
    }
}

impl Event<'_> {
    /// Whether this made the earlier `call`, which asked for `wanted`, superfluous, and how.
    fn supersedes(&self, call: &Answered<'_>, wanted: &View) -> Option<Cause> {
        let Some(shown) = &self.read else { return Some(Cause::Write) };
        let same_tool = self.call.tool == call.tool;
        // Tools may count lines from 0 or from 1: only the whole file is the same for all.
        let is_comparable = same_tool || shown.lines.is_all();
        if shown.others != wanted.others
            || !is_comparable
            || self.call.result.media < call.result.media
        {
            return None;
        }
        let is_enough = if shown.lines == wanted.lines {
            // A tool may say "unchanged" instead of showing the file again.
            u64::from(self.call.tokens) * 2 >= u64::from(call.tokens)
        } else {
            // A tool may have shown less than it was asked for.
            let needed = wanted.lines.first.saturating_sub(shown.lines.first) + call.lines();
            shown.lines.cover(wanted.lines)
                && self.call.lines() >= needed
                && Notice::verify(self.call.result.text).is_none()
        };
        is_enough.then_some(Cause::Read)
    }
}
