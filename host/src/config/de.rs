//! Typed values from settings, with errors that know where they belong.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::diagnostic::Source;
use super::node::{Kind, Node};

/// A value that a type did not take.
#[derive(Debug)]
pub(super) struct Fault {
    pub message: String,
    pub place: Option<(Arc<Source>, Range<usize>)>,
}

impl Node {
    /// The value as a `T`. On failure, what is at fault is taken out and another attempt is made, so
    /// that one fault does not hide the next; all are returned, with the `T` that is left.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> (Option<T>, Vec<Fault>) {
        let mut faults = Vec::new();
        loop {
            let fault = match T::deserialize(&*self) {
                Ok(value) => return (Some(value), faults),
                Err(fault) => fault,
            };
            let removed = match &fault.place {
                Some((source, span)) => {
                    let (source, span) = (Arc::clone(source), span.clone());
                    self.remove_at(&source, &span)
                }
                None => false,
            };
            faults.push(fault);
            if !removed {
                return (None, faults);
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), place: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {expected}, found {}", words(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }
}

fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(flag) => format!("`{flag}`"),
        Unexpected::Unsigned(number) => format!("`{number}`"),
        Unexpected::Signed(number) => format!("`{number}`"),
        Unexpected::Float(number) => format!("`{number:?}`"),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    }
}

/// The words of JSON's reader for an option that its type did not take, in those used here.
pub(super) fn reword(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    let rest =
        message.strip_prefix("invalid value: ").or_else(|| message.strip_prefix("invalid type: "));
    match rest.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => {
            let value = ["string ", "integer ", "floating point ", "boolean "];
            let found = value.iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found);
            format!("expected {expected}, found {found}")
        }
        None => message.to_owned(),
    }
}

impl<'de> IntoDeserializer<'de, Fault> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node {
    fn mark<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.map_err(|fault| Fault {
            place: fault.place.or_else(|| Some((Arc::clone(&self.source), self.span.clone()))),
            ..fault
        })
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.mark(match &self.kind {
            Kind::Text(text) => visitor.visit_borrowed_str(text),
            Kind::Whole(number) => visitor.visit_i64(*number),
            Kind::Number(number) => visitor.visit_f64(*number),
            Kind::Flag(flag) => visitor.visit_bool(*flag),
            Kind::Huge(_) | Kind::Date => {
                Err(de::Error::invalid_type(Unexpected::Other(&self.words()), &visitor))
            }
            Kind::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Kind::Table(table) => visitor.visit_map(MapDeserializer::new(
                table.iter().map(|(key, entry)| (key.as_str(), &entry.node)),
            )),
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // A type that takes a table whole before it looks into it forgets where it stood.
        self.mark(visitor.visit_some(self))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.mark(match &self.kind {
            Kind::Text(text) => {
                let text: de::value::StrDeserializer<'_, Fault> = text.as_str().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            _ => Err(de::Error::custom(format!("expected a string, found {}", self.words()))),
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
