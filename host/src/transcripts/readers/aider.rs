//! The chat history of aider, Markdown: what a person said begins with `####`, what aider itself said
//! with `>`, and the rest is the model's. Each start of aider is a conversation.

use super::Reader;
use crate::formats::json::{View, quote};
use crate::transcripts::entry::{Entry, Speaker};
use crate::transcripts::log::Log;

/// How each conversation begins.
const STARTED: &str = "# aider chat started at ";

/// Commands that bring words to the model.
const ASKING: [&str; 4] = ["/ask", "/code", "/architect", "/chat-mode"];

/// Reads a history, whose records are its lines.
pub(in crate::transcripts) fn read(text: &str, log: &mut Log<'_>) {
    let mut chat = Chat { speaker: None, text: String::new(), line: 1 };
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        log.records = number;
        if let Some(date) = line.strip_prefix(STARTED) {
            chat.end(log);
            log.begin(date.trim());
        } else if let Some(words) =
            line.strip_prefix("####").filter(|words| words.is_empty() || words.starts_with(' '))
        {
            chat.say(Speaker::User, words.trim_start(), number, log);
        } else if line.starts_with('>') {
            chat.end(log);
            log.skip("line of aider's own", "it is told to the user, not to the model", number);
        } else if line.trim().is_empty() && chat.speaker != Some(Speaker::Assistant) {
            // Each line of what a person says has its mark, an empty one too.
            chat.end(log);
        } else {
            chat.say(Speaker::Assistant, line, number, log);
        }
    }
    chat.end(log);
}

/// What is being said.
struct Chat {
    speaker: Option<Speaker>,
    text: String,
    line: usize,
}

impl Chat {
    fn say(&mut self, speaker: Speaker, words: &str, line: usize, log: &mut Log<'_>) {
        if self.speaker != Some(speaker) {
            self.end(log);
            (self.speaker, self.line) = (Some(speaker), line);
        }
        self.text.push_str(words.trim_end());
        self.text.push('\n');
    }

    fn end(&mut self, log: &mut Log<'_>) {
        let text = std::mem::take(&mut self.text);
        let Some(speaker) = self.speaker.take() else { return };
        let text = text.trim_end();
        let command = text.split_whitespace().next().filter(|word| word.starts_with('/'));
        if speaker == Speaker::User && command.is_some_and(|command| !ASKING.contains(&command)) {
            log.skip("command", "it is for aider, not for the model", self.line);
            return;
        }
        if speaker == Speaker::Assistant && log.entries.is_empty() {
            log.skip("text", "it stands before all that was asked", self.line);
            return;
        }
        log.push(Entry::text(speaker, quote(text), self.line));
    }
}

/// Of a kind whose records are no JSON.
pub(super) struct NoValues;

impl Reader for NoValues {
    fn value(&mut self, _value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.skip("value", "it is no line of Markdown", line);
    }
}
