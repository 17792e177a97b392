//! `BoxFormat`: how the four numbers of a box are meant.

use std::fmt;
use std::str::FromStr;

use tarflume_image::ImageSize;

use crate::fault::Wrong;

/// How the four numbers of a box are meant. The names are those of `torchvision.tv_tensors.BoundingBoxFormat`.
///
/// ```
/// use tarflume_annotations::boxes::BoxFormat;
///
/// let format: BoxFormat = "xywh".parse()?;
/// assert_eq!(format.corners([10.0, 20.0, 30.0, 40.0]), [10.0, 20.0, 40.0, 60.0]);
/// assert_eq!(BoxFormat::Cxcywh.of_corners([10.0, 20.0, 40.0, 60.0]), [25.0, 40.0, 30.0, 40.0]);
/// # Ok::<(), tarflume_annotations::fault::UnknownFormat>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxFormat {
    /// Left, top, width, height: COCO.
    Xywh,
    /// Left, top, right, bottom: Pascal VOC.
    Xyxy,
    /// The middle, then width and height: YOLO, DETR.
    Cxcywh,
}

impl BoxFormat {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            BoxFormat::Xywh => "xywh",
            BoxFormat::Xyxy => "xyxy",
            BoxFormat::Cxcywh => "cxcywh",
        }
    }

    /// The corners of a box of this format: left, top, right, bottom.
    #[inline]
    pub fn corners(self, numbers: [f64; 4]) -> [f64; 4] {
        let [x, y, width, height] = numbers;
        match self {
            BoxFormat::Xyxy => numbers,
            BoxFormat::Xywh => [x, y, x + width, y + height],
            BoxFormat::Cxcywh => {
                let half_width = width / 2.0;
                let half_height = height / 2.0;
                [x - half_width, y - half_height, x + half_width, y + half_height]
            }
        }
    }

    /// The numbers of a box with these corners.
    #[inline]
    pub fn of_corners(self, corners: [f64; 4]) -> [f64; 4] {
        let [left, top, right, bottom] = corners;
        match self {
            BoxFormat::Xyxy => corners,
            BoxFormat::Xywh => [left, top, right - left, bottom - top],
            BoxFormat::Cxcywh => {
                [(left + right) / 2.0, (top + bottom) / 2.0, right - left, bottom - top]
            }
        }
    }
}

impl fmt::Display for BoxFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BoxFormat {
    type Err = crate::fault::UnknownFormat;

    fn from_str(text: &str) -> Result<BoxFormat, Self::Err> {
        let all = [BoxFormat::Xywh, BoxFormat::Xyxy, BoxFormat::Cxcywh];
        let found = all.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| crate::fault::UnknownFormat { format: text.to_string() })
    }
}

/// The corners of a box as they are written, in pixels of a picture of size `on`. With `relative`, numbers are fractions of
/// its sides.
///
/// # Errors
/// A number is not finite, or a width or a height is negative.
#[inline]
pub(crate) fn in_pixels(
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
        return Err(Wrong::Negative { format, numbers });
    }
    Ok(corners)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn formats_are_turned_into_each_other(left in -1e4..1e4, top in -1e4..1e4, width in 0.0..1e4, height in 0.0..1e4) {
            let corners = [left, top, left + width, top + height];
            for format in [BoxFormat::Xywh, BoxFormat::Xyxy, BoxFormat::Cxcywh] {
                let found = format.corners(format.of_corners(corners));
                for (found, want) in found.iter().zip(corners) {
                    prop_assert!((found - want).abs() < 1e-9);
                }
            }
        }
    }

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
            assert_eq!(found, Err(Wrong::Negative { format, numbers }));
        }
    }
}
