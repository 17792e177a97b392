//! Boxes with an angle: five numbers, or four corners.

use tarflume_formats::json::{Scan, Token};

use crate::boxes::RotatedFormat;
use crate::fault::{Fault, Wrong};
use crate::field::Field;
use crate::part::{Part, list, number};

/// The numbers of four corners; formats with fewer numbers leave the last ones 0.
const MOST: usize = 8;

/// How boxes with an angle are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotatedForm {
    /// What the numbers are.
    pub format: RotatedFormat,
    /// Whether x and widths are fractions of the picture's width, y and heights of its height. The width of a box is that
    /// before it was turned. An angle is always in degrees.
    pub relative: bool,
}

/// The numbers of one object while they are read.
#[derive(Default)]
struct Taken {
    numbers: [f64; MOST],
    count: usize,
    /// Numbers that are in no list of the object's list.
    loose: usize,
    /// Lists in the object's list, and those with two numbers.
    lists: usize,
    pairs: usize,
}

/// Appends the numbers of each box, in pixels: `[x, y, width, height, degrees, 0, 0, 0]`, or x and y of four corners. Degrees
/// are between -360 and 360. Returns the number of objects.
///
/// Four corners are a list of eight numbers, one of four pairs, or one with one polygon of eight numbers.
///
/// # Errors
/// The text is not JSON, an object has another number of numbers, one is not finite, or a width or a height is negative.
///
/// ```
/// use tarflume_annotations::boxes::RotatedFormat;
/// use tarflume_annotations::field::Field;
/// use tarflume_annotations::read::{Part, RotatedForm, rotated_boxes};
///
/// let bytes = br#"{"obb": [[0.5, 0.5, 0.25, 0.125, 30]]}"#;
/// let part = Part { bytes, rules: Default::default(), on: tarflume_image::ImageSize::new(64, 48) };
/// let mut found = Vec::new();
/// let form = RotatedForm { format: RotatedFormat::Cxcywhr, relative: true };
/// assert_eq!(rotated_boxes(&Field::parse("/obb").unwrap(), part, form, &mut found)?, 1);
/// assert_eq!(found, [[32.0, 24.0, 16.0, 6.0, 30.0, 0.0, 0.0, 0.0]]);
/// # Ok::<(), tarflume_annotations::fault::Fault>(())
/// ```
pub fn rotated_boxes(
    field: &Field,
    part: Part<'_>,
    form: RotatedForm,
    to: &mut Vec<[f64; MOST]>,
) -> Result<u64, Fault> {
    field.each(part.bytes, part.rules, |scan, _| {
        let numbers = match form.format {
            RotatedFormat::Xyxyxyxy => corners(scan)?,
            RotatedFormat::Xywhr | RotatedFormat::Cxcywhr => angled(scan)?,
        };
        to.push(in_pixels(numbers, form, part)?);
        Ok(())
    })
}

impl Taken {
    fn take(&mut self, scan: &mut Scan<'_>) -> Result<(), Fault> {
        let number = number(scan)?;
        if let Some(to) = self.numbers.get_mut(self.count) {
            *to = number;
        }
        self.count += 1;
        Ok(())
    }
}

/// Five numbers.
fn angled(scan: &mut Scan<'_>) -> Result<[f64; MOST], Fault> {
    let expected = "a list of five numbers";
    let mut taken = Taken::default();
    list(scan, expected, |scan| taken.take(scan))?;
    if taken.count == RotatedFormat::Cxcywhr.count() {
        return Ok(taken.numbers);
    }
    Err(Wrong::Length { expected: expected.to_string(), found: taken.count as u64 }.into())
}

/// Four corners.
fn corners(scan: &mut Scan<'_>) -> Result<[f64; MOST], Fault> {
    let expected = "the eight numbers of four corners";
    let mut taken = Taken::default();
    list(scan, expected, |scan| {
        if !matches!(scan.token()?, Token::Array) {
            taken.loose += 1;
            return taken.take(scan);
        }
        let before = taken.count;
        list(scan, expected, |scan| taken.take(scan))?;
        taken.lists += 1;
        taken.pairs += usize::from(taken.count == before + 2);
        Ok(())
    })?;
    if taken.count != MOST {
        let found = taken.count as u64;
        return Err(Wrong::Length { expected: expected.to_string(), found }.into());
    }
    let is_flat = taken.lists == 0;
    let is_polygon = taken.lists == 1 && taken.loose == 0;
    let has_pairs = taken.lists == 4 && taken.pairs == 4;
    if is_flat || is_polygon || has_pairs {
        return Ok(taken.numbers);
    }
    let expected = "the eight numbers of four corners: in one list, or four pairs";
    Err(Wrong::Kind { expected, found: "lists of other lengths" }.into())
}

