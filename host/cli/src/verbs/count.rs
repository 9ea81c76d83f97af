//! `brute count`: how large a conversation is, by turn, role and tool.

mod log;

use std::collections::BTreeMap;

use brute_core::{Message, Part, Place};
use brute_host::formats::Document;
use brute_host::shown::shown;
use serde::Serialize;

use self::log::Log;
use crate::args::{By, Count, Global};
use crate::exit::{Done, Exit};
use crate::style::{self, DIM, HEAD, bytes, counted, excerpt, number, share, styled};
use crate::{output, session, setup};

/// Columns of a request that JSON gives; the table gives as many as there are.
const EXCERPT: usize = 56;

/// Nobody has a terminal that is wider.
const WIDEST: usize = 1_000;

/// Of more turns than these, the table has the largest.
const MOST_TURNS: usize = 200;

pub(crate) fn run(global: &Global, args: &Count) -> Done {
    let config = setup::over(setup::load(global, true)?, &args.room);
    let session = session::read(global, &config, &args.session)?;
    let document = &session.document;
    if !global.quiet {
        session.say_repairs();
    }
    let sizing = setup::counting(&config, document);
    let sums = Sums::of(document, &sizing);
    let log = session.transcript.as_ref().map(|log| Log::of(log, args.session.whole));
    if args.json {
        output::json(&Counted { sums, log })?;
        return Ok(Exit::Fitted);
    }
    output::text(&sums.text(&session::name(&args.session.file), args.by, log.as_ref()))?;
    Ok(Exit::Fitted)
}

