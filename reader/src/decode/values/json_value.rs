//! Converts a JSON value into elements of one type in the bytes of a row.
//!
//! Knows no columns, samples or pointers. Walks over the tokens without building the value.

use std::collections::HashMap;
use std::ops::Range;

use tarflume_formats::json::{self, JsonFault, JsonRules, Scan, Token};
use tarflume_types::DType;

use super::json_advice::{Language, no_such_label, shown};
use super::number::Number;

/// The result of reading a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) enum JsonResult {
    Value,
    /// The value is `null` or absent.
    Nothing,
}

/// Receives the elements of a value and writes them into a row.
#[derive(Debug)]
pub(in crate::decode) struct Sink<'a> {
    pub(in crate::decode) bytes: &'a mut [u8],
    /// Number of bytes written.
    pub(in crate::decode) written: usize,
    pub(in crate::decode) dtype: DType,
    /// The expected lengths of the nested arrays; `None` for one array of any length.
    pub(in crate::decode) shape: Option<&'a [usize]>,
    /// The lengths of the nested arrays in one array of any length.
    pub(in crate::decode) inner: &'a [usize],
    /// Whether a text is expected.
    pub(in crate::decode) text: bool,
    pub(in crate::decode) labels: Option<&'a HashMap<String, i64>>,
    /// Where the value is, and the language of errors about it.
    pub(in crate::decode) pointer: &'a str,
    pub(in crate::decode) language: Option<Language>,
    /// What an error advises.
    pub(in crate::decode) advice: Option<String>,
}

impl Sink<'_> {
    pub(in crate::decode) fn number(&mut self, number: Number) -> Result<(), String> {
        let Some((bytes, size)) = number.encode(self.dtype) else {
            return Err(number.misfit(self.dtype));
        };
        self.put(&bytes[..size])
    }

    /// Writes a number of a text. Whole numbers stay the same; a fraction becomes the nearest float of a narrow type, and
    /// the float of 64 bits that it stands for.
    fn literal(&mut self, literal: json::Number<'_>) -> Result<(), String> {
        if !self.dtype.is_float() || literal.is_integer() {
            let whole = literal.whole().ok_or_else(|| out_of_range(&literal, self.dtype))?;
            return self.number(Number::Whole(whole));
        }
        // From the digits to 32 bits in one step: through 64 bits some would be rounded twice.
        let real = match self.dtype {
            DType::F32 => literal.nearest_single().into(),
            _ => literal.nearest(),
        };
        if !real.is_finite() && !literal.is_special() {
            return Err(out_of_range(&literal, self.dtype));
        }
        if self.dtype == DType::F64 && literal.real().is_none() {
            return Err(format!("{:.60} would be rounded in {}", literal.text(), self.dtype));
        }
        self.number(Number::Real(real))
    }

    pub(in crate::decode) fn string(&mut self, text: &str) -> Result<(), String> {
        if self.text {
            return self.put(text.as_bytes());
        }
        let Some(labels) = self.labels else {
            self.advice = self.language.map(|language| language.for_text(self.pointer, text));
            return Err(format!("expected a number, found the text {}", shown(text)));
        };
        match labels.get(text) {
            Some(&number) => self.number(number.into()),
            None => Err(no_such_label(text, labels)),
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

/// What is wrong with a value, and the byte of the part.
struct Wrong {
    byte: usize,
    what: String,
}

impl From<JsonFault> for Wrong {
    fn from(fault: JsonFault) -> Wrong {
        Wrong { byte: fault.byte, what: fault.what }
    }
}

/// Writes the value in `bytes[at]`, which `find` has found by the same rules, into `sink`.
///
/// # Errors
/// Returns a message with the byte if the value does not have the expected type or shape.
pub(in crate::decode) fn read(
    bytes: &[u8],
    at: Range<usize>,
    rules: JsonRules,
    sink: &mut Sink<'_>,
) -> Result<JsonResult, String> {
    let scan = Scan::new(&bytes[at.clone()], rules).map_err(Wrong::from);
    let read = scan.and_then(|mut scan| value(&mut scan, sink.shape, sink));
    read.map_err(|Wrong { byte, what }| {
        let advice = sink.advice.take().map(|advice| format!("; {advice}"));
        let byte = at.start + byte;
        format!("{what}, at byte {byte} of the part{}", advice.unwrap_or_default())
    })
}

/// Reads one element, or nested arrays with the lengths in `shape`.
fn value(
    scan: &mut Scan<'_>,
    shape: Option<&[usize]>,
    sink: &mut Sink<'_>,
) -> Result<JsonResult, Wrong> {
    let token = scan.token()?;
    let byte = scan.at();
    match token {
        Token::Null => {
            scan.word(token);
            return Ok(JsonResult::Nothing);
        }
        Token::Array => return array(scan, shape, sink),
        Token::Object => {
            let what = format!("expected {}, found an object", expected(shape, sink));
            return Err(Wrong { byte, what });
        }
        _ => one(shape, sink).map_err(|what| Wrong { byte, what })?,
    }
    let written = if token == Token::String {
        let text = scan.take_string()?;
        sink.string(&text)
    } else if sink.text || sink.labels.is_some() {
        Err("expected a text, found a number".into())
    } else if token == Token::Number {
        let number = scan.take_number()?;
        sink.literal(number)
    } else {
        scan.word(token);
        sink.number((token == Token::True).into())
    };
    written.map(|()| JsonResult::Value).map_err(|what| Wrong { byte, what })
}

fn out_of_range(literal: &json::Number<'_>, dtype: DType) -> String {
    format!("{:.60} is outside the range of {dtype}", literal.text())
}

fn expected(shape: Option<&[usize]>, sink: &Sink<'_>) -> String {
    match shape {
        Some([length, ..]) => format!("an array of {length}"),
        None if !sink.text => "an array".into(),
        _ if sink.text || sink.labels.is_some() => "a text".into(),
        _ => "a number".into(),
    }
}

/// Returns an error if an array is expected and not a single value.
fn one(shape: Option<&[usize]>, sink: &Sink<'_>) -> Result<(), String> {
    match shape {
        Some([]) => Ok(()),
        None if sink.text => Ok(()),
        Some([length, ..]) => Err(format!("expected an array of {length}, found a single value")),
        None => Err("expected an array, found a single value".into()),
    }
}

fn array(
    scan: &mut Scan<'_>,
    shape: Option<&[usize]>,
    sink: &mut Sink<'_>,
) -> Result<JsonResult, Wrong> {
    let (length, inner): (Option<usize>, &[usize]) = match shape {
        Some([length, inner @ ..]) => (Some(*length), inner),
        None if !sink.text => (None, sink.inner),
        _ => {
            let what = "expected a single value, found an array".into();
            return Err(Wrong { byte: scan.at(), what });
        }
    };
    let mut count = 0;
    scan.array(|scan, _| {
        if length == Some(count) {
            return Err(Wrong { byte: scan.at(), what: wrong_length(length, "more") });
        }
        count += 1;
        match value(scan, Some(inner), sink)? {
            JsonResult::Value => Ok(()),
            JsonResult::Nothing => {
                let what = "an element of the array is null".into();
                Err(Wrong { byte: scan.at(), what })
            }
        }
    })?;
    if length.is_none_or(|length| length == count) {
        Ok(JsonResult::Value)
    } else {
        Err(Wrong { byte: scan.at(), what: wrong_length(length, "fewer") })
    }
}

fn wrong_length(length: Option<usize>, has: &str) -> String {
    format!("expected an array of {}, found {has} elements", length.unwrap_or(0))
}
