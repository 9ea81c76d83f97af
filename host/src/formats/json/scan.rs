//! Finding bytes in strings many at a time.
//!
//! Words of eight bytes serve where the next find may be anything from near to far; blocks of
//! [`BLOCK`] where many finds are near each other, as escapes are in tool output: a block tells all
//! of them at once, so that the loop over them does not hang on where each one is.
//!
//! The arithmetic on words is from "Bit Twiddling Hacks", Sean Eron Anderson, "Determine if a word has a zero
//! byte".

/// The length of a block in bytes: a bit for each in a mask.
pub(super) const BLOCK: usize = u64::BITS as usize;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where, from `at` on, the first quote, backslash or control character stands; the length if none
/// does.
pub(super) fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = special_marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    // What is left is padded by bytes that are not special.
    let mut word = [b' '; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    word[..rest.len()].copy_from_slice(rest);
    let marks = special_marks(u64::from_le_bytes(word));
    if marks == 0 { bytes.len() } else { at + marks.trailing_zeros() as usize / 8 }
}

/// Marks, in the high bits, the special bytes of a word. The lowest mark is right; higher ones need
/// not be.
fn special_marks(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (control | delimiter_marks(word)) & HIGH
}

/// Marks quotes and backslashes, and maybe lower bits.
#[inline]
fn delimiter_marks(word: u64) -> u64 {
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    is_zero(word ^ (ONES * 0x22)) | is_zero(word ^ (ONES * 0x5c))
}

/// Where in a word the first quote or backslash stands.
#[inline]
pub(super) fn quote_or_backslash(word: [u8; 8]) -> Option<usize> {
    let marks = delimiter_marks(u64::from_le_bytes(word)) & HIGH;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// A bit for each quote, backslash and control character of a block, the lowest for its first byte.
#[inline]
pub(super) fn specials(block: &[u8; BLOCK]) -> u64 {
    // Moves the lowest bit of each byte of a word into its topmost byte, in order.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut marks = [0_u8; BLOCK];
    // This compiles to vector instructions.
    for (mark, &byte) in marks.iter_mut().zip(block) {
        *mark = u8::from((byte == b'"') | (byte == b'\\') | (byte < 0x20));
    }
    let (words, _) = marks.as_chunks::<8>();
    words
        .iter()
        .rev()
        .fold(0, |mask, word| mask << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_and_blocks_find_what_a_search_byte_by_byte_finds(
            bytes in prop::array::uniform32(prop_oneof![
                any::<u8>(),
                prop::sample::select(&b"\"\\\x1f\x20\x21\x23\x5b\x5d\x80\xa2\xdc\x9f"[..]),
            ]),
            at in 0_usize..32,
        ) {
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
            let first = bytes[at..].iter().position(is_special).map_or(32, |found| at + found);
            prop_assert_eq!(special(&bytes, at), first);
            let (words, _) = bytes.as_chunks::<8>();
            for word in words {
                let first = word.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                prop_assert_eq!(quote_or_backslash(*word), first);
            }

            let mut block = [b'x'; BLOCK];
            block[at..at + 32].copy_from_slice(&bytes);
            let bits = block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(is_special(byte)));
            prop_assert_eq!(specials(&block), bits);
        }
    }
}
