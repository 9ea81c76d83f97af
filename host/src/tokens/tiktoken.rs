//! Exact counts with the vocabularies of `tiktoken-rs`, for every text.
//!
//! `tiktoken-rs` alone panics on a million whitespace characters in a row and builds the list of
//! all tokens before it can say how many there are. Both go away by cutting the text where the
//! sum of the counts of the parts is the count of the whole. Why the cuts are exact:
//!
//! The split pattern has no look-behind, so wherever one match ends, the rest of the text is split
//! as if it stood alone. A cut is exact if a match always ends there **and** the left part alone
//! would be split the same, which only the two look-aheads could prevent: `\s+(?!\S)` and `\s+$`,
//! both of which look from whitespace only.
//!
//! * After a line feed, before a character that is neither whitespace nor `/`: no alternative
//!   matches a line feed followed by such a character, and a blank that ends in a line feed is one
//!   match with or without what follows (`\s*[\r\n]+`).
//! * After a character that is not whitespace, before a space or tab: whitespace stands in a match
//!   either at its start or after other whitespace, save for the line ends that follow punctuation.
//! * Between an ASCII digit and another visible ASCII character, either way round: only
//!   `\p{N}{1,3}` matches digits.
//! * Before a blank's tail, meaning what follows its last line end: the match before it ends with
//!   that line end or with the character before the blank. If text follows the tail, all of it but
//!   the last character is one match (`\s+(?!\S)`), and the last character and the text go on from
//!   there.

use std::sync::{LazyLock, OnceLock};

use brute_core::TokenCounter;
use tiktoken_rs::{CoreBPE, Rank};

use super::blank::BlankVocabulary;

/// A byte-pair vocabulary of OpenAI, loaded with the first text that needs it.
///
/// Counts are those of `encode_ordinary`: text that spells a special token is ordinary text. Where
/// `tiktoken-rs` panics, the count is what the encoding defines. Time grows as `n log n` at worst.
/// Memory is bounded by a chunk of 64 KiB, unless a single word or blank is longer than that.
///
/// ```
/// use brute_host::core::TokenCounter;
/// use brute_host::tokens::Tiktoken;
///
/// assert_eq!(Tiktoken::o200k().count("tokens, counted"), 3);
/// assert_eq!(Tiktoken::o200k().count(&" ".repeat(2_000_000)), 15_625);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Tiktoken {
    encoding: &'static Encoding,
    limits: Limits,
}

/// Where counting starts to cut. Tests lower these to bring the cuts to short texts.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes from which on a text is counted in parts.
    chunk: usize,
    /// Characters from which on the tail of a blank is kept away from the pattern.
    blank: usize,
}

impl Limits {
    /// The pattern engine gives up at a million characters; far below that, the only price of
    /// counting a blank here is one walk over the vocabulary.
    const DEFAULT: Self = Self { chunk: 64 * 1024, blank: 100_000 };
}

struct Encoding {
    id: &'static str,
    load: fn() -> &'static CoreBPE,
    /// One more than the highest rank, special tokens included.
    ranks: Rank,
    /// Whether a blank that ends the text is one match, line ends included: `\s+$` comes before
    /// `\s*[\r\n]`, and its possessive quantifier needs no stack.
    final_blank_is_whole: bool,
    blanks: OnceLock<BlankVocabulary>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

static O200K: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    id: "o200k",
    load: tiktoken_rs::o200k_base_singleton,
    ranks: 200_019,
    final_blank_is_whole: false,
    blanks: OnceLock::new(),
});

static CL100K: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    id: "cl100k",
    load: tiktoken_rs::cl100k_base_singleton,
    ranks: 100_277,
    final_blank_is_whole: true,
    blanks: OnceLock::new(),
});

impl Tiktoken {
    /// Tokens that prime the reply, once per request: every reply starts with
    /// `<|start|>assistant<|message|>`. Source: OpenAI cookbook, "How to count tokens with
    /// tiktoken".
    pub const REPLY_PRIMING: u32 = 3;

    /// Tokens that frame one message, after the same source. A `name` costs one more.
    pub const PER_MESSAGE: u32 = 3;

    /// Bytes of the longest token, in either vocabulary.
    pub const LONGEST_TOKEN: usize = 128;

    /// The vocabulary of GPT-4o, GPT-4.1, GPT-5 and the o-series.
    #[must_use]
    pub fn o200k() -> Self {
        Self { encoding: &O200K, limits: Limits::DEFAULT }
    }

