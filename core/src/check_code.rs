//! A short check code that keeps ordinary text from passing for ours by accident.

/// A multiplicative hash of 64 bits over words of eight bytes, folded to 32 bits.
///
/// A word is taken in by exclusive or, multiplied by 2⁶⁴ over the golden ratio (Knuth, *The Art of
/// Computer Programming*, volume 3, section 6.4), and its upper half is brought down to the lower one. Each of these
/// can be undone, so two texts of one length that differ in a single word never meet before the fold. Eight bytes
/// at a time, since every text that a compaction leaves and every truncated result is read for its code.
///
/// It is no cryptographic hash: whoever wants to can make a text that fits a code.
///
/// ```
/// let mut code = brute_core::CheckCode::new();
/// code.update(b"foobar");
/// assert_eq!(format!("{:08x}", code.finish()), "c4bb6444");
/// ```
#[derive(Debug, Clone)]
pub struct CheckCode(u64);

impl Default for CheckCode {
    fn default() -> Self {
        Self::new()
    }
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl CheckCode {
    /// The code of nothing yet.
    pub fn new() -> Self {
        // Not zero, which an empty text would leave as it is.
        Self(MULTIPLIER)
    }

    /// Takes in one more text. Where one ends and the next begins is part of the code.
    pub fn update(&mut self, text: &[u8]) {
        let (words, rest) = text.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
        self.mix(text.len() as u64);
    }

    fn mix(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(MULTIPLIER);
        self.0 = product ^ (product >> 32);
    }

    /// The code of all texts taken in. Written as eight hexadecimal digits.
    pub fn finish(&self) -> u32 {
        self.0 as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(texts: &[&[u8]]) -> u64 {
        let mut code = CheckCode::new();
        texts.iter().for_each(|text| code.update(text));
        code.0
    }

    #[test]
    fn stays_what_it_is_since_logs_keep_it() {
        for (texts, code) in [
            (&[][..], 0x9e37_79b9_7f4a_7c15),
            (&[&b""[..]][..], 0x352c_d683_3d62_7234),
            (&[&b""[..], &b""[..]][..], 0x5016_5032_70d8_62b6),
            (&[&b"foobar"[..]][..], 0xdb57_31dc_c4bb_6444),
            (&[&b"foo"[..], &b"bar"[..]][..], 0x0c1c_5534_7948_c40e),
            (&[&b"sixteen letters,"[..]][..], 0x2a86_25da_6242_6ab9),
        ] {
            assert_eq!(of(texts), code, "{texts:?}");
        }
    }

    proptest! {
        #[test]
        fn any_changed_byte_changes_it(
            text in prop::collection::vec(any::<u8>(), 1..64),
            at: prop::sample::Index,
            by in 1..=u8::MAX,
        ) {
            let mut changed = text.clone();
            changed[at.index(text.len())] ^= by;
            prop_assert_ne!(of(&[&text]), of(&[&changed]));
        }

        #[test]
        fn no_byte_moves_from_one_text_to_the_next(
            text in prop::collection::vec(0..2u8, 1..40),
            one: prop::sample::Index,
            other: prop::sample::Index,
        ) {
            let (one, other) = (one.index(text.len()), other.index(text.len()));
            let split = |at: usize| of(&[&text[..at], &text[at..]]);
            prop_assert_eq!(split(one) == split(other), one == other);
        }
    }
}
