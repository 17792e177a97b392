//! Converts a JSON value into elements of one type in the bytes of a row.
//!
//! Knows no columns, samples or pointers. Streams the value through serde without building it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};

use super::number::Number;
use crate::column::DType;

/// Maximum characters of a text that a message quotes.
const MOST_SHOWN: usize = 100;

/// The result of reading a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonResult {
    Value,
    /// The value is `null` or absent.
    Nothing,
}

/// Receives the elements of a value and writes them into a row.
#[derive(Debug)]
pub(super) struct Sink<'a> {
    pub(super) bytes: &'a mut [u8],
    /// Number of bytes written.
    pub(super) written: usize,
    pub(super) dtype: DType,
    /// The expected lengths of the nested arrays; `None` for one array of any length.
    pub(super) shape: Option<&'a [usize]>,
    /// The lengths of the nested arrays in one array of any length.
    pub(super) inner: &'a [usize],
    /// Whether a text is expected.
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
            return Err(format!("{value} is outside the range of {}", self.dtype));
        };
        self.put(&bytes[..size])
    }

    pub(super) fn string(&mut self, text: &str) -> Result<(), String> {
        if self.text {
            return self.put(text.as_bytes());
        }
        match self.labels.map(|labels| labels.get(text)) {
            Some(Some(&number)) => self.number(number.into()),
            Some(None) => Err(format!("{} is not one of the labels", shown(text))),
            None => Err(format!(
                "expected a number, found the text {}; labels map texts to numbers",
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

/// The quoted beginning of a text, for a message. A text may be as long as its part.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Writes the value in `bytes[at]` into `sink`.
///
/// # Errors
/// Returns a message with the byte if the value does not have the expected type or shape.
pub(super) fn read(
    bytes: &[u8],
    at: Range<usize>,
    sink: &mut Sink<'_>,
) -> Result<JsonResult, String> {
    let mut json = serde_json::Deserializer::from_slice(&bytes[at.clone()]);
    let value = Value { shape: sink.shape, sink };
    value.deserialize(&mut json).map_err(|e| {
        // serde appends a position within the value; the message names the byte of the part instead.
        let text = e.to_string();
        let place = format!(" at line {} column {}", e.line(), e.column());
        let text = text.strip_suffix(&place).unwrap_or(&text);
        let byte = at.start + byte_of(&bytes[at], e.line(), e.column());
        format!("{text}, at byte {byte} of the part")
    })
}

/// The byte offset of a line and column, both counted from 1.
fn byte_of(bytes: &[u8], line: usize, column: usize) -> usize {
    let before = bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + column.saturating_sub(1)
}

/// A value at the end of the path: one element, or nested arrays with the lengths in `shape`.
struct Value<'a, 'b> {
    shape: Option<&'a [usize]>,
    sink: &'a mut Sink<'b>,
}

impl Value<'_, '_> {
    /// Returns an error if an array is expected and not a single value.
    fn one<E: serde::de::Error>(&self) -> Result<(), E> {
        match self.shape {
            Some([]) => Ok(()),
            None if self.sink.text => Ok(()),
            Some([length, ..]) => {
                Err(E::custom(format!("expected an array of {length}, found a single value")))
            }
            None => Err(E::custom("expected an array, found a single value")),
        }
    }

    fn number<E: serde::de::Error>(self, number: impl Into<Number>) -> Result<JsonResult, E> {
        self.one()?;
        if self.sink.text || self.sink.labels.is_some() {
            return Err(E::custom("expected a text, found a number"));
        }
        self.sink.number(number.into()).map_err(E::custom)?;
        Ok(JsonResult::Value)
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = JsonResult;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<JsonResult, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = JsonResult;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.sink.text { "a text" } else { "a number" };
        match self.shape {
            Some([]) => write!(f, "{what}"),
            Some([length, ..]) => write!(f, "an array of {length}"),
            None if self.sink.text => write!(f, "a text"),
            None => write!(f, "an array"),
        }
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<JsonResult, E> {
        self.number(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<JsonResult, E> {
        self.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<JsonResult, E> {
        self.number(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<JsonResult, E> {
        self.number(value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<JsonResult, E> {
        self.one()?;
        self.sink.string(text).map_err(E::custom)?;
        Ok(JsonResult::Value)
    }

    fn visit_unit<E>(self) -> Result<JsonResult, E> {
        Ok(JsonResult::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonResult, A::Error> {
        let (length, inner): (Option<usize>, &[usize]) = match self.shape {
            Some([length, inner @ ..]) => (Some(*length), inner),
            None if !self.sink.text => (None, self.sink.inner),
            _ => return Err(A::Error::custom("expected a single value, found an array")),
        };
        let mut count = 0;
        while length != Some(count) {
            match seq.next_element_seed(Value { shape: Some(inner), sink: self.sink })? {
                Some(JsonResult::Value) => count += 1,
                Some(JsonResult::Nothing) => {
                    return Err(A::Error::custom("an element of the array is null"));
                }
                None if length.is_none() => return Ok(JsonResult::Value),
                None => return Err(A::Error::custom(wrong_length(length, "fewer"))),
            }
        }
        match seq.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom(wrong_length(length, "more"))),
            None => Ok(JsonResult::Value),
        }
    }
}

fn wrong_length(length: Option<usize>, has: &str) -> String {
    format!("expected an array of {}, found {has} elements", length.unwrap_or(0))
}
