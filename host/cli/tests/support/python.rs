//! What the case files take from Python: its random bytes, its base64, its way of writing JSON.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// The Mersenne Twister of `random.Random`, MT19937: M. Matsumoto and T. Nishimura, 1998.
pub(crate) struct Random {
    state: [u32; Self::LENGTH],
    next: usize,
}

impl Random {
    const LENGTH: usize = 624;
    const MIDDLE: usize = 397;

    /// `random.Random(seed)`: the seed's 32-bit words are the key of `init_by_array`.
    pub(crate) fn new(seed: u64) -> Self {
        let low = seed as u32;
        let high = (seed >> 32) as u32;
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        let mut random = Self::by_number(19_650_218);
        random.stir(key);
        random
    }

    fn by_number(seed: u32) -> Self {
        let mut state = [0; Self::LENGTH];
        state[0] = seed;
        for index in 1..Self::LENGTH {
            state[index] = Self::mixed(state[index - 1], 1_812_433_253).wrapping_add(index as u32);
        }
        Self { state, next: Self::LENGTH }
    }

    fn mixed(word: u32, factor: u32) -> u32 {
        (word ^ (word >> 30)).wrapping_mul(factor)
    }

    fn stir(&mut self, key: &[u32]) {
        let mut index = 1;
        for round in 0..Self::LENGTH.max(key.len()) {
            let place = round % key.len();
            self.state[index] = (self.state[index] ^ Self::mixed(self.state[index - 1], 1_664_525))
                .wrapping_add(key[place])
                .wrapping_add(place as u32);
            index = self.step(index);
        }
        for _ in 1..Self::LENGTH {
            self.state[index] = (self.state[index]
                ^ Self::mixed(self.state[index - 1], 1_566_083_941))
            .wrapping_sub(index as u32);
            index = self.step(index);
        }
        self.state[0] = 0x8000_0000;
    }

    fn step(&mut self, index: usize) -> usize {
        if index + 1 < Self::LENGTH {
            return index + 1;
        }
        self.state[0] = self.state[Self::LENGTH - 1];
        1
    }

    fn word(&mut self) -> u32 {
        if self.next == Self::LENGTH {
            for index in 0..Self::LENGTH {
                let after = self.state[(index + 1) % Self::LENGTH];
                let both = (self.state[index] & 0x8000_0000) | (after & 0x7fff_ffff);
                let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[index] =
                    self.state[(index + Self::MIDDLE) % Self::LENGTH] ^ (both >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// `randbytes(count)`: words in little-endian order, the last one shifted to what is needed.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 4);
        while bytes.len() < count {
            let word = self.word();
            let missing = count - bytes.len();
            if missing >= 4 {
                bytes.extend(word.to_le_bytes());
            } else {
                bytes.extend(&(word >> (32 - 8 * missing)).to_le_bytes()[..missing]);
            }
        }
        bytes
    }
}

/// Base64 with padding, as in RFC 4648.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let byte = |index: usize| u32::from(piece.get(index).copied().unwrap_or(0));
        let group = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for digit in 0..4 {
            if digit <= piece.len() {
                out.push(char::from(DIGITS[(group >> (18 - 6 * digit)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// `json.dumps(value, ensure_ascii=False)`: a blank behind every comma and colon.
pub(crate) fn json(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Blanks);
    value.serialize(&mut serializer).expect("a value is JSON");
    String::from_utf8(out).expect("JSON is UTF-8")
}

struct Blanks;

impl Formatter for Blanks {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_those_of_python() {
        // `random.Random(1).randbytes(10).hex()` and `random.Random(2**40).randbytes(3).hex()`
        let hex =
            |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(Random::new(1).bytes(10)), "f5b165224a58b791f1d8");
        assert_eq!(hex(Random::new(1 << 40).bytes(3)), "1d881a");
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    }
}
