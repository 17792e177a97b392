//! Sizes, scales and regions, in pixels. Pure arithmetic.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

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
    pub fn of(self, width: u32, height: u32) -> (u32, u32) {
        let down = |n: u32| n.div_ceil(1 << self as u32);
        (down(width), down(height))
    }

    /// Returns the smallest scale at which a picture of `from` stored pixels is at least as large
    /// as `to` in both directions; width first.
    pub fn at_least(from: (u32, u32), to: (u32, u32)) -> Scale {
        let fits = |scale: &&Scale| {
            let (width, height) = (from.0 >> **scale as u32, from.1 >> **scale as u32);
            width >= to.0 && height >= to.1
        };
        Scale::ALL.iter().rev().find(fits).copied().unwrap_or_default()
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
    pub fn whole((width, height): (u32, u32)) -> Region {
        Region { left: 0, top: 0, width, height }
    }

    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the region is empty or reaches beyond a picture of this
    /// size.
    pub(crate) fn check(self, (width, height): (u32, u32)) -> Result<()> {
        let within = |from: u32, length: u32, all: u32| {
            length > 0 && from.checked_add(length).is_some_and(|end| end <= all)
        };
        if within(self.left, self.width, width) && within(self.top, self.height, height) {
            return Ok(());
        }
        let text = format!("the region {self} is empty or not within {width}x{height} pixels");
        Err(Error::new(ErrorKind::Usage, text))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{} at ({}, {})", self.width, self.height, self.left, self.top)
    }
}
