//! The walk along a JSON pointer: what lies beside the path is skipped, what it leads to is written
//! as elements.
//!
//! Knows no column and no sample. Nothing is built of what is read.

use std::collections::HashMap;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::number::Number;
use crate::column::DType;

/// A parsed JSON pointer (RFC 6901).
#[derive(Debug, Clone)]
pub(super) struct Pointer(Vec<Step>);

#[derive(Debug, Clone)]
struct Step {
    key: String,
    index: Option<u64>,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Pointer, String> {
        if text.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!("a pointer begins with a slash: try \"/{text}\""));
        };
        let steps = rest.split('/').map(|step| {
            let key = step.replace("~1", "/").replace("~0", "~");
            let plain = step == "0" || !step.starts_with(['0', '+']);
            Step { index: step.parse().ok().filter(|_| plain), key }
        });
        Ok(Pointer(steps.collect()))
    }
}

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
            return Err(format!("{value} is not within {:?}", self.dtype));
        };
        self.put(&bytes[..size])
    }

    pub(super) fn string(&mut self, text: &str) -> Result<(), String> {
        if self.text {
            return self.put(text.as_bytes());
        }
        match self.labels.map(|labels| labels.get(text)) {
            Some(Some(&number)) => self.number(number.into()),
            Some(None) => Err(format!("{text:?} is none of the labels")),
            None => Err(format!(
                "a number is expected, the text {text:?} was found; labels turn texts into numbers"
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

/// Writes what `pointer` leads to in the JSON text `bytes` into `sink`. Of a key that stands twice
/// the last counts.
///
/// # Errors
/// No JSON, or a value that does not fit: what was found and at which byte.
pub(super) fn read(bytes: &[u8], pointer: &Pointer, sink: &mut Sink<'_>) -> Result<Found, String> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let walk = Walk { steps: &pointer.0, sink };
    let found = walk.deserialize(&mut json).and_then(|found| json.end().map(|()| found));
    found.map_err(|e| {
        let text = e.to_string();
        let place = format!(" at line {} column {}", e.line(), e.column());
        let text = text.strip_suffix(&place).unwrap_or(&text);
        format!("{text}, at byte {} of the part", byte_of(bytes, e.line(), e.column()))
    })
}

/// The byte at which a line and column, both counted from 1, stand.
fn byte_of(bytes: &[u8], line: usize, column: usize) -> usize {
    let before = bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + column.saturating_sub(1)
}

/// Goes along the steps, then hands over to [`Value`].
struct Walk<'a, 'b> {
    steps: &'a [Step],
    sink: &'a mut Sink<'b>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Found, D::Error> {
        match self.steps.split_first() {
            None => {
                self.sink.written = 0;
                let shape = self.sink.shape;
                Value { shape, sink: self.sink }.deserialize(json)
            }
            Some((step, steps)) => json.deserialize_any(Descent { step, steps, sink: self.sink }),
        }
    }
}

/// One step down an object or array; anything else has nothing there.
struct Descent<'a, 'b> {
    step: &'a Step,
    steps: &'a [Step],
    sink: &'a mut Sink<'b>,
}

macro_rules! nothing_there {
    ($($visit:ident: $value:ty),*) => { $(
        fn $visit<E>(self, _: $value) -> Result<Found, E> {
            Ok(Found::Nothing)
        }
    )* };
}

impl<'de> Visitor<'de> for Descent<'_, '_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON")
    }

    nothing_there!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::Nothing;
        while let Some(here) = map.next_key_seed(KeyIs(&self.step.key))? {
            if here {
                found = map.next_value_seed(Walk { steps: self.steps, sink: self.sink })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        if let Some(index) = self.step.index {
            for _ in 0..index {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(Found::Nothing);
                }
            }
            let found = seq.next_element_seed(Walk { steps: self.steps, sink: self.sink })?;
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(found.unwrap_or(Found::Nothing));
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::Nothing)
    }
}

/// Whether the next key is this one; the key is not kept.
struct KeyIs<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
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
