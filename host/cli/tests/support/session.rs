//! Drives compaction: a list of messages, and the steps that a case takes with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use brute_core::TokenCounter;
use brute_host::config::{Config, Room};
use brute_host::formats::{Document, Format, ReadOptions, Usage, WriteOptions};
use brute_host::ladder::{
    Budget, Compaction, Compactor, Event, Gauge, Outcome, RungResult, Trigger,
};
use brute_host::tokens::CounterKind;
use serde_json::{Map, Value};

use super::run::{Pass, Run};
use super::settings::{self, Refusal};
use super::summarizer::Fake;
use super::wire::{case_key, items, list_key};

/// A list of messages, and what is remembered from step to step.
pub(crate) struct Session {
    format: Format,
    settings: Value,
    counter: Arc<dyn TokenCounter>,
    repair: bool,
    fake: Option<Arc<Fake>>,
    kind: CounterKind,
    room: Result<(Config, Room), Refusal>,
    trigger: Trigger,
    text: String,
    list: Vec<Value>,
    body: Map<String, Value>,
    /// A compaction that was begun and not waited for: its history, and how it ended.
    begun: Option<(Document, Compaction)>,
    /// What the provider reported, and for which message on the wire.
    usage: Option<(Usage, usize)>,
    runtime: tokio::runtime::Runtime,
    run: Run,
}

/// The format that a case names, if it is supported.
pub(crate) fn format(name: &str) -> Option<Format> {
    match name {
        "responses" => Some(Format::OpenaiResponses),
        name => name.replace('_', "-").parse().ok(),
    }
}

