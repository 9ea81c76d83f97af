//! A short check code that keeps ordinary text from passing for ours by accident.

/// 64-bit FNV-1a, folded to 32 bits by exclusive or, as its authors advise for a shorter code.
/// Offset basis and prime: Fowler, Noll, Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>.
///
/// It is no cryptographic hash: whoever wants to can make a text that fits a code.
///
/// ```
/// let mut code = brute_core::CheckCode::new();
/// code.update(b"foobar");
/// assert_eq!(format!("{:08x}", code.finish()), "72ad2699");
/// ```
#[derive(Debug, Clone)]
pub struct CheckCode(u64);

impl Default for CheckCode {
    fn default() -> Self {
        Self::new()
    }
}

impl CheckCode {
    /// The code of nothing yet.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Takes in more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The code of all bytes taken in. Written as eight hexadecimal digits.
    pub fn finish(&self) -> u32 {
        (self.0 >> 32) as u32 ^ self.0 as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_vectors() {
        // FNV-1a 64 of "" and "foobar", from the authors' test suite.
        let of = |text: &str| {
            let mut code = CheckCode::new();
            code.update(text.as_bytes());
            (code.0, code.finish())
        };
        assert_eq!(of("").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("foobar").0, 0x8594_4171_f739_67e8);
        assert_eq!(of("foobar").1, 0x8594_4171 ^ 0xf739_67e8);
    }
}