    /// The vocabulary of GPT-4 and GPT-3.5 Turbo.
    #[must_use]
    pub fn cl100k() -> Self {
        Self { encoding: &CL100K, limits: Limits::DEFAULT }
    }

    /// Loads the vocabulary now, about 150 ms of one core, so that the first count does not wait:
    /// call it on a thread of its own while the conversation is being read.
    pub fn preload(&self) {
        (self.encoding.load)();
    }

    fn count_chunk(&self, mut text: &str) -> usize {
        let bpe = (self.encoding.load)();
        let mut tokens = 0;
        while let Some((start, end)) = self.long_tail(text) {
            tokens += bpe.count_ordinary(&text[..start]);
            let mut tail = &text[start..end];
            if end < text.len() {
                let last = tail.chars().next_back().map_or(0, char::len_utf8);
                tail = &tail[..tail.len() - last];
            }
            let blanks = self
                .encoding
                .blanks
                .get_or_init(|| BlankVocabulary::read(bpe, self.encoding.ranks));
            tokens += blanks.count(tail);
            text = &text[start + tail.len()..];
        }
        tokens + bpe.count_ordinary(text)
    }

    /// The first tail of a blank that is too long for the pattern, as a range of bytes.
    fn long_tail(&self, text: &str) -> Option<(usize, usize)> {
        if text.len() < self.limits.blank {
            return None;
        }
        let (mut start, mut length) = (0, 0);
        for (at, character) in text.char_indices() {
            if character.is_whitespace() && !matches!(character, '\r' | '\n') {
                if length == 0 {
                    start = at;
                }
                length += 1;
                continue;
            }
            // A line end puts what came before it into the match that ends with it, which the
            // pattern finds without its stack.
            if length >= self.limits.blank && !character.is_whitespace() {
                return Some((start, at));
            }
            length = 0;
        }
        (length >= self.limits.blank && !self.encoding.final_blank_is_whole)
            .then_some((start, text.len()))
    }
}

impl TokenCounter for Tiktoken {
    fn id(&self) -> &'static str {
        self.encoding.id
    }

    fn count(&self, text: &str) -> u32 {
        let (least, most) = self.bounds(text.len());
        if least == most {
            return least;
        }
        let tokens: usize =
            Chunks::new(text, self.limits.chunk).map(|chunk| self.count_chunk(chunk)).sum();
        saturate(tokens)
    }

    fn per_message(&self) -> u32 {
        Self::PER_MESSAGE
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        (saturate(bytes.div_ceil(Self::LONGEST_TOKEN)), saturate(bytes))
    }
}

/// A text cut at exact places, each part as little over `size` bytes as they allow.
struct Chunks<'a> {
    rest: &'a str,
    size: usize,
}

impl<'a> Chunks<'a> {
    fn new(text: &'a str, size: usize) -> Self {
        Self { rest: text, size }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let cut = if self.rest.len() > self.size {
            exact_cut(self.rest, self.size)
        } else {
            self.rest.len()
        };
        let (chunk, rest) = self.rest.split_at(cut);
        self.rest = rest;
        Some(chunk)
    }
}

/// The first place after `from` bytes at which `text` may be cut, or its end.
fn exact_cut(text: &str, from: usize) -> usize {
    // Every cut has an ASCII byte on at least one side, and the other side is only asked whether
    // it is whitespace.
    let from = (0..=from).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut characters = text[from..].char_indices();
    let Some((_, mut left)) = characters.next() else {
        return text.len();
    };
    for (at, right) in characters {
        if is_exact_cut(left, right) {
            return from + at;
        }
        left = right;
    }
    text.len()
}

/// Whether a text may be cut between these two characters; the module says why.
fn is_exact_cut(left: char, right: char) -> bool {
    if left == '\n' {
        return !right.is_whitespace() && right != '/';
    }
    if matches!(right, ' ' | '\t') {
        return !left.is_whitespace();
    }
    left.is_ascii_graphic()
        && right.is_ascii_graphic()
        && left.is_ascii_digit() != right.is_ascii_digit()
}

