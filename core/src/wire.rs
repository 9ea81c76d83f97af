//! How many bytes messages take on the wire, as near as can be told without a provider's format.
//!
//! Texts and media are as they are; what stands around them differs from provider to provider and is small beside
//! them, so one figure does for all.

use crate::{Message, Part};

/// What surrounds the parts of a message: braces, the role, a comma.
const AROUND_MESSAGE: u64 = 32;

/// What surrounds the text of a part: braces, its type, the name of the text's field.
const AROUND_PART: u64 = 32;

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
            Self::Media(media) => media.bytes,
            Self::ToolResult(result) => result.media.iter().map(|media| media.bytes).sum(),
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
    use crate::{Media, MessageId, Role, ToolResult};

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
}
