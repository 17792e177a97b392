//! `Json`: the value at a JSON pointer as a typed column.
//!
//! Reads the text once and skips everything outside the pointer's path. Allocates only if the wanted key or text has
//! escapes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tarflume_dataset::StoredValues;
use tarflume_formats::ClassTable;
use tarflume_formats::json::{JsonFault, JsonRules, Pointer, find};
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use super::numbers::stored_number::StoredNumber;
use super::values::json_advice::{Language, fields, no_value};
use super::values::json_value::{JsonResult, Sink, read};
use super::values::number::Number;
use super::{Decode, DecodeHooks, Sample, Scratch};

/// A column of numbers, labels or texts from a JSON part.
///
/// ```
/// use tarflume::{DType, Decode, Json, RowShape};
///
/// let class = Json::new("json", "/class");
/// assert_eq!(Decode::shape(&class), RowShape::Fixed(DType::I64, vec![]));
/// let corners = Json::new("json", "/boxes/0").dtype(DType::F32).shape([4]).default(0.0);
/// let tokens = Json::new("json", "/tokens").dtype(DType::U16).variable();
/// let caption = Json::new("json", "/caption").text();
/// let kind = Json::new("json", "/kind").labels(["cat", "dog"]);
/// # for column in [corners, tokens, caption, kind] { column.validate().unwrap(); }
/// ```
#[derive(Clone)]
pub struct Json {
    ext: String,
    pointer: String,
    path: Result<Pointer, String>,
    kind: JsonKind,
    dtype: DType,
    labels: Option<HashMap<String, i64>>,
    default: Option<JsonDefault>,
    rules: JsonRules,
    language: Option<Language>,
}

#[derive(Debug, Clone, PartialEq)]
enum JsonKind {
    Fixed(Vec<usize>),
    /// Any number of arrays of this shape; of single elements if it is empty.
    Variable(Vec<usize>),
    Text,
}

/// The content of a row whose sample has no value at the pointer.
///
/// ```
/// use tarflume::{Json, JsonDefault};
///
/// let unknown: JsonDefault = "unknown".into();
/// let kind = Json::new("json", "/kind").text().default(unknown);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum JsonDefault {
    /// One number for each element of the row, or one number for all elements.
    Numbers(Vec<Number>),
    /// For columns of text. For columns of labels, one of the labels.
    Text(String),
}

impl<T: Into<Number>> From<T> for JsonDefault {
    fn from(number: T) -> JsonDefault {
        JsonDefault::Numbers(vec![number.into()])
    }
}

impl<T: Into<Number>> From<Vec<T>> for JsonDefault {
    fn from(numbers: Vec<T>) -> JsonDefault {
        JsonDefault::Numbers(numbers.into_iter().map(Into::into).collect())
    }
}

impl From<&str> for JsonDefault {
    fn from(text: &str) -> JsonDefault {
        JsonDefault::Text(text.to_string())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} {:?}: {:?})", self.ext, self.pointer, self.shape())
    }
}

impl Json {
    /// Reads the number at `pointer` (RFC 6901: `/class`, `/boxes/0`, empty for the whole text) of the part
    /// `ext`, one `i64` for each row.
    pub fn new(ext: impl Into<String>, pointer: impl Into<String>) -> Json {
        let pointer = pointer.into();
        Json {
            ext: ext.into(),
            path: Pointer::parse(&pointer),
            pointer,
            kind: JsonKind::Fixed(Vec::new()),
            dtype: DType::I64,
            labels: None,
            default: None,
            rules: JsonRules::Strict,
            language: Some(Language::Rust),
        }
    }

