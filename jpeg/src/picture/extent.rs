//! Sizes, scales and regions, in pixels. Pure arithmetic.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// The size of a picture, in pixels.
///
/// ```
/// use tarflume_jpeg::{Scale, Size};
///
/// let stored = Size { width: 4000, height: 3000 };
/// let scale = Scale::at_least(stored, Size { width: 500, height: 500 });
/// assert_eq!(scale, Scale::Quarter);
/// assert_eq!(scale.of(stored.width, stored.height), Size { width: 1000, height: 750 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
}

/// The factor by which a picture is decoded smaller than stored. The inverse DCT produces smaller
/// blocks directly, so a smaller picture takes less work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scale {
    /// As stored.
    #[default]
    Full,
    /// 1/2 in both directions, rounded up.
    Half,
    /// 1/4.
    Quarter,
    /// 1/8.
    Eighth,
}

impl Scale {
    /// All scales, the largest first.
    pub const ALL: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

    /// Returns the samples of a block at this scale, in each direction: 8, 4, 2, 1.
    pub fn block(self) -> u32 {
        8 >> self as u32
    }

    /// Returns the size of a picture of `width` x `height` stored pixels at this scale.
    pub fn of(self, width: u32, height: u32) -> Size {
        let factor = 1 << self as u32;
        Size { width: width.div_ceil(factor), height: height.div_ceil(factor) }
    }

    /// Returns the smallest scale at which a picture of `stored` pixels is at least as large as `least`
    /// in both directions.
    pub fn at_least(stored: Size, least: Size) -> Scale {
        let fitting = Scale::ALL.into_iter().rev().find(|&scale| {
            let shift = scale as u32;
            stored.width >> shift >= least.width && stored.height >> shift >= least.height
        });
        fitting.unwrap_or_default()
    }
}

/// A part of a picture, in pixels of the picture at its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// Columns left of it.
    pub left: u32,
    /// Rows above it.
    pub top: u32,
    /// Its columns.
    pub width: u32,
    /// Its rows.
    pub height: u32,
}

impl Region {
    /// Returns the region of the whole picture.
    pub fn whole(size: Size) -> Region {
        Region { left: 0, top: 0, width: size.width, height: size.height }
    }

    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the region is empty or reaches beyond a picture of this
    /// size.
    pub(crate) fn check(self, size: Size) -> Result<()> {
        let Size { width, height } = size;
        if within(self.left, self.width, width) && within(self.top, self.height, height) {
            return Ok(());
        }
        let text = format!("the region {self} is empty or not within {width}x{height} pixels");
        Err(Error::new(ErrorKind::Usage, text))
    }
}

/// Returns true if some pixels from `from` on are among `all`.
fn within(from: u32, length: u32, all: u32) -> bool {
    length > 0 && from.checked_add(length).is_some_and(|end| end <= all)
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{} at ({}, {})", self.width, self.height, self.left, self.top)
    }
}
