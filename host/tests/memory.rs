//! What reading takes: at most four times the bytes of an input whose messages are not tiny, whatever else is in it.
//!
//! Memory is that of a process, so each input is read in one of its own, this test again, that says its peak. The
//! bytes of an input come as they are read, and are not in the figure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that fails says so")]
#![expect(clippy::print_stdout, reason = "the process that reads says its peak that way")]

use std::io::Read;
use std::process::Command;

use brute_host::formats::{Document, ReadOptions};
use brute_host::transcripts::{self, Input, Kind, Options};

/// Reading takes no more than so many times the bytes that are read.
const MOST: f64 = 4.0;

/// So many bytes a message may take whatever it says, since it has a place of its own in memory, and its text another:
/// where its records have fewer than a quarter of that, it takes more than four times those.
const PLACE: f64 = 640.0;

/// What a process takes for itself.
const SLACK: f64 = 8e6;

/// Names the input that a process is to read.
const ASKED: &str = "BRUTE_READ";

/// An input of many records, which take turns.
struct Shape {
    name: &'static str,
    head: &'static str,
    /// `{n}` is the number of a record, `{b}` that of the one before.
    records: [&'static str; 2],
    between: &'static str,
    tail: &'static str,
    /// So many times.
    count: u64,
}

/// Messages that three formats have alike, as short as can be.
const CHAT: [&str; 2] =
    [r#"{"role":"user","content":"m{n}"}"#, r#"{"role":"assistant","content":"m{n}"}"#];

/// Of each kind that there is, its records as short as its program would write them.
const SHAPES: [Shape; 23] = [
    Shape {
        name: "openai-chat",
        head: "",
        records: [
            r#"{"role":"user","content":"m{n} 0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}"#,
            r#"{"role":"assistant","content":"m{n} 0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "openai-chat, short",
        head: "",
        records: CHAT,
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "openai-responses, short",
        head: r#"{"model":"gpt-5","input":["#,
        records: CHAT,
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "anthropic, short",
        head: r#"{"model":"claude-sonnet-4-5","max_tokens":1,"messages":["#,
        records: CHAT,
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "gemini, short",
        head: r#"{"contents":["#,
        records: [
            r#"{"role":"user","parts":[{"text":"m{n}"}]}"#,
            r#"{"role":"model","parts":[{"text":"m{n}"}]}"#,
        ],
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "claude-code",
        head: "",
        records: [
            r#"{"parentUuid":"u{b}","isSidechain":false,"cwd":"/w","sessionId":"s","version":"1.0","type":"user","message":{"role":"user","content":"m{n}"},"uuid":"u{n}","timestamp":"2025-01-01T00:00:00Z"}"#,
            r#"{"parentUuid":"u{b}","isSidechain":false,"cwd":"/w","sessionId":"s","version":"1.0","type":"assistant","message":{"id":"r{n}","role":"assistant","content":[{"type":"text","text":"m{n}"}],"usage":{"input_tokens":1,"output_tokens":1}},"uuid":"u{n}","timestamp":"2025-01-01T00:00:00Z"}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "claude-stream-json",
        head: "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"claude-opus-4-5\",\"tools\":[]}\n",
        records: [
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"m{n}"}]},"parent_tool_use_id":null,"session_id":"s"}"#,
            r#"{"type":"assistant","message":{"id":"r{n}","type":"message","role":"assistant","content":[{"type":"text","text":"m{n}"}]},"parent_tool_use_id":null,"session_id":"s"}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "codex-rollout",
        head: "{\"timestamp\":\"2025-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"cwd\":\"/w\",\"originator\":\"cli\",\"cli_version\":\"0.58.0\"}}\n",
        records: [
            r#"{"timestamp":"2025-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"m{n}"}]}}"#,
            r#"{"timestamp":"2025-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"m{n}"}]}}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "codex-app-server",
        head: "",
        records: [
            r#"{"workspace_id":"w","message":{"method":"item/completed","params":{"item":{"type":"userMessage","id":"u{n}","content":[{"type":"text","text":"m{n}"}]}}}}"#,
            r#"{"workspace_id":"w","message":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"u{n}","text":"m{n}"}}}}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "pi",
        head: "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"cwd\":\"/w\"}\n",
        records: [
            r#"{"type":"message","id":"u{n}","parentId":"u{b}","timestamp":"2025-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"text","text":"m{n}"}]}}"#,
            r#"{"type":"message","id":"u{n}","parentId":"u{b}","timestamp":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"text","text":"m{n}"}],"usage":{"input":1,"output":1}}}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "opencode",
        head: r#"{"info":{"id":"ses_1","title":"t"},"messages":["#,
        records: [
            r#"{"info":{"id":"msg_{n}","role":"user","sessionID":"ses_1","time":{"created":1}},"parts":[{"id":"prt_{n}","type":"text","messageID":"msg_{n}","sessionID":"ses_1","text":"m{n}"}]}"#,
            r#"{"info":{"id":"msg_{n}","role":"assistant","sessionID":"ses_1","modelID":"gpt-5","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[{"id":"prt_{n}","type":"text","messageID":"msg_{n}","sessionID":"ses_1","text":"m{n}"}]}"#,
        ],
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "openhands",
        head: "[",
        records: [
            r#"{"id":{n},"timestamp":"2025-01-01T00:00:00","source":"user","message":"m{n}","action":"message","args":{"content":"m{n}","image_urls":[],"wait_for_response":false}}"#,
            r#"{"id":{n},"timestamp":"2025-01-01T00:00:00","source":"agent","message":"m{n}","action":"message","args":{"content":"m{n}","image_urls":[],"wait_for_response":true}}"#,
        ],
        between: ",",
        tail: "]",
        count: 100_000,
    },
    Shape {
        name: "openhands-sdk",
        head: "[",
        records: [
            r#"{"id":"{n}","timestamp":"2025-01-01T00:00:00","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"m{n}"}]}}"#,
            r#"{"id":"{n}","timestamp":"2025-01-01T00:00:00","source":"agent","kind":"MessageEvent","llm_message":{"role":"assistant","content":[{"type":"text","text":"m{n}"}]}}"#,
        ],
        between: ",",
        tail: "]",
        count: 100_000,
    },
    Shape {
        name: "gemini-cli",
        head: r#"{"sessionId":"s","projectHash":"p","startTime":"t","lastUpdated":"t","messages":["#,
        records: [
            r#"{"id":"{n}","timestamp":"2025-01-01T00:00:00.000Z","type":"user","content":[{"text":"m{n}"}]}"#,
            r#"{"id":"{n}","timestamp":"2025-01-01T00:00:00.000Z","type":"gemini","content":"m{n}","thoughts":[],"tokens":{"input":1,"output":1,"cached":0,"thoughts":0,"tool":0,"total":2},"model":"gemini-2.5-pro"}"#,
        ],
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "cline",
        head: r#"[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"text","text":"[read_file for 'a'] Result:"},{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"so"}]},"#,
        records: [
            r#"{"role":"user","content":[{"type":"text","text":"<task>m{n}</task>"},{"type":"text","text":"<environment_details>linux</environment_details>"}],"ts":1}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"m{n}"}],"modelInfo":{"modelId":"m","providerId":"p","mode":"act"},"ts":1}"#,
        ],
        between: ",",
        tail: "]",
        count: 100_000,
    },
    Shape {
        name: "inspect-eval",
        head: r#"{"version":2,"status":"success","eval":{"model":"openai/gpt-4o-mini","task":"t"},"plan":{},"samples":[{"id":"q1","epoch":1,"input":"One?","messages":["#,
        records: [
            r#"{"id":"AAAAAAAAAAAAAAAAAAAA{n}","content":"m{n}","source":"input","role":"user"}"#,
            r#"{"id":"AAAAAAAAAAAAAAAAAAAA{n}","content":"m{n}","source":"generate","role":"assistant","model":"gpt-4o-mini"}"#,
        ],
        between: ",",
        tail: r#"],"target":"x","scores":{}}]}"#,
        count: 100_000,
    },
    Shape {
        name: "langchain",
        head: "[",
        records: [
            r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"m{n}","type":"human"}}"#,
            r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"m{n}","type":"ai","id":"r{n}","tool_calls":[]}}"#,
        ],
        between: ",",
        tail: "]",
        count: 100_000,
    },
    Shape {
        name: "atif",
        head: r#"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1","model_name":"gpt-4o"},"steps":["#,
        records: [
            r#"{"step_id":{n},"timestamp":"2025-01-01T00:00:00Z","source":"user","message":"m{n}"}"#,
            r#"{"step_id":{n},"timestamp":"2025-01-01T00:00:00Z","source":"agent","message":"m{n}","metrics":{"prompt_tokens":1,"completion_tokens":1,"cached_tokens":0}}"#,
        ],
        between: ",",
        tail: "]}",
        count: 100_000,
    },
    Shape {
        name: "brute-session",
        head: "{\"format\":\"brute session log\",\"version\":1}\n",
        records: [
            r#"{"record":"message","id":{n},"role":"user","parts":[{"text":"m{n} 000000000000000000000000000000000000000000"}]}"#,
            r#"{"record":"message","id":{n},"role":"assistant","parts":[{"text":"m{n} 0000000000000000000000000000000000000000000"}]}"#,
        ],
        between: "\n",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "aider",
        head: "\n# aider chat started at 2025-01-01 10:00:00\n\n",
        records: [
            "#### m{n}: rename the function, and its callers too, please; then run all of the tests\n\n",
            "m{n}: I will rename it.\n\n```python\ndef renamed():\n    pass\n```\n\n> Applied edit to a.py\n\n",
        ],
        between: "",
        tail: "",
        count: 100_000,
    },
    Shape {
        name: "one line",
        head: r#"{"messages":[{"role":"user","content":""#,
        records: [r"one two three four five six seven\n", "eight nine ten eleven twelve 13"],
        between: "",
        tail: r#""}]}"#,
        count: 1_000_000,
    },
    Shape {
        name: "nested deeply",
        head: r#"[{"role":"user","content":"go"},{"role":"assistant","content":"so","x":[["#,
        records: ["[[[[[[[[", "[[[[[[[["],
        between: "",
        tail: "",
        count: 1_000_000,
    },
    Shape {
        name: "no record at all",
        head: "",
        records: ["{}", "{}"],
        between: "\n",
        tail: "",
        count: 1_000_000,
    },
];