    /// Sets the element type. A number outside its range is an error, and so is a whole number that a float type would
    /// round. A number with a point or an exponent becomes the nearest float, `16777217.0` too. `true` is 1.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    /// Reads (nested) arrays of exactly this shape.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.kind = JsonKind::Fixed(shape.into());
        self
    }

    /// Reads arrays of any length as a variable column.
    #[must_use]
    pub fn variable(mut self) -> Self {
        self.kind = JsonKind::Variable(Vec::new());
        self
    }

    /// Reads arrays of any number of (nested) arrays of exactly this shape, such as boxes of four numbers,
    /// as a variable column of all their numbers.
    #[must_use]
    pub fn variable_of(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.kind = JsonKind::Variable(shape.into());
        self
    }

    /// Reads strings in UTF-8 as a variable column of bytes.
    #[must_use]
    pub fn text(mut self) -> Self {
        (self.kind, self.dtype) = (JsonKind::Text, DType::U8);
        self
    }

    /// Maps strings to numbers: the first label is 0, the next one 1. Any other string is an error.
    #[must_use]
    pub fn labels<S: Into<String>>(self, labels: impl IntoIterator<Item = S>) -> Self {
        self.label_numbers(labels.into_iter().zip(0..))
    }

    /// Maps strings to the numbers given with them.
    #[must_use]
    pub fn label_numbers<S: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (S, i64)>,
    ) -> Self {
        self.labels = Some(labels.into_iter().map(|(label, n)| (label.into(), n)).collect());
        self
    }

    /// Sets the content of a row whose pointer leads nowhere or to `null`. Without a default, that is an error.
    #[must_use]
    pub fn default(mut self, default: impl Into<JsonDefault>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Sets which texts are JSON. [`JsonRules::Python`] also accepts `NaN`, `Infinity`, `-Infinity`, and halves of
    /// surrogate pairs, which become U+FFFD.
    #[must_use]
    pub fn rules(mut self, rules: JsonRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the language of the calls that errors advise; without one they advise none.
    #[doc(hidden)]
    #[must_use]
    pub fn language(mut self, language: Option<Language>) -> Self {
        self.language = language;
        self
    }

    fn sink<'a>(&'a self, bytes: &'a mut [u8]) -> Sink<'a> {
        let shape = match &self.kind {
            JsonKind::Fixed(shape) => Some(shape.as_slice()),
            JsonKind::Variable(_) | JsonKind::Text => None,
        };
        let inner = match &self.kind {
            JsonKind::Variable(inner) => inner.as_slice(),
            _ => &[],
        };
        let text = self.kind == JsonKind::Text;
        let labels = self.labels.as_ref();
        let dtype = self.dtype;
        let pointer = &self.pointer;
        Sink {
            bytes,
            written: 0,
            dtype,
            shape,
            inner,
            text,
            labels,
            pointer,
            language: self.language,
            advice: None,
        }
    }

    fn write_default(&self, bytes: &mut [u8]) -> Result<usize, String> {
        let Some(default) = &self.default else { return Err("there is no value".into()) };
        let room = bytes.len();
        let mut sink = self.sink(bytes);
        match (default, &self.kind) {
            (JsonDefault::Numbers(_), JsonKind::Text) => {
                return Err("its default is a number, but its column is text".into());
            }
            (JsonDefault::Numbers(numbers), JsonKind::Fixed(shape)) => {
                let count: usize = shape.iter().product();
                if numbers.len() != 1 && numbers.len() != count {
                    return Err(format!("its default has {} of {count} numbers", numbers.len()));
                }
                for at in 0..count {
                    sink.number(numbers[at % numbers.len()])?;
                }
            }
            (JsonDefault::Numbers(numbers), JsonKind::Variable(_)) => {
                numbers.iter().try_for_each(|&number| sink.number(number))?;
            }
            (JsonDefault::Text(text), _) => sink.string(text)?,
        }
        Ok(sink.written.min(room))
    }

    fn bad_json(&self, fault: &JsonFault) -> Error {
        let what = fault.advised("Json(..., rules=\"python\") reads it as Python does");
        self.fault(&format!("{}, at byte {} of the part", what.text(), fault.byte))
    }

    fn usage(&self, what: &str) -> Error {
        Error::usage(format!("JSON pointer {:?}: {what}", self.pointer))
    }

    fn fault(&self, what: &str) -> Error {
        Error::new(ErrorKind::Decode, format!("JSON pointer {:?}: {what}", self.pointer))
    }
}

/// Bytes to reserve for reading a value. A text with escapes is built in a buffer that grows by doubling, hence the
/// factor. Short texts are not counted.
fn unescaping(value: &[u8]) -> u64 {
    let long = value.len() > 64 << 10 && value.contains(&b'\\');
    if long { 3 * value.len() as u64 } else { 0 }
}

impl Decode for Json {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        match &self.kind {
            JsonKind::Fixed(shape) => RowShape::Fixed(self.dtype, shape.clone()),
            JsonKind::Variable(_) | JsonKind::Text => RowShape::Variable(self.dtype),
        }
    }

    fn validate(&self) -> Result<()> {
        if let Err(what) = &self.path {
            return Err(self.usage(what));
        }
        if self.kind == JsonKind::Text && (self.dtype != DType::U8 || self.labels.is_some()) {
            return Err(self.usage("text is bytes: it accepts no type and no labels"));
        }
        if self.default.is_some() {
            // A default must fit every row, so a large row is a sufficient test.
            let room = self.shape().bytes().unwrap_or(1 << 16);
            self.write_default(&mut vec![0; room]).map_err(|what| self.usage(&what))?;
        }
        Ok(())
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        let length = lengths.first().copied().unwrap_or(0);
        let default = match &self.default {
            Some(JsonDefault::Numbers(numbers)) => numbers.len() as u64,
            Some(JsonDefault::Text(text)) => text.len() as u64,
            None => 0,
        };
        // A number in an array takes at least two bytes of text.
        let elements = if self.kind == JsonKind::Text { length } else { length.div_ceil(2) };
        elements.max(default).saturating_mul(self.dtype.size() as u64)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let path = self.path.as_ref().map_err(|what| self.fault(what))?;
        let bytes = sample.part(0);
        let mut sink = self.sink(row.bytes());
        let found = match find(bytes, path, self.rules).map_err(|fault| self.bad_json(&fault))? {
            Some(at) => {
                if let buffer @ 1.. = unescaping(&bytes[at.clone()]) {
                    scratch.reserve(buffer)?;
                }
                read(bytes, at, self.rules, &mut sink).map_err(|what| self.fault(&what))?
            }
            None => JsonResult::Nothing,
        };
        let written = match found {
            JsonResult::Value => sink.written,
            JsonResult::Nothing => {
                if self.default.is_none() {
                    let has = fields(bytes, &self.pointer, self.rules);
                    return Err(self.fault(&no_value(&has, self.language)));
                }
                self.write_default(row.bytes()).map_err(|what| self.fault(&what))?
            }
        };
        let elements = match &self.kind {
            JsonKind::Fixed(shape) => Some(shape.iter().product::<usize>()),
            JsonKind::Variable(_) | JsonKind::Text => None,
        };
        if elements.is_some_and(|count| count * self.dtype.size() != written) {
            return Err(self.fault(&format!("{written} bytes do not fill a row")));
        }
        row.set_used(written);
        Ok(())
    }
}

impl DecodeHooks for Json {
    fn value_place(&self) -> Option<(&str, Option<&str>)> {
        // A default would hide a value that a column of another type could not hold.
        let is_one = self.kind == JsonKind::Fixed(Vec::new()) && self.default.is_none();
        is_one.then_some((&self.ext, Some(&self.pointer)))
    }

    fn with_classes(&self, classes: &ClassTable) -> Option<Arc<dyn Decode>> {
        let is_name = self.pointer == ClassTable::NAME_POINTER
            && self.labels.is_none()
            && self.kind != JsonKind::Text;
        let numbers = classes.numbers().filter(|_| is_name)?;
        Some(Arc::new(self.clone().label_numbers(numbers)))
    }

    fn with_values(&self, values: StoredValues) -> Option<Arc<dyn Decode>> {
        let shape = Decode::shape(self);
        let stored = StoredNumber::new(values, self.dtype, self.labels.as_ref(), shape)?;
        let stored = stored.with_rules(self.rules).with_language(self.language);
        Some(Arc::new(stored))
    }
}

#[cfg(test)]
mod tests;
