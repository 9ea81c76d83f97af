//! Byte-pair encoding of one long blank: a pre-token that consists of whitespace alone.
//!
//! The pattern that splits text into pre-tokens runs on a backtracking engine whose stack holds a
//! million entries, one per character of a blank, and `tiktoken-rs` panics when it is full. Such
//! a blank is therefore encoded here, by the definition of byte-pair encoding: join the
//! neighboring pair whose joint token has the lowest rank, the leftmost of equals first, until no
//! pair forms a token.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tiktoken_rs::{CoreBPE, Rank};

/// A token of the blank vocabulary: its place among them in the order of their ranks, so that
/// comparing two of them compares their ranks. There are a few hundred.
type Token = u32;

/// No token, no neighbor.
const NONE: u32 = u32::MAX;

/// The part of a vocabulary that a blank can use: tokens made of whitespace bytes alone.
///
/// Nothing is lost by leaving the others out, since every token of an encoding is a slice of the
/// bytes that are encoded.
pub(super) struct BlankVocabulary {
    /// The token of each single byte, `NONE` for bytes that occur in no whitespace character.
    bytes: [Token; 256],
    /// What a token and its right neighbor join to: a square, row by row.
    joins: Vec<Token>,
    size: usize,
}

impl BlankVocabulary {
    /// Reads it out of a loaded vocabulary, whose ranks all lie below `ranks`.
    pub(super) fn read(bpe: &CoreBPE, ranks: Rank) -> Self {
        let mut blank_bytes = [false; 256];
        for character in (0..0x3001).filter_map(char::from_u32).filter(|c| c.is_whitespace()) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                blank_bytes[usize::from(byte)] = true;
            }
        }

        let tokens: HashMap<Vec<u8>, Token> = (0..ranks)
            // A rank without a token is a gap in the numbering, not an error.
            .filter_map(|rank| bpe.decode_bytes(&[rank]).ok())
            .filter(|token| token.iter().all(|byte| blank_bytes[usize::from(*byte)]))
            .zip(0..)
            .collect();

        let size = tokens.len();
        let mut bytes = [NONE; 256];
        let mut joins = vec![NONE; size * size];
        for (token, &place) in &tokens {
            if let [byte] = token[..] {
                bytes[usize::from(byte)] = place;
            }
            for middle in 1..token.len() {
                let (left, right) = token.split_at(middle);
                if let (Some(&left), Some(&right)) = (tokens.get(left), tokens.get(right)) {
                    joins[left as usize * size + right as usize] = place;
                }
            }
        }
        Self { bytes, joins, size }
    }

    /// What two neighboring tokens join to, or `NONE`.
    fn join(&self, left: Token, right: Token) -> Token {
        if left == NONE || right == NONE {
            return NONE;
        }
        self.joins[left as usize * self.size + right as usize]
    }

    /// How many tokens `blank` encodes to, when it is one pre-token.
    ///
    /// Time `n log n`, memory about 24 bytes for each byte.
    pub(super) fn count(&self, blank: &str) -> usize {
        // The pieces are a doubly linked list over the positions at which they start.
        let mut token: Vec<Token> =
            blank.bytes().map(|byte| self.bytes[usize::from(byte)]).collect();
        let last = position(token.len());
        let mut next: Vec<u32> = (1..=last).collect();
        let mut previous: Vec<u32> = (0..last).map(|at| at.wrapping_sub(1)).collect();

        // Lowest rank first, then leftmost: token and position in one number, because this is
        // where the time goes. Filling first and heapifying once is linear.
        let entry = |joint: Token, at: u32| Reverse(u64::from(joint) << 32 | u64::from(at));
        let mut open: BinaryHeap<Reverse<u64>> = token
            .windows(2)
            .zip(0..)
            .map(|(pair, at)| (self.join(pair[0], pair[1]), at))
            .filter(|(joint, _)| *joint != NONE)
            .map(|(joint, at)| entry(joint, at))
            .collect::<Vec<_>>()
            .into();

        let mut pieces = token.len();
        while let Some(Reverse(least)) = open.pop() {
            let (joint, at) = ((least >> 32) as Token, (least & u64::from(u32::MAX)) as u32);
            let left = at as usize;
            let right = next[left] as usize;
            // An entry is stale if the piece has been swallowed, has no neighbor any more, or
            // either of the two has grown since; joining what is there now is then another entry.
            if right >= token.len() || self.join(token[left], token[right]) != joint {
                continue;
            }
            token[left] = joint;
            token[right] = NONE;
            pieces -= 1;

            let after = next[right];
            next[left] = after;
            if let Some(&follower) = token.get(after as usize) {
                previous[after as usize] = at;
                let joint = self.join(joint, follower);
                if joint != NONE {
                    open.push(entry(joint, at));
                }
            }
            let before = previous[left];
            if let Some(&leader) = token.get(before as usize) {
                let joint = self.join(leader, joint);
                if joint != NONE {
                    open.push(entry(joint, before));
                }
            }
        }
        pieces
    }
}

/// A position in a text that is shorter than 4 GiB.
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