/// The numbers in pixels.
///
/// # Errors
/// A number is not finite, or a width or a height is negative.
fn in_pixels(
    written: [f64; MOST],
    form: RotatedForm,
    part: Part<'_>,
) -> Result<[f64; MOST], Wrong> {
    let RotatedForm { format, relative } = form;
    let sides = [part.on.width, part.on.height].map(f64::from);
    let scale = if relative { sides } else { [1.0, 1.0] };
    let mut numbers = written;
    let is_angled = format != RotatedFormat::Xyxyxyxy;
    let lengths = if is_angled { 4 } else { MOST };
    for (at, number) in numbers[..lengths].iter_mut().enumerate() {
        *number *= scale[at % 2];
    }
    if is_angled {
        // Whole turns change nothing, and sines of large angles are not exact.
        numbers[4] %= 360.0;
    }
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(Wrong::NotFinite);
    }
    let [x, y, width, height, ..] = written;
    if is_angled && (width < 0.0 || height < 0.0) {
        return Err(Wrong::Negative { format: format.into(), numbers: [x, y, width, height] });
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_image::ImageSize;

    fn read(json: &str, format: RotatedFormat) -> Result<Vec<[f64; MOST]>, Fault> {
        let rules = tarflume_formats::json::JsonRules::Python;
        let part = Part { bytes: json.as_bytes(), rules, on: ImageSize::new(64, 48) };
        let mut found = Vec::new();
        let form = RotatedForm { format, relative: false };
        rotated_boxes(&Field::parse("/b").unwrap(), part, form, &mut found)?;
        Ok(found)
    }

    #[test]
    fn corners_are_numbers_pairs_or_one_polygon() {
        let corners = [1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0];
        for text in ["[1,2,3,2,3,4,1,4]", "[[1,2,3,2,3,4,1,4]]", "[[1,2],[3,2],[3,4],[1,4]]"] {
            let json = format!(r#"{{"b":[{text}]}}"#);
            assert_eq!(read(&json, RotatedFormat::Xyxyxyxy).unwrap(), [corners], "{text}");
        }
        for text in [
            "[]",
            "[1,2,3,2,3,4]",
            "[1,2,3,2,3,4,1,4,5]",
            "[[1,2,3,2],[3,4,1,4]]",
            "[1,2,[3,2,3,4,1,4]]",
            "[[1,2,3,2,3,4,1,4],[1,2,3,2,3,4,1,4]]",
            "[[[1,2,3,2,3,4,1,4]]]",
            "[1,2,3,2,3,4,1,null]",
            "null",
            "[1,2,3,2,3,4,1,NaN]",
        ] {
            let json = format!(r#"{{"b":[[0,0,0,0,0,0,0,0],{text}]}}"#);
            let fault = read(&json, RotatedFormat::Xyxyxyxy).unwrap_err();
            assert_eq!((fault.object, &fault.pointer[..]), (Some(1), "/b"), "{text}");
            assert!(fault.byte.is_some(), "{text}");
        }
    }

    #[test]
    fn angles_are_without_whole_turns_and_impossible_boxes_are_faults() {
        let json = r#"{"b":[[1,2,3,4,-750],[1,2,0,0,1e300]]}"#;
        let found = read(json, RotatedFormat::Xywhr).unwrap();
        assert_eq!(found[0], [1.0, 2.0, 3.0, 4.0, -30.0, 0.0, 0.0, 0.0]);
        assert!(found[1][4].abs() < 360.0);
        for (text, wrong) in [
            ("[1,2,3,4]", "expected a list of five numbers, found 4"),
            ("[1,2,3,4,5,6]", "expected a list of five numbers, found 6"),
            ("[1,2,3,4,NaN]", "not finite"),
            ("[1,2,3,4,Infinity]", "not finite"),
            ("[1,2,-3,4,5]", "the cxcywhr box [1, 2, -3, 4] has a negative width or height"),
            ("[1,2,3,-1e-9,5]", "negative"),
            ("[[1,2,3,4,5]]", "expected a number"),
        ] {
            let json = format!(r#"{{"b":[{text}]}}"#);
            let fault = read(&json, RotatedFormat::Cxcywhr).unwrap_err().to_string();
            assert!(fault.contains(wrong), "{fault}");
        }
    }
}
