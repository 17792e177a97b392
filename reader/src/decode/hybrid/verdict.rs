//! Words of a device that decodes JPEGs: what it is asked for, and what it says. Nothing is called here.

use tarflume_jpeg::Scale;

/// A JPEG that is to be decoded, and the memory of the device that its pixels go to: row after row
/// without gaps, `width * height * channels` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a> {
    /// The JPEG.
    pub bytes: &'a [u8],
    /// Address in the device's memory.
    pub to: u64,
    /// Columns at its scale: the stored ones by [`Scale::of`], before any turn.
    pub width: u32,
    /// Rows at its scale.
    pub height: u32,
    /// How much smaller than stored; only engines make pictures smaller.
    pub scale: Scale,
    /// 1: luma; 3: red, green and blue.
    pub channels: u8,
}

/// A JPEG in the device's memory that was admitted there; else as [`Compressed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Address of its first byte.
    pub at: u64,
    /// Its bytes.
    pub length: u64,
    /// Address that its pixels go to.
    pub to: u64,
    /// Columns at its scale.
    pub width: u32,
    /// Rows at its scale.
    pub height: u32,
    /// How much smaller than stored.
    pub scale: Scale,
    /// 1 or 3.
    pub channels: u8,
}

/// What a picture is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) scale: Scale,
    /// 1 or 3.
    pub(crate) channels: u8,
    /// Out of the device's memory.
    pub(crate) stored: bool,
}

/// What became of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The device has it, or will: it is there when the stream has come so far.
    Decoded,
    /// It does not, for this reason; something may be in its memory all the same. Another decoder may.
    Refused(String),
}

/// What a device's decoder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The smallest scale at which it decodes pictures: [`Scale::Full`] if it makes none smaller.
    pub(crate) least: Scale,
    /// Which one, in one line.
    pub(crate) about: String,
}
