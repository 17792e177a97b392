//! `Part`: the JSON part of a sample, and the steps that all readers of it take.

use tarflume_formats::json::{JsonRules, Scan, Token};
use tarflume_image::ImageSize;

use crate::fault::Fault;
use crate::field::wrong_kind;

/// The JSON part of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What is JSON.
    pub rules: JsonRules,
    /// The size of the picture that the annotations are of.
    pub on: ImageSize,
}

/// Walks over a list.
pub(crate) fn list(
    scan: &mut Scan<'_>,
    expected: &'static str,
    mut each: impl FnMut(&mut Scan<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match scan.token()? {
        Token::Array => scan.array(|scan, _| each(scan)),
        other => Err(wrong_kind(expected, other).into()),
    }
}

/// A number; one of Python's words for numbers, too.
pub(crate) fn number(scan: &mut Scan<'_>) -> Result<f64, Fault> {
    match scan.token()? {
        Token::Number => {
            let text = scan.take_number()?.text();
            match text.parse::<f64>() {
                Ok(number) => Ok(number),
                Err(_) => Ok(f64::NAN), // `Infinity` and its kind: refused as not finite
            }
        }
        other => Err(wrong_kind("a number", other).into()),
    }
}
