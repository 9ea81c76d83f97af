//! Sizes and durations as people write them in a configuration: `"50KB"`, `"7d"`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A number of bytes.
///
/// `B`, `KB`, `MB`, `GB` and `TB` (or `KiB` and so on: here both mean the same) are multiples of 1024,
/// as in the tools whose limits these settings take over; a bare number is bytes.
///
/// ```
/// use brute_host::quantity::ByteSize;
/// assert_eq!("50KB".parse(), Ok(ByteSize(51_200)));
/// assert_eq!(ByteSize(1_048_576).to_string(), "1MB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The number of bytes, or as many as can be addressed.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A length of time, to the second.
///
/// `s`, `m`, `h`, `d` and `w` (seconds to weeks of seven days); a bare number is seconds.
///
/// ```
/// use brute_host::quantity::Span;
/// assert_eq!("36h".parse(), Ok(Span::from_secs(129_600)));
/// assert_eq!(Span::from_secs(604_800).to_string(), "7d");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// A span of so many seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds)
    }

    /// The seconds in it.
    pub const fn as_secs(self) -> u64 {
        self.0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_secs(span.0)
    }
}

/// Text that is no size or no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct QuantityError {
    text: String,
    expected: &'static str,
}

/// What a kind of quantity is called, and its units, smallest first.
struct Units {
    expected: &'static str,
    /// The most that there can be of it: what 64 bits hold.
    most: &'static str,
    /// What it is called in the reference.
    title: &'static str,
    pattern: &'static str,
    units: &'static [(&'static str, u64)],
}

const SIZES: Units = Units {
    expected: "a whole number of bytes, KB, MB, GB or TB (51200, \"50KB\", \"1MiB\")",
    most: "at most 16777215TB",
    title: "a size in bytes (a number, or text such as `50KB`)",
    pattern: r"^[0-9]+ ?([KMGTkmgt]([Ii]?[Bb])?|[Bb])?$",
    units: &[("b", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)],
};

const SPANS: Units = Units {
    expected: "a whole number of seconds, minutes, hours, days or weeks (90, \"90s\", \"36h\", \"7d\")",
    most: "at most 30500568904943w",
    title: "a duration (a number of seconds, or text such as `90s`)",
    pattern: r"^[0-9]+ ?[smhdwSMHDW]?$",
    units: &[("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)],
};

impl Units {
    fn parse(&self, text: &str, name: impl Fn(&str) -> String) -> Result<u64, QuantityError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = name(unit.strip_prefix(' ').unwrap_or(unit));
        let factor = if unit.is_empty() && !text.ends_with(' ') {
            Some(1)
        } else {
            self.units.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor)
        };
        let value = factor.and_then(|factor| number.parse::<u64>().ok()?.checked_mul(factor));
        let is_too_much = factor.is_some() && digits > 0;
        let expected = if is_too_much { self.most } else { self.expected };
        value.ok_or_else(|| QuantityError { text: text.into(), expected })
    }

    /// The largest unit that gives a whole number, leaving out weeks, which few people write.
    fn split(&self, value: u64) -> (u64, &'static str) {
        let fits = |(unit, factor): &&(&str, u64)| {
            *unit != "w" && value > 0 && value.is_multiple_of(*factor)
        };
        let (unit, factor) =
            self.units.iter().rev().find(fits).copied().unwrap_or((self.units[0].0, 1));
        (value / factor, unit)
    }

    fn schema(&self) -> Schema {
        json_schema!({
            "title": self.title,
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": self.pattern },
            ],
        })
    }
}

impl FromStr for ByteSize {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = |unit: &str| {
            let unit = unit.to_ascii_lowercase();
            let is_multiple = unit.len() > 1;
            match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')) {
                Some(unit) if is_multiple && !unit.is_empty() => unit.to_owned(),
                _ => unit,
            }
        };
        SIZES.parse(text, name).map(Self)
    }
}

impl FromStr for Span {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        SPANS.parse(text, str::to_ascii_lowercase).map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SIZES.split(self.0) {
            (value, "b") => write!(f, "{value}B"),
            (value, unit) => write!(f, "{value}{}B", unit.to_ascii_uppercase()),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = SPANS.split(self.0);
        write!(f, "{value}{unit}")
    }
}

struct Reader<T> {
    expected: &'static str,
    of: fn(u64) -> T,
}

impl<T: FromStr<Err = QuantityError>> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        Ok((self.of)(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        let unsigned = u64::try_from(value);
        unsigned.map(self.of).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let parsed = text.parse();
        parsed.map_err(|error: QuantityError| {
            E::invalid_value(de::Unexpected::Str(text), &error.expected)
        })
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader { expected: SIZES.expected, of: Self })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader { expected: SPANS.expected, of: Self })
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SIZES.schema()
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SPANS.schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, shown) in [
            ("0", 0, "0B"),
            ("1000", 1000, "1000B"),
            ("50KB", 51_200, "50KB"),
            ("50 kb", 51_200, "50KB"),
            ("1MiB", 1 << 20, "1MB"),
            ("1g", 1 << 30, "1GB"),
            ("12b", 12, "12B"),
            ("2TB", 2 << 40, "2TB"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(size, ByteSize(bytes), "{text}");
            assert_eq!(size.to_string(), shown);
            assert_eq!(shown.parse(), Ok(size));
        }
        for text in ["", "KB", "-1", "1.5MB", "1XB", "1ib", "1 ", "50KBB", "99999999999999TB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_read_and_written() {
        for (text, seconds, shown) in
            [("90", 90, "90s"), ("90s", 90, "90s"), ("36h", 129_600, "36h"), ("1w", 604_800, "7d")]
        {
            let span: Span = text.parse().unwrap();
            assert_eq!(span, Span::from_secs(seconds), "{text}");
            assert_eq!(span.to_string(), shown);
            assert_eq!(shown.parse(), Ok(span));
        }
        for text in ["", "d", "7 days", "1.5h", "-3s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_says_what_is_expected() {
        let error = |json: &str| serde_json::from_str::<ByteSize>(json).unwrap_err().to_string();
        insta::assert_snapshot!(error("\"50 apples\""), @r#"invalid value: string "50 apples", expected a whole number of bytes, KB, MB, GB or TB (51200, "50KB", "1MiB") at line 1 column 11"#);
        insta::assert_snapshot!(error("-1"), @r#"invalid value: integer `-1`, expected a whole number of bytes, KB, MB, GB or TB (51200, "50KB", "1MiB") at line 1 column 2"#);
        let error = serde_json::from_str::<Span>("true").unwrap_err().to_string();
        insta::assert_snapshot!(error, @r#"invalid type: boolean `true`, expected a whole number of seconds, minutes, hours, days or weeks (90, "90s", "36h", "7d") at line 1 column 4"#);
    }
}
