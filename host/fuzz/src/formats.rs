//! Requests and conversations in the formats of providers, told by their content or by name.

use brute_core::testing::{TestHost, laws};
use brute_core::{Approximate, Conversation, Part, Role, Strategy};
use brute_host::formats::{Document, Format, ReadError, ReadOptions, WireMessages, WriteOptions};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;

use super::{choice, flat, told};

/// What is read leaves as it came, and what was repaired, converted or compacted is read again as what it is.
pub fn check(bytes: &[u8]) {
    let (choice, input) = choice(bytes);
    let format = choice.checked_sub(1).map(|index| Format::ALL[index % Format::ALL.len()]);
    on_the_wire(input);
    let as_is = read(input, ReadOptions { format, ..ReadOptions::default() });
    let mended = read(input, ReadOptions { format, repair: true, ..ReadOptions::default() });
    if let Some((mended, options)) = &mended {
        mended_for_good(mended, options);
    }
    for (document, options) in as_is.into_iter().chain(mended) {
        let written = document.write(document.conversation(), &WriteOptions::default());
        if document.repairs().is_empty() {
            assert!(*written == *input, "untouched came back as {}", shown(&written));
        }
        read_again(&written, document.conversation(), &document, &options);
        facts(&document, input);
        converted(&document);
        compacted(&document, &options);
    }
}

/// Reads the input, or its first conversation.
fn read(input: &[u8], options: ReadOptions) -> Option<(Document, ReadOptions)> {
    let first = ReadOptions { pick: Some(0), ..options };
    match Document::read(input, &options) {
        Ok(document) => Some((document, options)),
        Err(error @ ReadError::Several { .. }) => {
            told(&error);
            Document::read(input, &first).ok().map(|document| (document, first))
        }
        Err(error) => {
            told(&error);
            None
        }
    }
}

/// What was mended is read with repair on again, and then needs no more of it. Where blocks that nobody knows stand
/// between results that are moved, it takes that second time to join what came beside each other.
fn mended_for_good(document: &Document, options: &ReadOptions) {
    let options = ReadOptions { format: Some(document.format()), ..*options };
    let again = |document: &Document| {
        let written = document.write(document.conversation(), &WriteOptions::default());
        match Document::read(&*written, &options) {
            Ok(again) => again,
            Err(error) => panic!("{error}: {}", shown(&written)),
        }
    };
    let repairs = again(&again(document)).repairs().to_vec();
    assert!(repairs.is_empty(), "{repairs:?}, ever again");
}

/// Messages stand in the input, one behind the other.
fn on_the_wire(input: &[u8]) {
    let Ok(wires) = WireMessages::read(input, None) else { return };
    let mut end = 0;
    for index in 0..wires.len() {
        let span = wires.span(index);
        assert!(end <= span.start && span.start < span.end, "message {index} is at {span:?}");
        end = span.end;
        assert_eq!(wires.fingerprint(index), wires.fingerprint(index));
    }
    wires.marks();
    assert_eq!(wires.into_text().as_bytes(), input);
}

/// `written` holds `conversation`, valid as it is, and is written as it is.
fn read_again(
    written: &[u8],
    conversation: &Conversation,
    document: &Document,
    options: &ReadOptions,
) {
    let format = Some(document.format());
    let options = ReadOptions { format, repair: false, ..*options };
    let again = match Document::read(written, &options) {
        Ok(again) => again,
        Err(error) => panic!("{error}: {}", shown(written)),
    };
    if document.repairs().is_empty() {
        assert_eq!(flat(again.conversation()), flat(conversation), "in {}", shown(written));
    } else {
        assert_eq!(said(again.conversation()), said(conversation), "in {}", shown(written));
    }
    let twice = again.write(again.conversation(), &WriteOptions::default());
    assert!(*twice == *written, "{} became {}", shown(written), shown(&twice));
}

/// What is said, asked and answered, without what is shown: an image behind a result that was made up belongs to that.
fn said(conversation: &Conversation) -> Vec<(Role, Box<str>)> {
    let words = |(role, part)| match part {
        Part::Text(text) => Some((role, text)),
        Part::ToolCall(call) => Some((role, format!("{call:?}").into())),
        Part::ToolResult(result) => Some((role, result.call)),
        _ => None,
    };
    flat(conversation).into_iter().filter_map(words).collect()
}

/// What is told beside the conversation fits it.
fn facts(document: &Document, input: &[u8]) {
    let messages = document.conversation().messages();
    for message in messages {
        let wire = document.wire_index(message.id());
        assert!(wire.is_none_or(|wire| wire < document.wire_len()));
        // What a repair made up stands nowhere.
        let is_there = document.pointer(message.id()).is_some() || !document.repairs().is_empty();
        assert!(is_there, "{:?} stands nowhere", message.id());
    }
    for (messages_before, _) in document.reports() {
        assert!(messages_before <= messages.len());
    }
    if document.repairs().is_empty() {
        assert!(document.wire_bytes() <= input.len() as u64);
    }
    let _ = (document.model(), document.tools_text(), document.reply_limit(), document.on_wire());
}

/// Each format gets a conversation that is valid in it, with the same calls and results.
pub fn converted(document: &Document) {
    for format in Format::ALL {
        let rendered = document.convert(format);
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        if format != document.format()
            && let Err(error) = Document::read(rendered.json.as_str(), &options)
        {
            panic!("in {format}, {error}: {}", rendered.json);
        }
        for note in &rendered.notes {
            told(note);
        }
    }
}

/// What a layer makes of it is written as what it is.
fn compacted(document: &Document, options: &ReadOptions) {
    let layers: [Box<dyn Strategy>; 2] =
        [Box::new(ToolResults::default()), Box::new(SlidingWindow::default())];
    let whole = document.conversation().clone().measure(&Approximate);
    for layer in layers {
        for target in [0, whole / 2] {
            let host = TestHost::new();
            match laws::check_strategy(&*layer, &host, document.conversation(), target) {
                Ok(after) => {
                    let written = document.write(&after, &WriteOptions::default());
                    read_again(&written, &after, document, options);
                    let alternating = WriteOptions { alternate_roles: true };
                    document.write(&after, &alternating);
                }
                Err(law) => panic!("{law}"),
            }
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
