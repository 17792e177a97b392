//! Readers of fields: one value for each object, appended to lists that the caller keeps from sample to sample.

mod points;
mod rotated;
mod segmentations;
mod values;

use tarflume_formats::json::Scan;
use tarflume_image::ImageSize;

use crate::boxes::BoxFormat;
use crate::fault::{Fault, Wrong};
use crate::field::Field;
use crate::part::{list, number};

pub use crate::part::Part;

pub use self::points::{Points, points};
pub use self::rotated::{RotatedForm, rotated_boxes};
pub use self::segmentations::{Segmentations, segmentations};
pub use self::values::{Value, values};

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

/// The corners of a box as they are written, in pixels of a picture of size `on`. With `relative`, numbers are fractions of
/// its sides.
///
/// # Errors
/// A number is not finite, or a width or a height is negative.
#[inline]
fn in_pixels(
    numbers: [f64; 4],
    format: BoxFormat,
    relative: bool,
    on: ImageSize,
) -> Result<[f64; 4], Wrong> {
    let [mut left, mut top, mut right, mut bottom] = format.corners(numbers);
    if relative {
        let width = f64::from(on.width);
        let height = f64::from(on.height);
        (left, right) = (left * width, right * width);
        (top, bottom) = (top * height, bottom * height);
    }
    let corners = [left, top, right, bottom];
    if !corners.iter().all(|number| number.is_finite()) {
        return Err(Wrong::NotFinite);
    }
    // Read from the numbers: in their corners a small width may be rounded away.
    let [width, height] = match format {
        BoxFormat::Xyxy => [right - left, bottom - top],
        BoxFormat::Xywh | BoxFormat::Cxcywh => [numbers[2], numbers[3]],
    };
    if width < 0.0 || height < 0.0 {
        return Err(Wrong::Negative { format: format.into(), numbers });
    }
    Ok(corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_no_size_are_kept_and_impossible_ones_are_not() {
        let on = ImageSize::new(100, 50);
        assert_eq!(
            in_pixels([1.0, 2.0, 0.0, 0.0], BoxFormat::Xywh, false, on),
            Ok([1.0, 2.0, 1.0, 2.0])
        );
        let half = in_pixels([0.5, 0.5, 0.5, 1.0], BoxFormat::Cxcywh, true, on);
        assert_eq!(half, Ok([25.0, 0.0, 75.0, 50.0]));
        for numbers in
            [[f64::NAN, 0.0, 1.0, 1.0], [0.0, 0.0, f64::INFINITY, 1.0], [1e308, 0.0, 1e308, 1.0]]
        {
            assert_eq!(in_pixels(numbers, BoxFormat::Xywh, false, on), Err(Wrong::NotFinite));
        }
        for (format, numbers) in
            [(BoxFormat::Xywh, [1e9, 0.0, -1e-9, 1.0]), (BoxFormat::Xyxy, [5.0, 0.0, 4.0, 1.0])]
        {
            let found = in_pixels(numbers, format, false, on);
            assert_eq!(found, Err(Wrong::Negative { format: format.into(), numbers }));
        }
    }
}
