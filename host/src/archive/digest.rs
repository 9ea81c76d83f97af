//! How an archive names what it holds: by content.

use std::fmt;
use std::str::FromStr;

use brute_core::{Message, Part};
use serde::{Deserialize, Serialize, Serializer};

/// The first half of a BLAKE3 digest, 128 bits: 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 16]);

/// The digits of a [`Handle`](Digest::handle): 48 bits tell apart the messages of any archive that fits
/// on a disk, and a collision is refused, not guessed at.
const HANDLE_DIGITS: usize = 12;

/// The fewest digits that are taken for the beginning of a handle.
const LEAST_DIGITS: usize = 6;

impl Digest {
    /// The digest of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// What a message is named by: who says it, and what.
    ///
    /// Media take part in it by nothing but their being there, since their size depends on who counts.
    pub fn of_message(message: &Message) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut put = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        put(&message.role().to_string());
        for part in message.parts() {
            let (kind, id) = match part {
                Part::Text(_) => ("text", ""),
                Part::Reasoning(_) => ("reasoning", ""),
                Part::Media(media) => ("media", &*media.kind),
                Part::ToolCall(call) => ("call", &*call.id),
                Part::ToolResult(result) => ("result", &*result.call),
                Part::Opaque(opaque) => ("opaque", &*opaque.kind),
            };
            put(kind);
            put(id);
            part.texts().for_each(&mut put);
        }
        hasher.finalize().into()
    }

    /// What a message is told from all others by: what it is [named by](Self::of_message), and what else there is to it,
    /// the sizes of its media above all.
    pub(crate) fn of_all(message: &Message) -> Self {
        Self::of_message(message).with_all(message.parts())
    }

    /// The same, where the name is known.
    pub(super) fn with_all(self, parts: &[Part]) -> Self {
        let mut more: Vec<u8> = Vec::new();
        for (place, part) in (0_u64..).zip(parts) {
            let (is_so, media) = match part {
                Part::Reasoning(reasoning) => (reasoning.signed, &[][..]),
                Part::Media(media) => (false, std::slice::from_ref(media)),
                Part::ToolResult(result) => (result.is_error, &result.media[..]),
                Part::Text(_) | Part::ToolCall(_) | Part::Opaque(_) => (false, &[][..]),
            };
            if !is_so && media.is_empty() {
                continue;
            }
            let head = [place, u64::from(is_so), media.len() as u64];
            more.extend(head.iter().flat_map(|number| number.to_le_bytes()));
            for media in media {
                let sizes = [u64::from(media.tokens), media.bytes, media.kind.len() as u64];
                more.extend(sizes.iter().flat_map(|number| number.to_le_bytes()));
                more.extend_from_slice(media.kind.as_bytes());
            }
        }
        match more.is_empty() {
            true => self,
            false => Self::of(&[&self.0[..], &more].concat()),
        }
    }

    /// Its digits, on the stack: a record of a compaction has thousands.
    fn with_digits<T>(&self, reader: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        reader(std::str::from_utf8(&digits).unwrap_or_default())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The short form that people and models are given: 12 digits.
    ///
    /// ```
    /// use brute_host::core::{Message, MessageId, Part, Role};
    /// use brute_host::archive::Digest;
    ///
    /// let message = Message::new(MessageId(0), Role::User, [Part::text("hello")]);
    /// assert_eq!(Digest::of_message(&message).handle().len(), 12);
    /// ```
    pub fn handle(self) -> String {
        let mut digits = self.to_string();
        digits.truncate(HANDLE_DIGITS);
        digits
    }
}

/// Whether `text` is the beginning of a digest, long enough to be asked for.
pub fn is_handle(text: &str) -> bool {
    (LEAST_DIGITS..=32).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self(half)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_digits(|digits| f.write_str(digits))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_digits(|digits| serializer.serialize_str(digits))
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 hexadecimal digits")]
pub struct NoDigest;

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(digits: &str) -> Result<Self, NoDigest> {
        if digits.len() != 32 || !is_handle(digits) {
            return Err(NoDigest);
        }
        let whole = u128::from_str_radix(digits, 16).map_err(|_| NoDigest)?;
        Ok(Self(whole.to_be_bytes()))
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(digits: String) -> Result<Self, NoDigest> {
        digits.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{MessageId, Role};

    #[test]
    fn digits_are_read_back() {
        for bytes in [&b""[..], b"a", b"text"] {
            let digest = Digest::of(bytes);
            assert_eq!(digest.to_string().parse(), Ok(digest));
            assert_eq!(digest.to_string(), blake3::hash(bytes).to_hex()[..32]);
        }
        for text in ["", "0", "00000000000000000000000000000000f", &"g".repeat(32), &"A".repeat(32)]
        {
            assert_eq!(text.parse::<Digest>(), Err(NoDigest), "{text}");
        }
        for (text, expected) in
            [("abcdef", true), ("abcde", false), ("ABCDEF", false), ("session.json", false)]
        {
            assert_eq!(is_handle(text), expected, "{text}");
        }
    }

    #[test]
    fn other_words_or_other_speakers_have_another_name() {
        let say = |role, parts: &[&str]| {
            let parts: Vec<Part> = parts.iter().map(|text| Part::text(*text)).collect();
            Digest::of_message(&Message::new(MessageId(7), role, parts))
        };
        let all = [
            say(Role::User, &["ab"]),
            say(Role::Assistant, &["ab"]),
            say(Role::User, &["a", "b"]),
            say(Role::User, &["abtext"]),
            say(Role::User, &[]),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        let same = Message::new(MessageId(1), Role::User, [Part::text("ab")]);
        assert_eq!(Digest::of_message(&same), all[0]);
    }
}
