//! `BoxFormat` and `RotatedFormat`: how the numbers of a box are meant.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// How the four numbers of a box are meant. The names are those of `torchvision.tv_tensors.BoundingBoxFormat`.
///
/// ```
/// use tarflume_annotations::boxes::BoxFormat;
///
/// assert_eq!(BoxFormat::Xywh.corners([10.0, 20.0, 30.0, 40.0]), [10.0, 20.0, 40.0, 60.0]);
/// assert_eq!(BoxFormat::Cxcywh.of_corners([10.0, 20.0, 40.0, 60.0]), [25.0, 40.0, 30.0, 40.0]);
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

/// How the numbers of a box with an angle are meant. The names are those of `torchvision.tv_tensors.BoundingBoxFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotatedFormat {
    /// The first corner, width, height, and degrees counterclockwise: the box is turned around this corner.
    Xywhr,
    /// The middle, width, height, and degrees counterclockwise: the box is turned around its middle.
    Cxcywhr,
    /// Four corners, x and y of each: upper left, upper right, lower right, lower left of the box before it was turned.
    Xyxyxyxy,
}

impl RotatedFormat {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            RotatedFormat::Xywhr => "xywhr",
            RotatedFormat::Cxcywhr => "cxcywhr",
            RotatedFormat::Xyxyxyxy => "xyxyxyxy",
        }
    }

    /// The numbers of a box.
    pub fn count(self) -> usize {
        match self {
            RotatedFormat::Xywhr | RotatedFormat::Cxcywhr => 5,
            RotatedFormat::Xyxyxyxy => 8,
        }
    }
}

impl fmt::Display for RotatedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A format of boxes with edges along those of the picture, or of boxes with an angle.
///
/// ```
/// use tarflume_annotations::boxes::{AnyBoxFormat, BoxFormat, RotatedFormat};
///
/// assert_eq!("xywh".parse(), Ok(AnyBoxFormat::Plain(BoxFormat::Xywh)));
/// assert_eq!("xywhr".parse(), Ok(AnyBoxFormat::Rotated(RotatedFormat::Xywhr)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyBoxFormat {
    /// The edges of a box are along those of the picture.
    Plain(BoxFormat),
    /// A box has an angle.
    Rotated(RotatedFormat),
}

impl AnyBoxFormat {
    const ALL: [AnyBoxFormat; 6] = [
        AnyBoxFormat::Plain(BoxFormat::Xywh),
        AnyBoxFormat::Plain(BoxFormat::Xyxy),
        AnyBoxFormat::Plain(BoxFormat::Cxcywh),
        AnyBoxFormat::Rotated(RotatedFormat::Xywhr),
        AnyBoxFormat::Rotated(RotatedFormat::Cxcywhr),
        AnyBoxFormat::Rotated(RotatedFormat::Xyxyxyxy),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            AnyBoxFormat::Plain(format) => format.name(),
            AnyBoxFormat::Rotated(format) => format.name(),
        }
    }

    /// The numbers of a box.
    pub fn count(self) -> usize {
        match self {
            AnyBoxFormat::Plain(_) => 4,
            AnyBoxFormat::Rotated(format) => format.count(),
        }
    }

    /// Whether boxes have an angle.
    pub fn is_rotated(self) -> bool {
        matches!(self, AnyBoxFormat::Rotated(_))
    }
}

impl From<BoxFormat> for AnyBoxFormat {
    fn from(format: BoxFormat) -> AnyBoxFormat {
        AnyBoxFormat::Plain(format)
    }
}

impl From<RotatedFormat> for AnyBoxFormat {
    fn from(format: RotatedFormat) -> AnyBoxFormat {
        AnyBoxFormat::Rotated(format)
    }
}

impl fmt::Display for AnyBoxFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AnyBoxFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<AnyBoxFormat, Self::Err> {
        let found = AnyBoxFormat::ALL.into_iter().find(|format| format.name() == text);
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
        write!(
            f,
            "{:?} is no format of boxes: use \"xywh\", \"xyxy\" or \"cxcywh\", or for boxes with an angle \"xywhr\", \
             \"cxcywhr\" or \"xyxyxyxy\"",
            self.format
        )
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
