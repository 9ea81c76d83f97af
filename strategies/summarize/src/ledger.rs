//! What was changed, run and named, taken from tool calls and results without a model.

use std::collections::HashMap;

use brute_core::{MarkKind, MessageView, PartView, Role, Window};
use serde_json::Value;

use crate::identifiers::{self, SAID_WEIGHT};
use crate::{answer, sections};

/// Longer strings are data.
const LONGEST: usize = 200;

/// How many entries are considered. More than fit into any summary.
const MOST: usize = 256;

/// What is known of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Verb {
    Changed,
    Ran,
    Failed,
    Named,
}

impl Verb {
    fn line(self, text: &str) -> String {
        match self {
            Self::Changed => format!("changed: {text}"),
            Self::Ran => format!("ran: {text}"),
            Self::Failed => format!("failed: {text}"),
            Self::Named => text.to_owned(),
        }
    }

    fn read(line: &str) -> (Self, &str) {
        for (head, verb) in
            [("changed: ", Self::Changed), ("ran: ", Self::Ran), ("failed: ", Self::Failed)]
        {
            if let Some(text) = line.strip_prefix(head) {
                return (verb, text);
            }
        }
        (Self::Named, line)
    }
}

/// One file, command, error or name, the most important first in a ledger.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    verb: Verb,
    text: String,
    score: f64,
}

/// What was changed, run and named in a stretch of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
}

impl Ledger {
    /// Of these messages of `window`, ledgers of earlier summaries among them.
    pub(crate) fn of<'w>(
        window: &Window<'w>,
        messages: impl IntoIterator<Item = MessageView<'w>>,
    ) -> Self {
        let mut reader = Reader { window, done: HashMap::new(), texts: Vec::new() };
        messages.into_iter().for_each(|message| reader.message(&message));
        reader.finish()
    }

    /// The section, in at most `budget` tokens, without what `summary` names. Empty if nothing is left.
    pub(crate) fn section(
        &self,
        summary: &str,
        budget: u64,
        count: &dyn Fn(&str) -> u64,
    ) -> String {
        let heading = format!("\n\n## {}", sections::LEDGER);
        let mut left = budget.saturating_sub(count(&heading));
        let mut lines = String::new();
        for Entry { verb, text, .. } in &self.entries {
            // Inside another one it is there, too.
            if summary.contains(text.as_str()) || lines.contains(text.as_str()) {
                continue;
            }
            let line = format!("\n{}", verb.line(text));
            let tokens = count(&line);
            if tokens <= left {
                left -= tokens;
                lines.push_str(&line);
            }
        }
        if lines.is_empty() { lines } else { heading + &lines }
    }
}

struct Reader<'a, 'w> {
    window: &'a Window<'w>,
    /// What was done to a file or by a command last, and in which text.
    done: HashMap<String, (Verb, usize)>,
    /// What was said, and how much it counts.
    texts: Vec<(&'w str, usize)>,
}

impl<'w> Reader<'_, 'w> {
    fn message(&mut self, message: &MessageView<'w>) {
        let is_summary = message.mark().is_some_and(|mark| mark.kind == MarkKind::Summary);
        for part in message.parts() {
            match part {
                PartView::Text(text) if is_summary => self.summary(answer::body_of(text)),
                PartView::Text(text) => {
                    let says = message.role() != Role::System;
                    self.texts.push((text, if says { SAID_WEIGHT } else { 1 }));
                }
                PartView::ToolCall { name, arguments, .. } => {
                    self.texts.push((arguments, SAID_WEIGHT));
                    self.call(name, arguments, Verb::Ran);
                }
                PartView::ToolResult(result) => {
                    self.texts.push((result.text, 1));
                    if result.is_error {
                        self.failed(message.index());
                    }
                }
                _ => {}
            }
        }
    }

    fn summary(&mut self, body: &'w str) {
        self.texts.push((body, SAID_WEIGHT));
        for line in sections::section(body, sections::LEDGER).unwrap_or_default().lines() {
            let (verb, text) = Verb::read(line);
            if verb != Verb::Named {
                self.did(text, verb);
            }
        }
    }

    fn failed(&mut self, result: usize) {
        let Some(call) = self.window.outline().call_of(result) else { return };
        let part = self.window.get(call.message).and_then(|message| message.part(call.part));
        if let Some(PartView::ToolCall { name, arguments, .. }) = part {
            self.call(name, arguments, Verb::Failed);
        }
    }

    fn did(&mut self, text: &str, verb: Verb) {
        let text = text.trim();
        if !text.is_empty() && text.len() <= LONGEST && !text.contains('\n') {
            self.done.insert(text.to_owned(), (verb, self.texts.len()));
        }
    }

