//! Readers of fields: one value for each object, appended to lists that the caller keeps from sample to sample.

mod points;
mod segmentations;
mod values;

use tarflume_formats::json::{JsonRules, Scan, Token};
use tarflume_image::ImageSize;

use crate::boxes::{BoxFormat, in_pixels};
use crate::fault::{Fault, Wrong};
use crate::field::{Field, wrong_kind};

pub use self::points::{Points, points};
pub use self::segmentations::{Segmentations, segmentations};
pub use self::values::{Value, values};

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

/// How boxes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxForm {
    /// What the four numbers are.
    pub format: BoxFormat,
    /// Whether they are fractions of the picture's sides.
    pub relative: bool,
}

/// Appends the corners of each box, in pixels: left, top, right, bottom. Returns the number of objects.
///
/// # Errors
/// The text is not JSON, an object has no four finite numbers, or a width or a height is negative.
///
/// ```
/// use tarflume_annotations::boxes::BoxFormat;
/// use tarflume_annotations::field::Field;
/// use tarflume_annotations::read::{BoxForm, Part, boxes};
///
/// let bytes = br#"{"boxes": [[1, 2, 30, 40]]}"#;
/// let part = Part { bytes, rules: Default::default(), on: tarflume_image::ImageSize::new(64, 48) };
/// let mut corners = Vec::new();
/// let form = BoxForm { format: BoxFormat::Xywh, relative: false };
/// assert_eq!(boxes(&Field::parse("/boxes").unwrap(), part, form, &mut corners)?, 1);
/// assert_eq!(corners, [[1.0, 2.0, 31.0, 42.0]]);
/// # Ok::<(), tarflume_annotations::fault::Fault>(())
/// ```
pub fn boxes(
    field: &Field,
    part: Part<'_>,
    form: BoxForm,
    to: &mut Vec<[f64; 4]>,
) -> Result<u64, Fault> {
    field.each(part.bytes, part.rules, |scan, _| {
        let numbers = four(scan)?;
        to.push(in_pixels(numbers, form.format, form.relative, part.on)?);
        Ok(())
    })
}

/// The four numbers of a box.
fn four(scan: &mut Scan<'_>) -> Result<[f64; 4], Fault> {
    let mut numbers = [0.0; 4];
    let mut count = 0;
    list(scan, "a list of four numbers", |scan| {
        let number = number(scan)?;
        if let Some(to) = numbers.get_mut(count) {
            *to = number;
        }
        count += 1;
        Ok(())
    })?;
    if count == 4 {
        return Ok(numbers);
    }
    let expected = "a list of four numbers".to_string();
    Err(Wrong::Length { expected, found: count as u64 }.into())
}

/// Walks over a list.
fn list(
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
fn number(scan: &mut Scan<'_>) -> Result<f64, Fault> {
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
