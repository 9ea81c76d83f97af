//! The second limit: the bytes of a request on the wire.
//!
//! The core estimates what messages take there ([`Conversation::wire_bytes`]). Layers know nothing of it: a rung is
//! shown more tokens too much than there are, as many as could take the bytes along.

use brute_core::{Conversation, Protection, TokenCounter};
use serde::Serialize;

/// How the bytes of a request follow from what the core estimates for its messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wire {
    /// What of the request is no messages.
    around: u64,
    /// Bytes of messages for each that is estimated.
    scale: f64,
}

impl Default for Wire {
    fn default() -> Self {
        Self::around(0)
    }
}

impl Wire {
    /// Messages take what is estimated, with so many bytes around them: tool schemas for the most part.
    pub fn around(bytes: u64) -> Self {
        Self { around: bytes, scale: 1.0 }
    }

    /// As in a request whose messages are `messages` bytes with `around` bytes around them, where the estimate is
    /// `estimated`.
    pub fn measured(around: u64, messages: u64, estimated: u64) -> Self {
        let scale = if estimated > 0 { messages as f64 / estimated as f64 } else { 1.0 };
        // Not so far off that a conversation could not be made to fit by what it says.
        Self { around, scale: scale.clamp(0.25, 8.0) }
    }
}

/// Room in bytes of a whole request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WireRoom {
    most: u64,
    start: u64,
    aim: u64,
    wire: Wire,
}

impl WireRoom {
    /// Room of `most` bytes, with the shares that `start` and `aim` are of a window of `window` tokens.
    pub(super) fn new(most: u64, window: u64, start: u64, aim: u64) -> Self {
        let share = |tokens| share_of(most, tokens, window);
        Self { most, start: share(start).max(1), aim: share(aim).max(1), wire: Wire::default() }
    }

    pub(super) fn on(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    /// The most bytes that the provider takes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The bytes of a request that start a compaction.
    pub fn compact_at(&self) -> u64 {
        self.start
    }

    /// The bytes of a request that a compaction aims for.
    pub fn compact_to(&self) -> u64 {
        self.aim
    }

    /// The bytes of a request that are no messages.
    pub fn overhead(&self) -> u64 {
        self.wire.around
    }

    /// The bytes of a request whose messages are `messages` by estimate.
    pub fn request(&self, messages: u64) -> u64 {
        // The cast saturates.
        self.wire.around.saturating_add((messages as f64 * self.wire.scale).round() as u64)
    }

    /// By how much that is above what a compaction aims for.
    pub(super) fn over(&self, messages: u64) -> u64 {
        self.request(messages).saturating_sub(self.aim)
    }

    /// The same in bytes by estimate.
    pub(super) fn excess(&self, messages: u64) -> u64 {
        (self.over(messages) as f64 / self.wire.scale).ceil() as u64
    }

    /// Whether a request is more than the share of all bytes that `tokens` are of `window`.
    pub(super) fn is_above(&self, messages: u64, tokens: u64, window: u64) -> bool {
        self.request(messages) > share_of(self.most, tokens, window)
    }
}

fn share_of(most: u64, tokens: u64, window: u64) -> u64 {
    let share = u128::from(most) * u128::from(tokens) / u128::from(window.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// What a conversation is too large in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Tokens of the window.
    Tokens,
    /// Bytes on the wire.
    Bytes,
    /// Both.
    Both,
}

impl Limit {
    pub(crate) fn of(tokens: bool, bytes: bool) -> Self {
        match (tokens, bytes) {
            (true, true) => Self::Both,
            (false, true) => Self::Bytes,
            _ => Self::Tokens,
        }
    }
}

/// Bytes of a whole request on the wire, where they are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WireChange {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// The fewest tokens that could take `excess` bytes along, by what the messages that may go are for each of theirs:
/// those with the most bytes first. All tokens of these if they are not enough.
pub(super) fn tokens_for(
    excess: u64,
    conversation: &Conversation,
    protection: &Protection,
    counter: &dyn TokenCounter,
) -> u64 {
    let messages = conversation.messages().iter().enumerate();
    let free = messages.filter(|(index, _)| !protection.covers(*index));
    let mut sizes: Vec<(u64, u64)> = free
        .map(|(_, message)| (message.wire_bytes(), u64::from(message.tokens(counter)).max(1)))
        .collect();
    let density = |(bytes, tokens): &(u64, u64)| *bytes as f64 / *tokens as f64;
    sizes.sort_by(|one, other| density(other).total_cmp(&density(one)));
    let (mut bytes, mut tokens) = (0, 0);
    for (more, cost) in sizes {
        if bytes >= excess {
            break;
        }
        // Of the last one, what is needed.
        let part = ((excess - bytes) as f64 / more as f64).min(1.0);
        tokens += (cost as f64 * part).ceil() as u64;
        bytes += more;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use brute_core::testing::notation;
    use brute_core::{Approximate, Part, Role};

    use super::*;

    #[test]
    fn the_same_shares_of_the_bytes_as_of_the_window() {
        let room = WireRoom::new(32 << 20, 200_000, 140_000, 80_000);
        assert_eq!(
            (room.compact_at(), room.compact_to()),
            ((32 << 20) * 7 / 10, (32 << 20) * 4 / 10)
        );
        assert!(
            room.is_above(24 << 20, 140_000, 200_000) && !room.is_above(20 << 20, 140_000, 200_000)
        );
        let tiny = WireRoom::new(1, 200_000, 140_000, 80_000);
        assert_eq!((tiny.compact_at(), tiny.compact_to()), (1, 1));
    }

    #[test]
    fn what_was_read_is_as_long_as_it_was() {
        let room = WireRoom::new(1_000, 10, 7, 4).on(Wire::measured(100, 800, 400));
        assert_eq!((room.request(400), room.request(200), room.overhead()), (900, 500, 100));
        assert_eq!((room.over(400), room.excess(400), room.excess(100)), (500, 250, 0));
    }

    #[test]
    fn the_densest_messages_decide_how_many_tokens_take_bytes_along() {
        let mut conversation =
            notation::conversation("system sx4000\nuser go\nassistant wordx4000");
        conversation.push(Role::User, [Part::text("next")]).unwrap();
        let tokens = |conversation: &Conversation, excess| {
            let protection = Protection::of(conversation.messages(), &conversation.outline(), &[]);
            tokens_for(excess, conversation, &protection, &Approximate)
        };
        // Four bytes to a token, and what stands around the words.
        let along = tokens(&conversation, 1_000);
        assert!((200..=250).contains(&along), "{along}");
        let whole = conversation.clone().wire_bytes();
        assert!(tokens(&conversation, 10 * whole) < conversation.clone().measure(&Approximate));
        let pictured = notation::conversation("user go image\nassistant wordx4000\nuser next");
        assert_eq!(tokens(&pictured, 100_000), 503);
    }
}
