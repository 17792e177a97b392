//! `BoxFormat`: how the four numbers of a box are meant.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// How the four numbers of a box are meant. The names are those of `torchvision.tv_tensors.BoundingBoxFormat`.
///
/// ```
/// use tarflume_annotations::boxes::BoxFormat;
///
/// let format: BoxFormat = "xywh".parse()?;
/// assert_eq!(format.corners([10.0, 20.0, 30.0, 40.0]), [10.0, 20.0, 40.0, 60.0]);
/// assert_eq!(BoxFormat::Cxcywh.of_corners([10.0, 20.0, 40.0, 60.0]), [25.0, 40.0, 30.0, 40.0]);
/// # Ok::<(), tarflume_annotations::boxes::UnknownFormat>(())
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
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<BoxFormat, Self::Err> {
        let all = [BoxFormat::Xywh, BoxFormat::Xyxy, BoxFormat::Cxcywh];
        let found = all.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| UnknownFormat { format: text.to_string() })
    }
}

/// A word that names no format of boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFormat {
    /// The word.
    pub format: String,
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no format of boxes: use \"xywh\", \"xyxy\" or \"cxcywh\"", self.format)
    }
}

impl Error for UnknownFormat {}

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
}