/// The bytes of an input, made when they are asked for.
struct Bytes<'a> {
    shape: &'a Shape,
    next: u64,
    held: Vec<u8>,
    taken: usize,
    given: u64,
}

impl<'a> Bytes<'a> {
    fn of(shape: &'a Shape) -> Self {
        Self { shape, next: 0, held: shape.head.as_bytes().to_vec(), taken: 0, given: 0 }
    }

    fn refill(&mut self) {
        let Shape { records, between, tail, count, .. } = self.shape;
        self.held.clear();
        self.taken = 0;
        if self.next < *count {
            let number = self.next.to_string();
            // The first record of a tree has no parent that is there.
            let before = self.next.wrapping_sub(1).to_string();
            let record = records[(self.next % 2) as usize];
            self.next += 1;
            self.held.extend(record.replace("{n}", &number).replace("{b}", &before).bytes());
            self.held.extend(if self.next < *count { *between } else { *tail }.bytes());
        }
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.held.len() && self.next < self.shape.count {
            self.refill();
        }
        let count = (&self.held[self.taken..]).read(buffer)?;
        self.taken += count;
        self.given += count as u64;
        Ok(count)
    }
}

/// A figure of this process, in bytes: `VmHWM` is the most that it ever had, `VmRSS` what it has.
fn memory(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    let kilobytes: u64 = line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().unwrap();
    kilobytes * 1024
}

