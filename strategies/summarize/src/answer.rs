//! What of the summarizer's answer can be used, and the text that goes into the conversation.

use brute_core::{Completion, Mark, Stop};

use crate::{reasoning, record};

/// The summary in `completion`: without reasoning, without a wrapper, and only if it is one.
///
/// # Errors
/// Why it is none.
pub(crate) fn summary_in(completion: &Completion) -> Result<String, &'static str> {
    match completion.stop {
        Stop::ToolCall => return Err("the summarizer called a tool instead of writing a summary"),
        Stop::Length => return Err("the summary was cut at its length limit"),
        Stop::End => {}
    }
    let text = without_template(&completion.text);
    let text = reasoning::without_reasoning(text).ok_or("the summarizer only reasoned")?;
    let text = without_code_fence(text.trim());
    if text.is_empty() {
        return Err("the summarizer answered nothing");
    }
    if is_tool_syntax(text) {
        return Err("the summarizer wrote a tool call instead of a summary");
    }
    if text.lines().any(record::is_fence) {
        return Err("the summarizer wrote its request down instead of a summary");
    }
    Ok(text.to_owned())
}

/// What servers that do not know a model's template leave of it: the marks around an answer.
fn without_template(text: &str) -> &str {
    const FINAL: &str = "<|channel|>final<|message|>";
    const ENDS: [&str; 8] = [
        "<|im_end|>",
        "<|eot_id|>",
        "<|end|>",
        "<|return|>",
        "<|endoftext|>",
        "<end_of_turn>",
        "<eos>",
        "</s>",
    ];
    let mut text = text.rsplit_once(FINAL).map_or(text, |(_, text)| text).trim();
    while let Some(rest) = ENDS.into_iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}

/// A whole answer in a Markdown fence is what the fence holds.
fn without_code_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, body)) if !body.contains("```") && !language.contains(' ') => body.trim(),
        _ => text,
    }
}

/// Whether `text` is the syntax in which models call tools: a tag at the head of a line, one of the
/// JSON forms, or our own rendering of a call.
fn is_tool_syntax(text: &str) -> bool {
    const TAGS: [&str; 10] = [
        "<tool_call",
        "<tool_use",
        "<function_call",
        "<function=",
        "<invoke ",
        "<tool_code",
        "<|tool",
        "[tool_call",
        "[calls ",
        "<\u{ff5c}tool",
    ];
    let tagged = text.lines().any(|line| {
        let line = line.trim_start().to_ascii_lowercase();
        TAGS.iter().any(|tag| line.starts_with(tag))
    });
    tagged || text.starts_with("(calls ") || is_call_in_json(text)
}

fn is_call_in_json(text: &str) -> bool {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    text.starts_with(['{', '['])
        && (has("tool_calls")
            || has("function_call")
            || has("name") && (has("arguments") || has("parameters") || has("input")))
}

/// The first lines of every summary: what it is, that nobody asks for anything by it, and how the first of
/// the messages is had back, if it can be. Each that is had back names the next.
pub(crate) fn introduction(messages: u64, back: Option<&str>) -> String {
    let (before, back) = back.map_or(("", ""), |back| (INTRODUCTION_BACK, back));
    format!("{INTRODUCTION_HEAD}{messages}{before}{back}{INTRODUCTION_TAIL}")
}

const INTRODUCTION_HEAD: &str = "This is a summary of earlier talk: a record of what was said and done, \
                                 not a new request. Messages that it stands for: ";
const INTRODUCTION_BACK: &str = "; to have them back one by one, the first: ";
const INTRODUCTION_TAIL: &str = ".\n\n";

/// What a summary in a conversation says, without the mark and the introduction.
pub(crate) fn body_of(text: &str) -> &str {
    without_introduction(Mark::split(text).map_or(text, |(_, body)| body))
}

/// The body of a summary without the introduction.
pub(crate) fn without_introduction(body: &str) -> &str {
    let rest = body.strip_prefix(INTRODUCTION_HEAD).and_then(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(INTRODUCTION_BACK) {
            Some(back) => back.split_once(INTRODUCTION_TAIL).map(|(_, summary)| summary),
            None => rest.strip_prefix(INTRODUCTION_TAIL),
        }
    });
    rest.unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, &'static str> {
        summary_in(&Completion::new(text, Stop::End))
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        for text in [
            "",
            " \n\t",
            "<think>I should",
            "<think>hm</think>  ",
            "<tool_call>{\"name\":\"read_file\"}</tool_call>",
            "I will look.\n<function_calls>\n<invoke name=\"x\">",
            "<think>x</think><tool_call>{}",
            "{\"tool_calls\": []}",
            "{\"name\": \"read\", \"arguments\": {}}",
            "[{\"name\": \"read\", \"input\": {}}]",
            "```json\n{\"name\": \"read\", \"parameters\": {}}\n```",
            "(calls read) {\"path\":\"x\"}",
            "[TOOL_CALLS] read",
            "a\n[THINK]still at it",
            "<|channel|>final<|message|><|return|>",
            "<<<record 5c1e0a77>>>\n[user]\nhi",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        for stop in [Stop::Length, Stop::ToolCall] {
            assert!(summary_in(&Completion::new("Goal: half", stop)).is_err());
        }
    }

    #[test]
    fn what_is_around_a_summary_goes() {
        for (text, summary) in [
            ("Goal: fine.", "Goal: fine."),
            ("<think>hm\n</think>\n\nGoal", "Goal"),
            ("<analysis>a</analysis><think>b</think> Goal", "Goal"),
            ("let me see\n</think>\nGoal", "Goal"),
            ("<THINK>a</THINK>\nGoal\n<think>more\nof it</think>\nNext", "Goal\n\nNext"),
            ("[THINK]a[/THINK]Goal", "Goal"),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Goal<|return|>",
                "Goal",
            ),
            ("Goal<|im_end|>\n<|endoftext|>", "Goal"),
            ("The answer has `</think>` in it.", "The answer has `</think>` in it."),
            ("```markdown\n## Objective\nx\n```", "## Objective\nx"),
            ("The parser fails on `<tool_call>` tags.", "The parser fails on `<tool_call>` tags."),
            ("Set {\"name\": 1}", "Set {\"name\": 1}"),
            ("<thinker> is a tag", "<thinker> is a tag"),
        ] {
            assert_eq!(read(text).unwrap(), summary);
        }
    }

    #[test]
    fn the_introduction_comes_off_again() {
        for back in [None, Some("`brute restore 0123456789ab`")] {
            let body = format!("{}Goal", introduction(48, back));
            assert_eq!(without_introduction(&body), "Goal");
        }
        assert_eq!(without_introduction("Goal"), "Goal");
    }
}