impl Session {
    /// A session that begins with the input of a case.
    pub(crate) fn new(
        input: &Value,
        settings: &Value,
        kind: CounterKind,
        repair: bool,
    ) -> Option<Self> {
        let name = input["format"].as_str()?;
        let settings = &settings::with_open_calls(settings, input, items(&input[case_key(name)]));
        let mut body = Map::new();
        for key in ["system", "tools", "model"] {
            body.extend(input.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        let raw = input["raw_json"].as_str();
        let list = match raw {
            // What no JSON reader takes as it is stays text.
            Some(raw) => serde_json::from_str(raw).unwrap_or_default(),
            None => items(&input[case_key(name)]).to_vec(),
        };
        let counter = brute_host::tokens::counter(kind);
        let fake = Fake::new(settings, Arc::clone(&counter)).map(Arc::new);
        let mut session = Self {
            format: format(name)?,
            settings: settings.clone(),
            counter,
            repair,
            fake,
            kind,
            room: settings::room(settings, kind, None),
            trigger: Trigger::default(),
            text: String::new(),
            list: Vec::new(),
            body,
            begun: None,
            usage: usage(format(name)?, &input["usage"], list.len()),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?,
            run: Run { format: name.into(), settings: settings.clone(), ..Run::default() },
        };
        session.put(list.clone());
        if let Some(raw) = raw {
            session.text = raw.to_owned();
        }
        (session.run.given, session.run.fed) = (list.clone(), list);
        Some(session)
    }

    /// Takes all steps of a case; one compaction if it names none.
    ///
    /// # Errors
    /// If a step is not known.
    pub(crate) fn take(mut self, input: &Value) -> Result<Run, String> {
        match items(&input["sequence"]) {
            [] => self.compact("compact"),
            steps => {
                for step in steps {
                    self.step(step)?;
                }
            }
        }
        if let Some(fake) = &self.fake {
            self.run.requests = fake.requests();
        }
        self.once_more();
        Ok(self.run)
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        match step["do"].as_str().unwrap_or_default() {
            name @ ("compact" | "compact_if_triggered") => self.compact(name),
            "append" => {
                let more = items(&step["messages"]).to_vec();
                self.run.fed.extend(more.clone());
                let before = (self.text.clone(), self.list.clone());
                self.put([self.list.clone(), more].concat());
                self.record("append", before, Pass { has_output: true, ..Pass::default() });
            }
            "check_trigger" => self.check_trigger(),
            "set_model" => {
                let name = step["model"].as_str().unwrap_or_default();
                self.room = settings::room(&self.settings, self.kind, Some(name));
                self.trigger = Trigger::default();
            }
            "compact_async" => self.begin()?,
            "replace_history" => {
                let list = items(&step["messages"]).to_vec();
                self.run.fed = list.clone();
                let before = (self.text.clone(), self.list.clone());
                self.put(list);
                self.usage = None;
                self.record("replace", before, Pass { has_output: true, ..Pass::default() });
            }
            "await_compaction" => self.finish()?,
            other => return Err(format!("unknown step `{other}`")),
        }
        Ok(())
    }

    /// Makes `list` the list of the request.
    fn put(&mut self, list: Vec<Value>) {
        let mut body = self.body.clone();
        body.insert(list_key(self.run.format.as_str()).to_owned(), Value::Array(list.clone()));
        self.text = Value::Object(body).to_string();
        self.list = list;
    }

    /// Makes `text`, which the tool wrote, the text of the request.
    fn take_text(&mut self, text: String) {
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let list = if value.is_array() { &value } else { &value[list_key(&self.run.format)] };
        self.list = items(list).to_vec();
        self.text = text;
    }

    fn record(&mut self, step: &str, before: (String, Vec<Value>), pass: Pass) {
        let body = serde_json::from_str(&self.text).unwrap_or_default();
        self.run.passes.push(Pass {
            step: step.into(),
            before_text: before.0,
            before: before.1,
            text: self.text.clone(),
            list: self.list.clone(),
            body,
            requests: self.fake.as_ref().map_or(0, |fake| fake.requests().len()),
            ..pass
        });
    }

    fn read(&self) -> Result<Document, Box<Pass>> {
        let options =
            ReadOptions { format: Some(self.format), repair: self.repair, ..Default::default() };
        Document::read(self.text.clone(), &options)
            .map_err(|error| failed("error:invalid_input", error.to_string()))
    }

    /// Tokens of the request that are no messages.
    fn overhead(&self, document: &Document) -> u64 {
        document.tools_text().map_or(0, |tools| u64::from(self.counter.count(&tools)))
    }

    /// The size of the request, as the tool measures it: by `budget`, where a report is what it goes by.
    fn size(&self, budget: Option<&Budget>) -> u64 {
        let Ok(document) = self.read() else { return 0 };
        let messages = document.conversation().clone().measure(&*self.counter);
        match budget {
            Some(budget) => budget.request(messages),
            None => messages + self.overhead(&document),
        }
    }

    fn room(&self) -> Result<&(Config, Room), Box<Pass>> {
        self.room.as_ref().map_err(|(status, words)| failed(status, words.clone()))
    }

    fn budget(&self, document: &Document) -> Result<Budget, Box<Pass>> {
        let budget = self.room()?.1.budget.with_overhead(self.overhead(document));
        let Some((usage, at)) = self.usage else { return Ok(budget) };
        let conversation = document.conversation();
        let ids = conversation.messages().iter().map(|message| message.id());
        let last = ids.rev().position(|id| document.wire_index(id) == Some(at));
        let Some(last) = last else { return Ok(budget) };
        let covered = &conversation.messages()[..conversation.len() - last];
        let counted = covered.iter().map(|message| u64::from(message.tokens(&*self.counter))).sum();
        let mut gauge = Gauge::default();
        gauge.observe(usage.total(), counted);
        Ok(gauge.anchor().map_or(budget, |anchor| budget.anchored(anchor)))
    }

    fn compactor(&self, budget: Budget) -> Result<Compactor, Box<Pass>> {
        Ok(ladder(self.room()?, budget, Arc::clone(&self.counter), self.fake.clone()))
    }

    fn compact(&mut self, step: &str) {
        let before = (self.text.clone(), self.list.clone());
        let budget = self.read().and_then(|document| self.budget(&document)).ok();
        let begun = Instant::now();
        let (text, mut pass) = self.compacted();
        self.run.elapsed += begun.elapsed();
        pass.tokens_before = self.size(budget.as_ref());
        if let Some(text) = text {
            self.take_text(text);
        }
        pass.tokens = self.size(budget.as_ref());
        self.record(step, before, pass);
    }

    /// What a compaction makes of the text, and how that went.
    fn compacted(&mut self) -> (Option<String>, Pass) {
        let begun = self.read().and_then(|document| {
            let budget = self.budget(&document)?;
            Ok((self.compactor(budget)?, document))
        });
        let (compactor, document) = match begun {
            Ok(begun) => begun,
            Err(pass) => return (None, *pass),
        };
        let budget = *compactor.budget();
        let mut conversation = document.conversation().clone();
        let large = budget.is_due(&mut conversation, &*self.counter);
        let due = self.trigger.is_due(&budget, &mut conversation, &*self.counter);
        let options = WriteOptions {
            alternate_roles: self.settings["strict_alternation"].as_bool().unwrap_or(false),
        };
        let anchor = self.usage.map(|(usage, _)| usage.total());
        let mut pass = Pass { triggered: Some(due), anchor, has_output: true, ..Pass::default() };
        for repair in document.repairs() {
            pass.statuses = vec!["repaired".into()];
            pass.report.push_str(&format!("repaired: {repair}\n"));
        }
        if !due {
            pass.statuses.push("noop".into());
            if large {
                pass.statuses.push("backing_off".into());
            }
            return (Some(written(&document, &conversation, &options)), pass);
        }
        let told = Arc::new(Mutex::new(Vec::new()));
        let observed = Arc::clone(&told);
        let compactor = compactor.on(move |event| {
            if let Event::Log { rung, message, .. } = event {
                let line = format!("{rung}: {message}");
                observed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let mut compaction = self.runtime.block_on(compactor.compact_now(conversation));
        let fits = compaction.outcome.fits();
        self.trigger.settle(&budget, &mut compaction.conversation, &**compactor.counter(), fits);
        if !compaction.removed.is_empty() {
            // What was reported before describes this conversation no longer.
            self.usage = None;
        }
        let told = told.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        pass.report.push_str(&told);
        describe(&mut pass, &compaction, &document);
        (Some(written(&document, &compaction.conversation, &options)), pass)
    }

    fn check_trigger(&mut self) {
        let before = (self.text.clone(), self.list.clone());
        let checked = self.read().and_then(|document| {
            let budget = self.budget(&document)?;
            let mut conversation = document.conversation().clone();
            let due = self.trigger.is_due(&budget, &mut conversation, &*self.counter);
            Ok(Pass { triggered: Some(due), has_output: true, ..Pass::default() })
        });
        let mut pass = checked.unwrap_or_else(|pass| *pass);
        (pass.tokens_before, pass.tokens) = (self.size(None), self.size(None));
        self.record("check_trigger", before, pass);
    }

    /// Begins a compaction of the history as it is now.
    fn begin(&mut self) -> Result<(), String> {
        let begun = self.read().and_then(|document| {
            let budget = self.budget(&document)?;
            Ok((self.compactor(budget)?, document))
        });
        let (compactor, document) = begun.map_err(|pass| pass.report)?;
        let conversation = document.conversation().clone();
        let compaction = self.runtime.block_on(compactor.compact_now(conversation));
        self.begun = Some((document, compaction));
        Ok(())
    }

    /// Takes the result of the compaction that was begun, if it is still about this history: its
    /// owner compares the conversation that it handed over with the one that it has now.
    fn finish(&mut self) -> Result<(), String> {
        let (document, compaction) =
            self.begun.take().ok_or("there is no compaction to wait for")?;
        let before = (self.text.clone(), self.list.clone());
        let now = self.read().map_err(|pass| pass.report)?;
        let mut pass = Pass { has_output: true, ..Pass::default() };
        if now.conversation() == document.conversation() {
            describe(&mut pass, &compaction, &document);
            let text = written(&document, &compaction.conversation, &WriteOptions::default());
            self.take_text(text);
        } else {
            pass.statuses.push("error:history_changed".into());
        }
        self.record("await_compaction", before, pass);
        Ok(())
    }

    /// Compacts what came out, without the memory of the trigger.
    fn once_more(&mut self) {
        if !self.run.passes.iter().any(|pass| pass.step.contains("compact") && pass.has_output) {
            return;
        }
        let asked = self.fake.as_ref().map_or(0, |fake| fake.requests().len());
        self.trigger = Trigger::default();
        let elapsed = self.run.elapsed;
        self.compact("compact again");
        self.run.elapsed = elapsed;
        self.run.again = self.run.passes.pop().map(Box::new);
        let now = self.fake.as_ref().map_or(0, |fake| fake.requests().len());
        self.run.again_requests = now - asked;
    }
}

/// The ladder that settings give.
pub(crate) fn ladder(
    (config, room): &(Config, Room),
    budget: Budget,
    counter: Arc<dyn TokenCounter>,
    fake: Option<Arc<Fake>>,
) -> Compactor {
    let compactor = Compactor::new(counter, budget).keeping(config.keep.tools.iter().cloned());
    let rungs = room.rungs.iter().cloned();
    let compactor = rungs.fold(compactor, Compactor::rung);
    match fake {
        Some(fake) => compactor.summarizer(fake),
        None => compactor,
    }
}

/// The usage of a reply in a list of `messages`, if there is one. Its place may be counted from the end.
fn usage(format: Format, reported: &Value, messages: usize) -> Option<(Usage, usize)> {
    let at = ["at_message", "at_item"].iter().find_map(|key| reported[*key].as_i64());
    let at = at.unwrap_or(-1);
    let at = if at < 0 { messages as i64 + at } else { at };
    Some((Usage::read(format, reported)?, usize::try_from(at).ok()?))
}

fn failed(status: &str, report: String) -> Box<Pass> {
    Box::new(Pass { statuses: vec![status.into()], report, ..Pass::default() })
}

fn written(
    document: &Document,
    conversation: &brute_core::Conversation,
    options: &WriteOptions,
) -> String {
    String::from_utf8_lossy(&document.write(conversation, options)).into_owned()
}

/// Puts into `pass` what the tool said about a compaction.
fn describe(pass: &mut Pass, compaction: &Compaction, document: &Document) {
    let mut asked_in_vain = false;
    let mut summarized = false;
    for rung in &compaction.rungs {
        if rung.rounds > 0 {
            pass.rungs.push(rung.rung.clone());
            summarized |= rung.rung == "summarize";
        }
        if let RungResult::Failed { reason, summarizer } = &rung.result {
            pass.report.push_str(&format!("\n{} failed: {reason}", rung.rung));
            asked_in_vain |= summarizer;
        }
    }
    let has_summarizer = compaction.rungs.iter().any(|rung| rung.rung == "summarize");
    if asked_in_vain {
        pass.statuses.push("error:summariser".into());
    }
    if has_summarizer && !summarized {
        pass.statuses.push("degraded".into());
    }
    pass.statuses.push(
        match compaction.outcome {
            Outcome::BelowTrigger => "noop",
            Outcome::Fitted => "fitted",
            Outcome::Partial { .. } | Outcome::Nothing { .. } => "cannot_reach_target",
        }
        .into(),
    );
    pass.report.push_str(&format!("\nbefore {}, after {}", compaction.before, compaction.after));
    for blocker in compaction.outcome.blockers() {
        let messages = compaction.conversation.messages();
        let places = blocker.messages.iter().filter_map(|index| messages.get(*index));
        let places = places.filter_map(|message| document.wire_index(message.id())).collect();
        pass.report.push_str(&format!(
            "\nin the way: {} ({} tokens); {}",
            blocker.kind, blocker.tokens, blocker.advice
        ));
        pass.blockers.push((blocker.kind.to_string(), places, blocker.tokens));
    }
}