/// Reads what the environment names, and says its bytes, the most that reading took, its messages and its kind.
fn read(shape: &Shape) {
    let before = memory("VmRSS");
    let mut bytes = Bytes::of(shape);
    let found = transcripts::read(&mut bytes, &Options::default());
    let (input, options, kind) = match found {
        Ok(Input::Other(bytes)) => (bytes, ReadOptions::default(), None),
        Ok(Input::Transcript(mut log)) => {
            let options = ReadOptions { format: Some(log.format()), ..ReadOptions::default() };
            (log.take_request().into_bytes(), options, Some(log.kind()))
        }
        Err(error) => {
            println!("{} {} 0 {error}", bytes.given, memory("VmHWM").saturating_sub(before));
            return;
        }
    };
    let document = Document::read(input, &options);
    let most = memory("VmHWM").saturating_sub(before);
    let messages = document.as_ref().map_or(0, |document| document.conversation().len());
    let kind = kind.map_or("no log", Kind::name);
    println!("{} {most} {messages} {kind}", bytes.given);
}

/// The same in a process of its own, this test: what it printed.
fn read_apart(shape: &Shape) -> (f64, f64, u64, String) {
    let this = std::env::current_exe().unwrap();
    let test = "reading_takes_four_times_the_bytes_at_most";
    let output = Command::new(this)
        // With one thread, the harness begins the line that is to be read.
        .args(["--exact", test, "--nocapture", "--test-threads=2"])
        .env(ASKED, shape.name)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", shape.name, String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    let mut words = line.splitn(4, ' ');
    let mut figure = || words.next().unwrap().parse::<u64>().unwrap();
    let (bytes, most, messages) = (figure(), figure(), figure());
    (bytes as f64, most as f64, messages, words.next().unwrap().to_owned())
}

#[test]
fn reading_takes_four_times_the_bytes_at_most() {
    if let Ok(asked) = std::env::var(ASKED) {
        read(SHAPES.iter().find(|shape| shape.name == asked).unwrap());
        return;
    }
    let mut over = Vec::new();
    for shape in &SHAPES {
        let (bytes, most, messages, kind) = read_apart(shape);
        let expected = match shape.name {
            "nested deeply" | "no record at all" => 0,
            "one line" => 1,
            _ => shape.count,
        };
        assert!(messages >= expected, "{}: {messages} messages, {kind}", shape.name);
        assert_eq!(kind, shape.name.parse().map_or("no log", Kind::name), "{}", shape.name);
        let (times, each) = (most / bytes, bytes / messages.max(1) as f64);
        println!(
            "{}: {kind}, {messages} messages of {each:.0} bytes, {times:.2} times",
            shape.name
        );
        let is_over = most > (MOST * bytes).max(PLACE * messages as f64) + SLACK;
        if is_over {
            over.push(shape.name);
        }
    }
    assert!(over.is_empty(), "{over:?} take more than they should");
}
