//! Decoded pixels in a reused buffer, and the channels of the output.
//!
//! Plain data; the caller chooses the decoder that fills the buffer.

use crate::picture::geometry::ImageSize;
use tarflume_order::words;
use tarflume_types::{Error, ErrorKind, Result};

/// The channels of a row's pixels.
///
/// ```
/// use tarflume::{Channels, Image, Resize};
///
/// let masks = Image::new("mask.png", Resize::exact(64)).channels(Channels::Index);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Channels {
    /// One: luma. The Y of a color JPEG; for other formats 0.299 R + 0.587 G + 0.114 B. A palette of other colors than the
    /// gray of each index is an error: its picture is read by [`Channels::Index`] or [`Channels::Luma`].
    Gray,
    /// As [`Channels::Gray`], also for pictures with a palette: the luma of their colors.
    Luma,
    /// One: the numbers that the picture stores, which are the classes of a mask: the indices of a palette, or gray
    /// levels that are not scaled. Columns are of `u8` or `u16`, and the filter is [`Filter::Nearest`](crate::Filter).
    Index,
    /// Red, green, blue. Gray is repeated, opacity dropped.
    #[default]
    Rgb,
    /// Red, green, blue and opacity, which is 255 if the picture has none.
    Rgba,
}

words!(Channels, "channels", {
    Gray => "gray",
    Luma => "luma",
    Index => "index",
    Rgb => "rgb",
    Rgba => "rgba",
});

impl Channels {
    /// The number of channels.
    pub fn count(self) -> usize {
        match self {
            Channels::Gray | Channels::Luma | Channels::Index => 1,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }
}

impl Channels {
    /// Whether a pixel is one number.
    #[doc(hidden)]
    pub fn is_one(self) -> bool {
        self.count() == 1
    }
}

/// What is decoded of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The channels.
    pub channels: Channels,
    /// Whether samples of more than 8 bits stay as they are.
    pub exact: bool,
}

/// The type of samples.
// Only formats of the crate `image` have samples of more than 8 bits.
#[cfg_attr(not(feature = "_image"), allow(dead_code))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// 8 bits.
    #[default]
    Byte,
    /// 16 bits.
    Word,
    /// Single precision.
    Float,
}

impl Depth {
    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Depth::Byte => 1,
            Depth::Word => 2,
            Depth::Float => 4,
        }
    }
}

/// Pixels row by row. May have fewer channels than the output: a gray picture stays one channel until it is written.
#[derive(Debug, Default)]
pub struct Pixels {
    /// Which of the three buffers has the samples, at least `width * height * channels`.
    pub depth: Depth,
    /// Samples of 8 bits.
    pub bytes: Vec<u8>,
    /// Samples of 16 bits.
    pub words: Vec<u16>,
    /// 0 is black and 1 white, and other values are possible.
    pub floats: Vec<f32>,
    /// 1, 3 or 4.
    pub channels: usize,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl Pixels {
    /// Bytes from row to row of 8-bit samples.
    pub(crate) fn stride(&self) -> usize {
        self.width as usize * self.channels
    }

    /// Makes room for a picture. The bytes are unspecified.
    ///
    /// # Errors
    /// Returns an error if the size does not fit in memory.
    pub fn set(&mut self, size: ImageSize, channels: usize) -> Result<()> {
        let bytes = buffer_bytes(size, channels as u64)?;
        make_room(&mut self.bytes, bytes)?;
        self.describe(size, channels, Depth::Byte);
        Ok(())
    }

    /// Sets what the buffer of this depth has.
    pub(crate) fn describe(&mut self, size: ImageSize, channels: usize, depth: Depth) {
        self.depth = depth;
        self.channels = channels;
        self.width = size.width;
        self.height = size.height;
    }

    /// The samples as bytes.
    pub(crate) fn samples(&self) -> &[u8] {
        match self.depth {
            Depth::Byte => &self.bytes,
            Depth::Word => bytemuck::cast_slice(&self.words),
            Depth::Float => bytemuck::cast_slice(&self.floats),
        }
    }

    /// Bytes that the buffers hold.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() + 2 * self.words.capacity() + 4 * self.floats.capacity()
    }

    /// Frees the buffers if they hold more than `bytes` bytes.
    pub fn drop_large(&mut self, bytes: usize) {
        if self.capacity() > bytes {
            *self = Pixels::default();
        }
    }
}

/// `pixels * each`, as a length in memory.
///
/// # Errors
/// [`ErrorKind::Limit`]: the length is not addressable.
pub(crate) fn buffer_bytes(size: ImageSize, each: u64) -> Result<usize> {
    let bytes = size.pixels().checked_mul(each).and_then(|bytes| isize::try_from(bytes).ok());
    bytes.map(isize::cast_unsigned).ok_or_else(|| {
        Error::new(ErrorKind::Limit, format!("a picture of {size} does not fit in memory"))
    })
}

/// Makes `buffer` exactly `length` samples long. Reallocates only if its capacity is too small.
///
/// # Errors
/// [`ErrorKind::Machine`]: the allocation failed.
pub fn make_room<T: Copy + Default>(buffer: &mut Vec<T>, length: usize) -> Result<()> {
    if let Some(more) = length.checked_sub(buffer.len()) {
        if buffer.capacity() < length {
            // The content is not needed, so growing must not copy it.
            buffer.clear();
        }
        buffer.try_reserve_exact(length.saturating_sub(buffer.len())).map_err(|e| {
            let bytes = more.saturating_mul(size_of::<T>());
            let text = format!("cannot allocate {bytes} more bytes for a picture: {e}");
            Error::new(ErrorKind::Machine, text).with_source(e)
        })?;
    }
    buffer.resize(length, T::default());
    Ok(())
}

/// Luma as Pillow computes it (`L24` in `Convert.c`): ITU-R BT.601 in 16-bit fixed point, rounded.
pub fn luma(red: u8, green: u8, blue: u8) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471;
    ((sum + 0x8000) >> 16) as u8
}

/// [`luma`] of samples of 16 bits.
pub(crate) fn luma_of_words(red: u16, green: u16, blue: u16) -> u16 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471;
    ((sum + 0x8000) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_luma_of_gray_is_the_gray() {
        assert!((0..=255).all(|gray| luma(gray, gray, gray) == gray));
        assert!((0..=u16::MAX).all(|gray| luma_of_words(gray, gray, gray) == gray));
        assert_eq!((luma(255, 0, 0), luma(0, 255, 0), luma(0, 0, 255)), (76, 150, 29));
    }

    #[test]
    fn a_picture_too_large_for_memory_is_an_error() {
        let mut pixels = Pixels::default();
        let size = ImageSize::new(u32::MAX, u32::MAX);
        assert_eq!(pixels.set(size, 4).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(pixels.set(size, 1).unwrap_err().kind(), ErrorKind::Limit);
        // A machine could have so much, but this one does not.
        let size = ImageSize::new(1 << 31, 1 << 31);
        let error = pixels.set(size, 1).unwrap_err();
        assert!(error.is_machine(), "{error}");
        pixels.set(ImageSize::new(3, 2), 4).unwrap();
        assert_eq!((pixels.bytes.len(), pixels.width, pixels.height), (24, 3, 2));
    }
}