    /// What a call does, by its name and the names of its arguments. `verb` is what its commands did.
    fn call(&mut self, tool: &str, arguments: &str, verb: Verb) {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return };
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let command = COMMANDS.iter().find_map(|key| arguments.get(*key));
        let command = match command {
            Some(Value::Array(words)) => words.last().and_then(Value::as_str),
            other => other.and_then(Value::as_str),
        };
        let tool = tool.to_lowercase();
        let named = [tool.as_str(), command.unwrap_or_default()];
        let path = PATHS.iter().find_map(|key| text(key));
        let changes = || CHANGES.iter().any(|word| named.iter().any(|name| name.contains(word)));
        match (path, command) {
            (Some(path), _) if verb == Verb::Ran && changes() => self.did(path, Verb::Changed),
            (None, Some(command)) if command.trim().contains(' ') => {
                self.did(command.lines().next().unwrap_or_default(), verb);
            }
            _ => {}
        }
    }

    fn finish(self) -> Ledger {
        let texts = self.texts.len().max(1);
        let recent = |at: usize| at as f64 / texts as f64;
        let found = identifiers::weighed(self.texts);
        let worth: HashMap<&str, f64> =
            found.iter().map(|found| (found.text, found.weight as f64)).collect();
        let named = found.iter().take(MOST).filter(|found| !self.done.contains_key(found.text));
        let named = named.map(|found| Entry {
            verb: Verb::Named,
            text: found.text.to_owned(),
            score: found.weight as f64 * (0.5 + recent(found.last)),
        });
        let done = self.done.iter().map(|(text, (verb, at))| {
            let named = worth.get(text.as_str()).copied().unwrap_or(SAID_WEIGHT as f64);
            let bonus = if *verb == Verb::Changed { 2.0 } else { 1.0 };
            Entry { verb: *verb, text: text.clone(), score: bonus * named * (0.5 + recent(*at)) }
        });
        let mut entries: Vec<_> = named.chain(done).collect();
        entries.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.text.cmp(&b.text)));
        entries.truncate(MOST);
        Ledger { entries }
    }
}

/// Arguments that name a file.
const PATHS: [&str; 8] = [
    "path",
    "file_path",
    "filePath",
    "filename",
    "file",
    "target_file",
    "absolute_path",
    "notebook_path",
];

/// Arguments that are run.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "code"];

/// What tools that change files have in their names, or in the name of what they are to do.
const CHANGES: [&str; 8] =
    ["write", "edit", "replace", "patch", "create", "insert", "delete", "rename"];

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::testing::notation;
    use brute_core::{Approximate, Conversation, Mark, Message, Part, Protection, Sizes};

    fn ledger(conversation: &Conversation) -> Ledger {
        let outline = conversation.outline();
        let protection = Protection::of(conversation.messages(), &outline, &[]);
        let sizes = Sizes { window: 100, used: 100, target: 1 };
        let messages = conversation.messages();
        let window = Window::new(messages, &outline, &protection, &Approximate, sizes);
        Ledger::of(&window, window.all())
    }

    fn words(text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    #[test]
    fn what_was_done_is_told_and_carried() {
        let conversation = notation::conversation(
            "user go
             assistant call:a:write_file
             tool a ok
             assistant call:b
             tool b E0308 in lib.rs
             user next",
        );
        let told = ledger(&conversation).section("", 99, &words);
        assert_eq!(told, "\n\n## Ledger\nchanged: a.txt\nb.txt\nE0308\nlib.rs");
        assert_eq!(
            ledger(&conversation).section("b.txt lib.rs", 5, &words),
            "\n\n## Ledger\nchanged: a.txt\nE0308"
        );
        assert_eq!(ledger(&conversation).section("", 2, &words), "");
        let text = Mark { kind: MarkKind::Summary, count: 3 }.write(&told);
        let summary = Message::new(brute_core::MessageId(0), Role::User, [Part::text(text)]);
        let again = ledger(&Conversation::new([summary]).unwrap()).section("", 99, &words);
        let sorted = |text: &str| {
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&again), sorted(&told));
    }

    #[test]
    fn calls_are_read_by_their_arguments() {
        for (tool, arguments, failed, line) in [
            ("shell", r#"{"command":"cargo test"}"#, false, "ran: cargo test"),
            ("shell", r#"{"command":["bash","-lc","make \"x\""]}"#, true, "failed: make \"x\""),
            ("bash", r#"{"command":"python3 - <<EOF\nprint(1)"}"#, false, "ran: python3 - <<EOF"),
            ("str_replace_editor", r#"{"command":"create","path":"a/b"}"#, false, "changed: a/b"),
            ("Edit", r#"{"file_path":"x.odd"}"#, false, "changed: x.odd"),
            ("Edit", r#"{"file_path":"x.rs"}"#, true, "changed: x.rs"),
            ("read", r#"{"path":"x.rs"}"#, false, "x.rs"),
            ("read", r#"["x.rs"]"#, false, "x.rs"),
        ] {
            let call = brute_core::ToolCall {
                id: "c".into(),
                name: tool.into(),
                arguments: arguments.into(),
            };
            let result = brute_core::ToolResult {
                call: "c".into(),
                text: "so".into(),
                media: Box::default(),
                is_error: failed,
            };
            let messages =
                [(Role::Assistant, Part::ToolCall(call)), (Role::Tool, Part::ToolResult(result))];
            let messages = messages.into_iter().enumerate().map(|(index, (role, part))| {
                Message::new(brute_core::MessageId(index as u64), role, [part])
            });
            let told = ledger(&Conversation::new(messages).unwrap()).section("", 99, &words);
            assert!(told.contains(line), "{tool} {arguments}: {told}");
        }
    }
}
