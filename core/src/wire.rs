//! How many bytes messages take on the wire, as near as can be told without a provider's format.
//!
//! Texts and media are as they are; what stands around them differs from provider to provider and is small beside
//! them, so one figure does for all.

use crate::{Media, Message, Part};

/// What surrounds the parts of a message: braces, the role, a comma.
const AROUND_MESSAGE: u64 = 32;

/// What surrounds the text of a part: braces, its type, the name of the text's field.
const AROUND_PART: u64 = 32;

/// The most bytes that a medium counts, more than any request may have: so sums of them never overflow, whatever a
/// file says of one.
const LARGEST_MEDIUM: u64 = u32::MAX as u64;

impl Part {
    /// The bytes of this part in a request, by estimate: its texts as strings in JSON, ids, and media as they are sent.
    pub fn wire_bytes(&self) -> u64 {
        let id = match self {
            Self::ToolCall(call) => call.id.len(),
            Self::ToolResult(result) => result.call.len(),
            _ => 0,
        };
        let texts: u64 = self.texts().map(in_json).sum();
        AROUND_PART + id as u64 + texts + self.media_bytes()
    }

    /// The bytes on the wire of the media in this part.
    pub fn media_bytes(&self) -> u64 {
        match self {
            Self::Media(media) => sent(media),
            Self::ToolResult(result) => result.media.iter().map(sent).sum(),
            _ => 0,
        }
    }
}

impl Message {
    /// The bytes of this message in a request, by estimate; see [`Part::wire_bytes`]. Costs a walk over its texts.
    pub fn wire_bytes(&self) -> u64 {
        AROUND_MESSAGE + self.parts().iter().map(Part::wire_bytes).sum::<u64>()
    }
}

fn sent(media: &Media) -> u64 {
    media.bytes.min(LARGEST_MEDIUM)
}

/// The bytes of a text as a string in JSON, without its quotes.
fn in_json(text: &str) -> u64 {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() as u64 + text.bytes().map(escaped).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Conversation, MessageId, Role, ToolResult};

    proptest! {
        #[test]
        fn a_text_is_as_long_as_json_makes_it(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(in_json(&text), json.len() as u64 - 2);
        }
    }

    #[test]
    fn media_are_what_is_sent_of_them() {
        let image = |bytes| Media { kind: "image/png".into(), tokens: 85, bytes };
        let (call, text) = ("c1".to_owned(), "two\nlines".to_owned());
        let media = vec![image(1_000_000), image(0)];
        let result = Part::ToolResult(ToolResult {
            call: call.into(),
            text: text.into(),
            media: media.into(),
            is_error: false,
        });
        let message = Message::new(MessageId(0), Role::Tool, [result]);
        assert_eq!(message.wire_bytes(), 32 + 32 + 2 + 10 + 1_000_000);
    }

    #[test]
    fn sums_never_overflow_whatever_a_medium_is_said_to_be() {
        let image = || Media { kind: "image/png".into(), tokens: u32::MAX, bytes: u64::MAX };
        let parts: Vec<_> = (0..3).map(|_| Part::Media(image())).collect();
        let messages = (0..3).map(|id| Message::new(MessageId(id), Role::User, parts.clone()));
        let mut conversation = Conversation::new(messages).unwrap();
        assert_eq!(conversation.wire_bytes(), 3 * (32 + 3 * (32 + u64::from(u32::MAX))));
    }
}
