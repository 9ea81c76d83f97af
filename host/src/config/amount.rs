//! An amount of the window: a share of it, or tokens.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// An amount of the window: a fraction (`0.7`), a percentage (`"70%"`) or tokens (`90_000`).
///
/// ```
/// use brute_host::config::Amount;
/// assert_eq!(Amount::Share(0.7).tokens(128_000), 89_600);
/// assert_eq!(Amount::Tokens(90_000).tokens(128_000), 90_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A share of the window, from 0 to 1.
    Share(f64),
    /// Tokens.
    Tokens(u64),
}

impl Amount {
    /// The amount in tokens, in a window of so many.
    pub fn tokens(self, window: u64) -> u64 {
        match self {
            // Rounded: 0.7 of 128,000 is a hair below 89,600 in binary.
            Self::Share(share) => (window as f64 * share).round() as u64,
            Self::Tokens(tokens) => tokens,
        }
    }
}

/// As in the file.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share:?}"),
            Self::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

const EXPECTED: &str = "a fraction up to 1 (0.7), a percentage up to 100 (\"70%\") or a number of tokens above 1 (90_000)";

struct Reader;

impl Reader {
    fn share<E: de::Error>(self, share: f64, found: de::Unexpected<'_>) -> Result<Amount, E> {
        if (0.0..=1.0).contains(&share) {
            Ok(Amount::Share(share))
        } else {
            Err(E::invalid_value(found, &self))
        }
    }
}

impl Visitor<'_> for Reader {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_f64<E: de::Error>(self, share: f64) -> Result<Amount, E> {
        self.share(share, de::Unexpected::Float(share))
    }

    fn visit_u64<E: de::Error>(self, tokens: u64) -> Result<Amount, E> {
        match tokens {
            // Nobody means one token, but many a one the whole window. Better to ask.
            1 => Err(E::invalid_value(de::Unexpected::Unsigned(1), &self)),
            tokens => Ok(Amount::Tokens(tokens)),
        }
    }

    fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<Amount, E> {
        match u64::try_from(tokens) {
            Ok(tokens) => self.visit_u64(tokens),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(tokens), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match percent {
            Some(percent) => self.share(percent / 100.0, de::Unexpected::Str(text)),
            None => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => serializer.serialize_f64(*share),
            Self::Tokens(tokens) => serializer.serialize_u64(*tokens),
        }
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a fraction, a percentage or a number of tokens",
            "anyOf": [
                { "type": "integer", "minimum": 0, "not": { "const": 1 } },
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_percentages_and_tokens_are_read() {
        for (json, expected) in [
            ("0.7", Amount::Share(0.7)),
            ("1.0", Amount::Share(1.0)),
            ("\"70%\"", Amount::Share(0.7)),
            ("\"62.5 %\"", Amount::Share(0.625)),
            ("\"100%\"", Amount::Share(1.0)),
            ("90000", Amount::Tokens(90_000)),
            ("0", Amount::Tokens(0)),
        ] {
            assert_eq!(serde_json::from_str::<Amount>(json).unwrap(), expected, "{json}");
        }
        for json in ["1", "-1", "1.5", "-0.1", "\"70\"", "\"%\"", "\"120%\"", "\"NaN%\"", "true"] {
            let error = serde_json::from_str::<Amount>(json).unwrap_err().to_string();
            assert!(error.contains("expected a fraction up to 1 (0.7)"), "{json}: {error}");
        }
    }

    #[test]
    fn a_share_is_rounded_to_tokens() {
        for (share, window, tokens) in
            [(0.7, 128_000, 89_600), (0.4, 8_192, 3_277), (1.0, u64::from(u32::MAX), 4_294_967_295)]
        {
            assert_eq!(Amount::Share(share).tokens(window), tokens);
        }
    }
}