/// A text of more than four billion tokens counts as the largest number there is.
fn saturate(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `tiktoken-rs` itself, for texts that it survives.
    fn reference(counter: &Tiktoken, text: &str) -> u32 {
        saturate((counter.encoding.load)().encode_ordinary(text).len())
    }

    fn cutting(chunk: usize, blank: usize) -> [Tiktoken; 2] {
        [Tiktoken::o200k(), Tiktoken::cl100k()]
            .map(|counter| Tiktoken { limits: Limits { chunk, blank }, ..counter })
    }

    #[test]
    fn a_single_byte_and_nothing_need_no_vocabulary() {
        static NEVER: LazyLock<Encoding> = LazyLock::new(|| Encoding {
            id: "never",
            load: || panic!("loaded"),
            ranks: 0,
            final_blank_is_whole: false,
            blanks: OnceLock::new(),
        });
        let counter = Tiktoken { encoding: &NEVER, limits: Limits::DEFAULT };
        assert_eq!(counter.count(""), 0);
        assert_eq!(counter.count("a"), 1);
        assert_eq!(counter.bounds(129), (2, 129));
        assert_eq!(counter.per_message(), 3);
    }

    #[test]
    fn the_longest_token_is_what_bounds_say() {
        for counter in [Tiktoken::o200k(), Tiktoken::cl100k()] {
            let bpe = (counter.encoding.load)();
            let longest = (0..counter.encoding.ranks)
                .filter_map(|rank| bpe.decode_bytes(&[rank]).ok())
                .map(|token| token.len())
                .max();
            assert_eq!(longest, Some(Tiktoken::LONGEST_TOKEN), "{}", counter.id());
            assert!(bpe.decode_bytes(&[counter.encoding.ranks]).is_err(), "ranks end too early");
        }
    }

    /// Every text of up to four of these, which hold a member of each class that the patterns
    /// tell apart, is counted with a cut wherever one is allowed.
    #[test]
    fn every_short_text_counts_the_same_when_cut() {
        const ALPHABET: [&str; 14] = [
            "a", "B", "\u{301}", "7", "\u{b2}", "-", "/", "'s", " ", "\t", "\u{a0}", "\n", "\r",
            "中",
        ];
        let counters = cutting(1, 2);
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            texts = texts
                .iter()
                .flat_map(|text| ALPHABET.iter().map(move |next| format!("{text}{next}")))
                .collect();
            for text in &texts {
                for counter in &counters {
                    assert_eq!(
                        counter.count(text),
                        reference(counter, text),
                        "{} {text:?}",
                        counter.id()
                    );
                }
            }
        }
    }

    /// Pieces that make boundaries likely: blanks of every kind beside everything else.
    fn mixed() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ \t\r\n\u{a0}\u{2003}\u{3000}]{1,9}",
            " {1,200}",
            "[\r\n/]{1,4}",
            "[a-zA-Z]{1,8}",
            "[0-9]{1,7}",
            "('s|'LL|'ſ|<\\|endoftext\\|>|[{}()=;:.,/'-]{1,4})",
            "[a-z]{90,130}",
            "\\PC{1,6}",
            "[\u{0}-\u{2ff}]{1,5}",
        ];
        proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_500))]

        #[test]
        fn cutting_never_changes_a_count(text in mixed(), chunk in 1_usize..40, blank in 2_usize..12) {
            for counter in cutting(chunk, blank) {
                prop_assert_eq!(counter.count(&text), reference(&counter, &text), "{}", counter.id());
            }
        }

        #[test]
        fn counts_equal_tiktoken_and_stay_within_bounds(text in any::<String>()) {
            for counter in [Tiktoken::o200k(), Tiktoken::cl100k()] {
                let count = counter.count(&text);
                let (least, most) = counter.bounds(text.len());
                prop_assert!(least <= count && count <= most, "{least} {count} {most}");
                prop_assert_eq!(count, reference(&counter, &text));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn long_runs_never_panic(
            unit in "[ \t\u{a0}\u{3000}\na-z中]{1,3}",
            times in 1_usize..400_000,
            around in ("\\PC{0,3}", "\\PC{0,3}"),
        ) {
            let text = format!("{}{}{}", around.0, unit.repeat(times), around.1);
            for counter in [Tiktoken::o200k(), Tiktoken::cl100k()] {
                let count = counter.count(&text);
                let (least, most) = counter.bounds(text.len());
                prop_assert!(least <= count && count <= most);
            }
        }
    }

    #[test]
    fn chunks_are_the_text_and_stay_near_their_size() {
        let text = "some words, 12 numbers\nand lines\n".repeat(10_000);
        let chunks: Vec<&str> = Chunks::new(&text, 1_000).collect();
        assert_eq!(chunks.concat(), text);
        assert!(chunks.iter().all(|chunk| chunk.len() < 1_020));
    }
}
