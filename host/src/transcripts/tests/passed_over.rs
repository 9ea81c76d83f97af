//! What a log holds and no request has a place for is told, with its kind, why, and where.

use super::*;

/// A sound that no request has a place for, as an element of content.
const AUDIO: &str = r#"{"type":"input_audio","input_audio":{"data":"UklG"}}"#;

/// A file, the same.
const FILE: &str = r#"{"type":"document","file":"a.pdf"}"#;

/// What was passed over in `log` of an element that the shared reader of content does not send.
fn passed_over(log: &str, kind: Kind) -> Vec<(String, usize, usize)> {
    let options = Options { kind: Some(kind), ..Options::default() };
    let read = transcript(log.as_bytes(), &options);
    let skipped = read.skipped().iter().filter(|skipped| {
        skipped.why == "no request has a place for it" && !read.request().contains(&skipped.kind)
    });
    let skipped = skipped.map(|skipped| (skipped.kind.clone(), skipped.count, skipped.first_line));
    let mut skipped: Vec<_> = skipped.collect();
    skipped.sort();
    skipped
}

/// A log of each kind whose reader shares the reader of content: what the user said holds a sound, and
/// what a tool answered, or the user said next, a sound and a file.
fn logs() -> Vec<(Kind, String)> {
    let said = format!(r#"[{{"type":"text","text":"go"}},{AUDIO}]"#);
    let seen = format!(r#"[{{"type":"text","text":"seen"}},{AUDIO},{FILE}]"#);
    let lines = |lines: &[String]| lines.join("\n");
    let app = |item: String| {
        format!(r#"{{"message":{{"method":"item/completed","params":{{"item":{item}}}}}}}"#)
    };
    let langchain = |class: &str, more: &str| {
        format!(
            r#"{{"lc":1,"type":"constructor","id":["langchain","schema","messages","{class}"],"kwargs":{{{more}}}}}"#
        )
    };
    vec![
        (
            Kind::Pi,
            lines(&[
                format!(r#"{{"type":"message","message":{{"role":"user","content":{said}}}}}"#),
                r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"f","arguments":{}}]}}"#.to_owned(),
                format!(r#"{{"type":"message","message":{{"role":"toolResult","toolCallId":"1","content":{seen}}}}}"#),
            ]),
        ),
        (
            Kind::CodexAppServer,
            lines(&[
                app(format!(r#"{{"type":"userMessage","id":"1","content":{said}}}"#)),
                app(r#"{"type":"agentMessage","id":"2","text":"ok"}"#.to_owned()),
                app(format!(r#"{{"type":"userMessage","id":"3","content":{seen}}}"#)),
            ]),
        ),
        (
            Kind::OpenhandsSdk,
            lines(&[
                format!(r#"{{"kind":"MessageEvent","id":"1","llm_message":{{"role":"user","content":{said}}}}}"#),
                r#"{"kind":"ActionEvent","id":"2","tool_call_id":"1","tool_name":"f","tool_call":{"arguments":"{}"}}"#.to_owned(),
                format!(r#"{{"kind":"ObservationEvent","id":"3","tool_call_id":"1","observation":{{"content":{seen}}}}}"#),
            ]),
        ),
        (
            Kind::Openhands,
            lines(&[
                format!(r#"{{"id":1,"source":"user","action":"message","args":{{"content":{said}}}}}"#),
                r#"{"id":2,"source":"agent","action":"run","args":{"command":"ls"}}"#.to_owned(),
                format!(r#"{{"id":3,"cause":2,"observation":"run","content":{seen}}}"#),
            ]),
        ),
        (
            Kind::GeminiCli,
            lines(&[
                format!(r#"{{"id":"1","type":"user","content":{said}}}"#),
                format!(r#"{{"id":"2","type":"gemini","content":"","toolCalls":[{{"id":"1","name":"f","args":{{}},"result":{seen}}}]}}"#),
                r#"{"id":"3","type":"user","content":"on"}"#.to_owned(),
            ]),
        ),
        (
            Kind::Cline,
            format!(
                "[{{\"role\":\"user\",\"content\":{said}}},\n{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"input\":{{}}}}]}},\n{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":{seen}}}]}}]"
            ),
        ),
        (
            Kind::InspectEval,
            format!(
                r#"{{"eval":{{}},"samples":[{{"id":1,"epoch":1,"messages":[{{"role":"user","content":{said}}},{{"role":"assistant","content":"","tool_calls":[{{"id":"1","function":"f","arguments":{{}}}}]}},{{"role":"tool","tool_call_id":"1","content":{seen}}}]}}]}}"#
            ),
        ),
        (
            Kind::Atif,
            format!(
                r#"{{"steps":[{{"source":"user","message":{said}}},{{"source":"agent","message":"","tool_calls":[{{"tool_call_id":"1","function_name":"f","arguments":{{}}}}],"observation":{{"results":[{{"source_call_id":"1","content":{seen}}}]}}}}]}}"#
            ),
        ),
        (
            Kind::Langchain,
            format!(
                "[{},{},{}]",
                langchain("HumanMessage", &format!(r#""content":{said}"#)),
                langchain("AIMessage", r#""content":"","tool_calls":[{"id":"1","name":"f","args":{}}]"#),
                langchain("ToolMessage", &format!(r#""tool_call_id":"1","content":{seen}"#)),
            ),
        ),
    ]
}

#[test]
fn parts_of_unknown_kind_are_told_by_every_reader_that_shares_theirs() {
    for (kind, log) in logs() {
        let last = log.lines().position(|line| line.contains("a.pdf")).unwrap() + 1;
        let last = if log.starts_with('[') || log.starts_with("{\"steps") { 1 } else { last };
        let expected = [("document".to_owned(), 1, last), ("input_audio".to_owned(), 2, 1)];
        assert_eq!(passed_over(&log, kind), expected, "{kind}: {log}");
    }
}

/// What an assistant's content may hold beside what is sent.
#[test]
fn what_is_broken_or_unreadable_is_told_and_not_dropped() {
    let read = |block: &str| {
        let user = r#"{"type":"message","message":{"role":"user","content":"go"}}"#;
        let log = format!(
            r#"{{"type":"session","id":"s","cwd":"/"}}
{user}
{{"type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"ok"}},{block}]}}}}"#
        );
        let read = transcript(log.as_bytes(), &Options::default());
        let skipped = read.skipped().iter().filter(|skipped| skipped.first_line == 3);
        (skipped.map(ToString::to_string).collect::<Vec<_>>(), read.request().to_owned())
    };
    for (block, told) in [
        (r#"{"type":"hologram"}"#, "1 × hologram: no request has a place for it"),
        (r#"{"fileData":{"uri":"x"}}"#, "1 × fileData: no request has a place for it"),
        (
            r#"{"inlineData":{"mimeType":"audio/wav","data":"UklG"}}"#,
            "1 × inlineData: no request has a place for it",
        ),
        (r#"{"type":"image_url"}"#, "1 × image_url: it has no image"),
        (r#"{"type":"input_text","text":5}"#, "1 × input_text: it has no text"),
        (r#"{"type":"reasoning","encrypted":"x"}"#, "1 × reasoning: only the provider can read it"),
        ("7", "1 × part: no request has a place for it"),
    ] {
        assert_eq!(read(block).0, [told], "{block}");
    }
    for block in [
        r#"{"type":"refusal","refusal":"I will not."}"#,
        r#"{"type":"redacted_thinking","data":"QUJD"}"#,
    ] {
        let (skipped, request) = read(block);
        assert!(skipped.is_empty(), "{block}: {skipped:?}");
        assert!(request.contains("I will not.") || request.contains(block), "{request}");
    }
    assert_eq!(read(r#"{"type":"text","text":" "}"#).0, Vec::<String>::new(), "nothing is in it");
}

#[test]
fn what_stands_behind_the_conversation_that_was_picked_hides_nothing_of_it() {
    let sample = |id: usize| {
        format!(
            r#"{{"id":{id},"epoch":1,"messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":"","tool_calls":[{{"id":"1","function":"f","arguments":{{}}}}]}},{{"role":"user","content":"on"}}]}}"#
        )
    };
    let log = format!(r#"{{"eval":{{}},"samples":[{},{}]}}"#, sample(1), sample(2));
    for pick in [0, 1] {
        let options = Options { kind: Some(Kind::InspectEval), pick: Some(pick), whole: false };
        let read = transcript(log.as_bytes(), &options);
        let [problem] = read.problems() else { panic!("{pick}: {:?}", read.problems()) };
        assert!(problem.what.contains("the log holds no result for `1`"), "{problem}");
    }
}

#[test]
fn calls_and_files_that_cannot_be_sent_are_told() {
    let message = |class: &str, more: &str| {
        format!(r#"{{"lc":1,"type":"constructor","id":["{class}"],"kwargs":{{{more}}}}}"#)
    };
    let log = format!(
        "[{},{}]",
        message("HumanMessage", r#""content":"go""#),
        message(
            "AIMessage",
            r#""content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}],"tool_calls":[{"id":"1","name":"f","args":{}},{"name":"g"}]"#
        ),
    );
    let read = transcript(log.as_bytes(), &Options::default());
    let told: Vec<String> = read.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "1 × tool_use: it is not among its message's calls",
            "1 × tool_calls: it has no id or no name"
        ]
    );
    let log = r#"{"info":{"id":"ses_1"},"messages":[
        {"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"go"},{"type":"file","mime":"application/pdf","url":"data:application/pdf;base64,QQ=="}]},
        {"info":{"id":"2","role":"assistant"},"parts":[{"type":"tool","callID":"1","tool":"read","state":{"status":"completed","input":{},"output":"x","attachments":[{"mime":"application/pdf","url":"data:application/pdf;base64,QQ=="},{"mime":"image/png","url":"data:image/png;base64,QQ=="}]}}]}]}"#;
    let read = transcript(log.as_bytes(), &Options::default());
    let told: Vec<String> = read.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["2 × file: no request has a place for it"]);
    assert!(read.request().contains("data:image/png") && !read.request().contains("pdf"));
}

#[test]
fn what_is_accepted_names_every_agent_whose_log_is() {
    let error = Document::read("{\"a\":1}", &ReadOptions::default()).unwrap_err().to_string();
    let said = error.to_lowercase();
    for kind in Kind::ALL {
        let agent = kind.name().split('-').next().unwrap();
        assert!(said.contains(agent), "{kind}: {error}");
    }
}

/// What only the provider can read goes back to it, in its own format.
#[test]
fn what_is_encrypted_or_signed_is_carried() {
    let (read, document) = live("codex-rollout.jsonl");
    assert!(read.request().contains("gAAA") && read.request().contains("gBBB"));
    let opaque = document.conversation().messages().iter().flat_map(|message| message.parts());
    assert_eq!(opaque.filter(|part| matches!(part, Part::Opaque(_))).count(), 2);

    let log = [
        r#"{"id":"1","type":"user","content":"go"}"#,
        r#"{"id":"2","type":"gemini","content":[{"text":"ok","thoughtSignature":"c1"},{"text":"so"}],"toolCalls":[{"id":"c","name":"f","args":{},"thoughtSignature":"c2"},{"id":"d","name":"f","args":{},"thoughtSignature":null}]}"#,
        r#"{"id":"3","type":"gemini","content":[{"text":"on"}],"thoughts":[{"subject":"Why","thought_signature":"c3"}],"thoughtSignature":"c4"}"#,
    ];
    let options = Options { kind: Some(Kind::GeminiCli), ..Options::default() };
    let read = transcript(log.join("\n").as_bytes(), &options);
    assert_eq!(read.skipped(), []);
    let request: Value = serde_json::from_str(read.request()).unwrap();
    let parts: Vec<&Value> = request["contents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|of| of["parts"].as_array().unwrap())
        .collect();
    let signed = |key: &str| parts.iter().filter(|part| part[key] != Value::Null).count();
    let signatures: Vec<&str> =
        parts.iter().filter_map(|part| part["thoughtSignature"].as_str()).collect();
    assert_eq!(signatures, ["c1", "c2", "c3", "c4"]);
    assert_eq!((signed("functionCall"), signed("functionResponse")), (2, 2));
    let document = Document::read(read.request(), &ReadOptions::default()).unwrap();
    assert_eq!(document.format(), Format::Gemini);
}

#[test]
fn what_codex_sent_is_sent_again_and_what_is_broken_is_made_whole() {
    let log = |items: &[&str]| {
        let lines =
            items.iter().map(|item| format!(r#"{{"type":"response_item","payload":{item}}}"#));
        lines.collect::<Vec<_>>().join("\n")
    };
    let user = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"},{"type":"input_file","file_id":"f"}]}"#;
    let sound = [
        user,
        r#"{"type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}"#,
        r#"{"type":"local_shell_call","call_id":"1","status":"completed","action":{"type":"exec","command":["ls"]}}"#,
        r#"{"type":"local_shell_call_output","call_id":"1","output":"a"}"#,
        r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"So it is."}]}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}],"phase":"final"}"#,
    ];
    let read = transcript(log(&sound).as_bytes(), &Options::default());
    assert_eq!((read.skipped(), read.problems()), (&[][..], &[][..]));
    for item in sound {
        assert!(read.request().contains(item), "{item}: {}", read.request());
    }
    // Nothing that cannot be read again is written, and all that was said is in it.
    let broken = [
        user,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":5},{"type":"output_text","text":"ok"}]}"#,
        r#"{"type":"function_call","name":"f","arguments":{"a":"given"},"call_id":"1"}"#,
        r#"{"type":"function_call_output","call_id":"1","output":5}"#,
        r#"{"type":"reasoning","summary":[{"text":7}]}"#,
        r#"{"type":"custom_tool_call","name":"g","input":"patch","call_id":"2"}"#,
        r#"{"type":"message","role":"somebody","content":"words"}"#,
    ];
    let read = transcript(log(&broken).as_bytes(), &Options::default());
    let told: Vec<String> = read.skipped().iter().map(ToString::to_string).collect();
    for why in ["1 × output_text: it has no text", "1 × reasoning: its thoughts are no text"] {
        assert!(told.iter().any(|told| told == why), "{told:?}");
    }
    for said in ["\"ok\"", "given", "patch", "words", "custom_tool_call_output"] {
        assert!(read.request().contains(said), "{said}: {}", read.request());
    }
    assert!(Document::read(read.request(), &ReadOptions::default()).is_ok());
}

/// What the provider itself left of all before is what the context begins with from there on.
#[test]
fn a_compaction_that_only_the_provider_can_read_is_carried() {
    let log = [
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"old"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":"done"}}"#,
        r#"{"type":"response_item","payload":{"type":"compaction","encrypted_content":"gAAA"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"new"}}"#,
    ];
    for (lines, messages) in [(&log[..], 2), (&log[..3], 1)] {
        let read = transcript(lines.join("\n").as_bytes(), &Options::default());
        let document = Document::read(read.request(), &ReadOptions::default()).unwrap();
        assert_eq!(document.wire_len(), messages, "{}", read.request());
        assert!(read.request().contains("gAAA") && !read.request().contains("old"));
        assert_eq!(read.compactions()[0].replaced, 2);
    }
    let whole = Options { whole: true, ..Options::default() };
    let read = transcript(log.join("\n").as_bytes(), &whole);
    assert!(read.request().contains("old") && !read.request().contains("gAAA"));
}