/// What is said for programs.
#[derive(Serialize)]
struct Counted<'a> {
    #[serde(flatten)]
    sums: Sums,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Log<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Sums {
    format: String,
    carrier: &'static str,
    model: Option<String>,
    counter: String,
    window: Option<u64>,
    messages: usize,
    /// The whole request: all messages, and what of it is no messages.
    tokens: u64,
    /// Tool schemas and framing: what is in `tokens` and is no messages.
    overhead: u64,
    /// The whole request on the wire.
    bytes: u64,
    /// The most that the provider takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    turns: Vec<Turn>,
    roles: BTreeMap<String, Sum>,
    tools: BTreeMap<String, Tool>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Turn {
    request: String,
    /// The same, longer: of what is in the table alone.
    #[serde(skip)]
    words: Option<String>,
    messages: usize,
    steps: usize,
    tokens: u64,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Sum {
    messages: usize,
    tokens: u64,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Tool {
    calls: usize,
    call_tokens: u64,
    result_tokens: u64,
}

impl Sums {
    fn of(document: &Document, sizing: &setup::Counting) -> Self {
        let counter = &*sizing.counter;
        let conversation = document.conversation();
        let outline = conversation.outline();
        let messages = conversation.messages();
        let tokens = |message: &Message| u64::from(message.tokens(counter));
        let request = |user: Option<usize>, most| match user {
            Some(user) => request(&messages[user], most),
            None => "(before the first request)".to_owned(),
        };
        let turns = outline.turns.iter().map(|turn| Turn {
            request: request(turn.user, EXCERPT),
            words: None,
            messages: turn.span.len(),
            steps: turn.steps.len(),
            tokens: messages[turn.span.clone()].iter().map(|message| tokens(message)).sum(),
        });
        let mut turns: Vec<Turn> = turns.collect();
        let mut largest: Vec<usize> = (0..turns.len()).collect();
        largest.sort_by_key(|turn| std::cmp::Reverse(turns[*turn].tokens));
        for turn in largest.into_iter().take(MOST_TURNS) {
            turns[turn].words = Some(request(outline.turns[turn].user, WIDEST));
        }
        let mut roles: BTreeMap<String, Sum> = BTreeMap::new();
        let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
        for (index, message) in messages.iter().enumerate() {
            let sum = roles.entry(message.role().to_string()).or_default();
            sum.messages += 1;
            sum.tokens += tokens(message);
            for (part, call) in message.calls() {
                let tool = tools.entry(call.name.to_string()).or_default();
                tool.calls += 1;
                tool.call_tokens += u64::from(message.part_tokens(part, counter));
                let result = outline.result_of(Place { message: index, part });
                tool.result_tokens += result.map_or(0, |result| tokens(&messages[result.message]));
            }
        }
        Self {
            format: document.format().to_string(),
            carrier: document.carrier(),
            model: sizing.model.clone(),
            counter: counter.id().to_owned(),
            window: sizing.window,
            messages: document.wire_len(),
            tokens: roles.values().map(|sum| sum.tokens).sum::<u64>() + sizing.overhead,
            overhead: sizing.overhead,
            bytes: document.wire_bytes(),
            max_bytes: sizing.max_bytes,
            turns,
            roles,
            tools,
        }
    }

    fn text(&self, name: &str, by: By, log: Option<&Log<'_>>) -> String {
        let whole = self.tokens;
        let model = self.model.as_ref().map_or_else(String::new, |model| format!(" for {model}"));
        let messages = counted(self.messages as u64, "message");
        let head = format!("{}: {messages}, {} tokens", name, number(whole));
        let format =
            format!("{} ({}), counted by {}{model}", self.format, self.carrier, self.counter);
        let format = style::wrapped(&format, 0);
        let mut text = format!("{}\n{}\n", styled(HEAD, &head), styled(DIM, &format));
        if let Some(window) = self.window {
            let share = share(whole, window);
            let line = format!("{share} of a window of {}", number(window));
            text.push_str(&format!("{}\n", styled(DIM, &line)));
        }
        if let Some(most) = self.max_bytes {
            let share = share(self.bytes, most);
            let line = format!("{share} of {} on the wire: {}", bytes(most), bytes(self.bytes));
            text.push_str(&format!("{}\n", styled(DIM, &line)));
        }
        if let Some(log) = log {
            text.push_str(&log.text());
        }
        if matches!(by, By::All | By::Role) {
            let mut rows: Vec<Vec<String>> = Vec::new();
            for (role, sum) in &self.roles {
                let messages = number(sum.messages as u64);
                let share = share(sum.tokens, whole);
                rows.push(vec![role.clone(), messages, number(sum.tokens), share]);
            }
            if self.overhead > 0 {
                let share = share(self.overhead, whole);
                let name = "tool schemas, framing".to_owned();
                rows.push(vec![name, String::new(), number(self.overhead), share]);
            }
            let header = ["role", "messages", "tokens", "share"];
            let table = style::table(&header, &rows, 1, 1..4, style::columns());
            text.push_str(&format!("\n{table}\n"));
        }
        if matches!(by, By::All | By::Tool) && !self.tools.is_empty() {
            let header = ["tool", "calls", "in calls", "in results", "share"];
            let mut rows: Vec<Vec<String>> = Vec::new();
            let mut tools: Vec<_> = self.tools.iter().collect();
            tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.call_tokens + tool.result_tokens));
            for (name, tool) in tools {
                rows.push(vec![
                    shown(name),
                    number(tool.calls as u64),
                    number(tool.call_tokens),
                    number(tool.result_tokens),
                    share(tool.call_tokens + tool.result_tokens, whole),
                ]);
            }
            let table = style::table(&header, &rows, 1, 1..5, style::columns());
            text.push_str(&format!("\n{table}\n"));
        }
        if matches!(by, By::All | By::Turn) {
            // What the figures and three blanks leave of the line is for the request.
            let figures = self.turns(0);
            let taken = figures.lines().map(style::width).max().unwrap_or(0) + 3;
            let left = style::columns().saturating_sub(taken);
            text.push_str(&format!("\n{}\n", self.turns(left)));
            let others = self.turns.iter().filter(|turn| turn.words.is_none());
            let (turns, tokens) =
                others.fold((0, 0), |(turns, tokens), turn| (turns + 1, tokens + turn.tokens));
            if turns > 0 {
                let (turns, tokens) = (counted(turns, "smaller turn"), number(tokens));
                let line = format!("and {turns} of {tokens} tokens together (all with --json)");
                text.push_str(&format!("{}\n", styled(DIM, &line)));
            }
        }
        text
    }

    /// The table of the largest turns, in order; of their requests, so many columns.
    fn turns(&self, words: usize) -> String {
        let header = ["turn", "messages", "steps", "tokens", "share", "request"];
        let header = if words == 0 { &header[..5] } else { &header[..] };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (index, turn) in self.turns.iter().enumerate() {
            let Some(request) = &turn.words else { continue };
            let mut row = vec![
                (index + 1).to_string(),
                number(turn.messages as u64),
                number(turn.steps as u64),
                number(turn.tokens),
                share(turn.tokens, self.tokens),
            ];
            if words > 0 {
                row.push(excerpt(request, words));
            }
            rows.push(row);
        }
        style::table(header, &rows, 1, 0..5, style::columns())
    }
}

fn request(message: &Message, most: usize) -> String {
    let words = message.parts().iter().find_map(|part| match part {
        Part::Text(text) => Some(excerpt(text, most)),
        _ => None,
    });
    words.unwrap_or_else(|| "(no text)".to_owned())
}
