//! Trajectories in the Agent Trajectory Interchange Format, whole or as lines, and the older form that
//! has a step for each call and each result.

use super::{Reader, field, number, owned, records};
use crate::formats::Usage;
use crate::formats::json::{View, quote};
use crate::transcripts::entry::{
    Call, Entry, Part, Speaker, arguments, content_parts, is_blank, one_line, text_part,
};
use crate::transcripts::log::Log;

/// Reads a trajectory.
#[derive(Default)]
pub(super) struct Trajectory {
    /// How many replies there were in the older form, where nothing else tells them apart.
    replies: usize,
}

impl Reader for Trajectory {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        for trajectory in records(value) {
            let steps = trajectory.get("steps");
            if steps.is_some() {
                log.begin(field(trajectory, "session_id").unwrap_or_default());
            }
            match log.is_wanted() {
                true => self.trajectory(trajectory, line, log),
                false => log.records += steps.map_or(0, |steps| steps.items().count()),
            }
        }
    }
}

impl Trajectory {
    fn trajectory(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let [steps, agent, model, prompt] = value.fields(["steps", "agent", "model", "prompt"]);
        let agents = agent.and_then(|agent| field(agent, "model_name"));
        if let Some(model) = agents.or_else(|| steps.and(model).and_then(View::text)) {
            log.model = Some(model.into_owned());
        }
        log.tools(agent.and_then(|agent| agent.get("tool_definitions")), line);
        if let Some(prompt) = steps.and(prompt) {
            log.push(Entry::new(
                Speaker::User,
                text_part(Some(prompt)).into_iter().collect(),
                line,
            ));
        }
        match steps {
            Some(steps) => steps.items().for_each(|step| self.step(step, line, log)),
            None if value.get("step_id").is_some() => self.step(value, line, log),
            None => log.skip("header", "it is told beside the conversation", line),
        }
    }

    fn step(&mut self, step: View<'_>, line: usize, log: &mut Log<'_>) {
        log.records += 1;
        match field(step, "source").as_deref() {
            Some("agent") => agent(step, line, log),
            Some("system") => said(Speaker::System, step, line, log),
            Some("user") => said(Speaker::User, step, line, log),
            Some(other) => log.skip(other, "it is of no source that is sent", line),
            None => self.typed(step, line, log),
        }
    }

    /// A step of the older form.
    fn typed(&mut self, step: View<'_>, line: usize, log: &mut Log<'_>) {
        let kind = field(step, "type").unwrap_or_default();
        let reply = Some(format!("reply {}", self.replies));
        let input = number(step, "tokens_in") + number(step, "tokens_cached");
        let usage = (input > 0).then(|| Usage { input, output: number(step, "tokens_out") });
        let entry =
            |parts| Entry::new(Speaker::Assistant, parts, line).of_reply(reply).with_usage(usage);
        match &*kind {
            "user" => {
                self.replies += 1;
                log.push(Entry::new(Speaker::User, content_parts(step.get("content")), line));
            }
            "assistant" => log.push(entry(content_parts(step.get("content")))),
            "thinking" => match step.get("content").filter(|text| text.is_string()) {
                Some(text) => log.push(entry(vec![Part::Thought {
                    text: text.raw().to_owned(),
                    signature: None,
                }])),
                None => log.skip("thinking", "there is nothing in it", line),
            },
            "tool_call" => {
                let [id, tool, input] = step.fields(["tool_id", "tool", "input"]);
                match (id.and_then(View::string), tool.filter(|tool| tool.is_string())) {
                    (Some(id), Some(tool)) => {
                        let (name, arguments) = (tool.raw().to_owned(), arguments(input));
                        log.push(entry(vec![Part::Call(Call { id, name, arguments })]));
                    }
                    _ => log.skip("tool_call", "it has no id or no name", line),
                }
            }
            "tool_result" => {
                self.replies += 1;
                let [id, success, output] = step.fields(["tool_id", "success", "output"]);
                match id.and_then(View::string) {
                    Some(id) => {
                        let is_error = success.and_then(View::bool) == Some(false);
                        log.push(Entry::result(id, result(output), is_error, line));
                    }
                    None => log.skip("tool_result", "it names no call", line),
                }
            }
            other => log.skip(other, "it is told beside the conversation", line),
        }
    }
}

/// What a result says: text, parts, or any JSON.
fn result(content: Option<View<'_>>) -> Vec<Part> {
    let parts = content_parts(content);
    let is_said = parts.iter().any(|part| !matches!(part, Part::PassedOver { .. }));
    let Some(content) = content.filter(|content| !is_said && !content.is_null()) else {
        return parts;
    };
    if content.is_string() {
        return parts;
    }
    vec![Part::Text(quote(&one_line(content.raw())))]
}

fn results(step: View<'_>) -> impl Iterator<Item = View<'_>> {
    let results = step.get("observation").and_then(|seen| seen.get("results"));
    results.into_iter().flat_map(View::items)
}

/// What somebody says who makes no calls. What was seen without a call stands behind it.
fn said(speaker: Speaker, step: View<'_>, line: usize, log: &mut Log<'_>) {
    let mut parts = content_parts(step.get("message"));
    parts.extend(results(step).flat_map(|seen| result(seen.get("content"))));
    log.push(Entry::new(speaker, parts, line));
}

fn agent(step: View<'_>, line: usize, log: &mut Log<'_>) {
    let [message, reasoning, calls, metrics, model] =
        step.fields(["message", "reasoning_content", "tool_calls", "metrics", "model_name"]);
    if let Some(model) = model.and_then(View::string) {
        log.model = Some(model);
    }
    let mut parts = Vec::new();
    if let Some(text) = reasoning.filter(|text| text.is_string() && !is_blank(text.raw())) {
        parts.push(Part::Thought { text: text.raw().to_owned(), signature: None });
    }
    parts.extend(content_parts(message));
    let mut open = std::collections::VecDeque::new();
    for call in calls.into_iter().flat_map(View::items) {
        let [id, name, given] = call.fields(["tool_call_id", "function_name", "arguments"]);
        match (id.and_then(View::string), name.filter(|name| name.is_string())) {
            (Some(id), Some(name)) => {
                open.push_back(id.clone());
                let (name, arguments) = (name.raw().to_owned(), arguments(given));
                parts.push(Part::Call(Call { id, name, arguments }));
            }
            _ => log.problem(line, "passed over a call without an id or a name"),
        }
    }
    // Those that name their call first, so that the others find the calls that are left.
    let (named, nameless): (Vec<_>, Vec<_>) = results(step)
        .map(|seen| (owned(seen, "source_call_id"), result(seen.get("content"))))
        .partition(|(id, _)| id.is_some());
    let mut answers = Vec::new();
    for (id, content) in named {
        let Some(id) = id else { continue };
        open.retain(|open| *open != id);
        answers.push(Entry::result(id, content, false, line));
    }
    for (_, content) in nameless {
        match open.pop_front() {
            Some(id) => answers.push(Entry::result(id, content, false, line)),
            None => parts.extend(content),
        }
    }
    let usage = metrics.and_then(|metrics| {
        let input = number(metrics, "prompt_tokens");
        (input > 0).then(|| Usage { input, output: number(metrics, "completion_tokens") })
    });
    log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
    answers.into_iter().for_each(|answer| log.push(answer));
}
