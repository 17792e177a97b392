//! A JSON value, once it is found, as elements of one type in the bytes of a row.
//!
//! Knows no column, no sample and no pointer. Nothing is built of what is read.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};

use super::number::Number;
use crate::column::DType;

/// Characters of a text that a message quotes.
const MOST_SHOWN: usize = 100;

/// Whether the pointer led to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Value,
    /// Nowhere, or to `null`.
    Nothing,
}

/// Takes the value: elements of one type, into the bytes of a row.
#[derive(Debug)]
pub(super) struct Sink<'a> {
    pub(super) bytes: &'a mut [u8],
    /// How many bytes were written.
    pub(super) written: usize,
    pub(super) dtype: DType,
    /// The lengths of the arrays; none for one array of any length.
    pub(super) shape: Option<&'a [usize]>,
    /// Whether a text is wanted.
    pub(super) text: bool,
    pub(super) labels: Option<&'a HashMap<String, i64>>,
}

impl Sink<'_> {
    pub(super) fn number(&mut self, number: Number) -> Result<(), String> {
        let Some((bytes, size)) = number.encode(self.dtype) else {
            let value: &dyn fmt::Display = match &number {
                Number::Whole(value) => value,
                Number::Real(value) => value,
            };
            return Err(format!("{value} is not within {}", self.dtype));
        };
        self.put(&bytes[..size])
    }

    pub(super) fn string(&mut self, text: &str) -> Result<(), String> {
        if self.text {
            return self.put(text.as_bytes());
        }
        match self.labels.map(|labels| labels.get(text)) {
            Some(Some(&number)) => self.number(number.into()),
            Some(None) => Err(format!("{} is none of the labels", shown(text))),
            None => Err(format!(
                "a number is expected, the text {} was found; labels turn texts into numbers",
                shown(text)
            )),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), String> {
        let room = self.bytes.len();
        let to = self.bytes.get_mut(self.written..self.written + bytes.len());
        to.ok_or_else(|| format!("more than the {room} bytes of a row"))?.copy_from_slice(bytes);
        self.written += bytes.len();
        Ok(())
    }
}

/// The beginning of a text, quoted, for a message: a text may be as long as its part.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Writes the value that stands in `bytes[at]` into `sink`.
///
/// # Errors
/// It does not fit: what was found and at which byte.
pub(super) fn read(bytes: &[u8], at: Range<usize>, sink: &mut Sink<'_>) -> Result<Found, String> {
    let mut json = serde_json::Deserializer::from_slice(&bytes[at.clone()]);
    let value = Value { shape: sink.shape, sink };
    value.deserialize(&mut json).map_err(|e| {
        let text = e.to_string();
        let place = format!(" at line {} column {}", e.line(), e.column());
        let text = text.strip_suffix(&place).unwrap_or(&text);
        let byte = at.start + byte_of(&bytes[at], e.line(), e.column());
        format!("{text}, at byte {byte} of the part")
    })
}

/// The byte at which a line and column, both counted from 1, stand.
fn byte_of(bytes: &[u8], line: usize, column: usize) -> usize {
    let before = bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + column.saturating_sub(1)
}

/// A value at the end of the path: one element, or arrays of the lengths in `shape`.
struct Value<'a, 'b> {
    shape: Option<&'a [usize]>,
    sink: &'a mut Sink<'b>,
}

impl Value<'_, '_> {
    /// A single value must not stand where an array is wanted.
    fn one<E: serde::de::Error>(&self) -> Result<(), E> {
        match self.shape {
            Some([]) => Ok(()),
            None if self.sink.text => Ok(()),
            Some([length, ..]) => Err(E::custom(format!(
                "an array of {length} is expected, a single value was found"
            ))),
            None => Err(E::custom("an array is expected, a single value was found")),
        }
    }

    fn number<E: serde::de::Error>(self, number: impl Into<Number>) -> Result<Found, E> {
        self.one()?;
        if self.sink.text || self.sink.labels.is_some() {
            return Err(E::custom("a text is expected, a number was found"));
        }
        self.sink.number(number.into()).map_err(E::custom)?;
        Ok(Found::Value)
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Found, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.sink.text { "a text" } else { "a number" };
        match self.shape {
            Some([]) => write!(f, "{what}"),
            Some([length, ..]) => write!(f, "an array of {length}"),
            None if self.sink.text => write!(f, "a text"),
            None => write!(f, "an array"),
        }
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Found, E> {
        self.number(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Found, E> {
        self.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Found, E> {
        self.number(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Found, E> {
        self.number(value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Found, E> {
        self.one()?;
        self.sink.string(text).map_err(E::custom)?;
        Ok(Found::Value)
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        let (length, inner): (Option<usize>, &[usize]) = match self.shape {
            Some([length, inner @ ..]) => (Some(*length), inner),
            None if !self.sink.text => (None, &[]),
            _ => return Err(A::Error::custom("a single value is expected, an array was found")),
        };
        let mut count = 0;
        while length != Some(count) {
            match seq.next_element_seed(Value { shape: Some(inner), sink: self.sink })? {
                Some(Found::Value) => count += 1,
                Some(Found::Nothing) => {
                    return Err(A::Error::custom("an element of the array is null"));
                }
                None if length.is_none() => return Ok(Found::Value),
                None => return Err(A::Error::custom(wrong_length(length, "fewer"))),
            }
        }
        match seq.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom(wrong_length(length, "more"))),
            None => Ok(Found::Value),
        }
    }
}

fn wrong_length(length: Option<usize>, has: &str) -> String {
    format!("an array of {} is expected, it has {has}", length.unwrap_or(0))
}
