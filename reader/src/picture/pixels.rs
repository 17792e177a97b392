//! Decoded pixels in a reused buffer, and the channels of the output.
//!
//! Plain data; the caller chooses the decoder that fills the buffer.

use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::ImageSize;

/// The channels of a row's pixels.
///
/// ```
/// use tarflume::{Channels, Image, Resize};
///
/// let masks = Image::new("mask.png", Resize::exact(64)).channels(Channels::Gray);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Channels {
    /// One: luma. The Y of a color JPEG; for other formats 0.299 R + 0.587 G + 0.114 B.
    Gray,
    /// Red, green, blue. Gray is repeated, opacity dropped.
    #[default]
    Rgb,
    /// Red, green, blue and opacity, which is 255 if the picture has none.
    Rgba,
}

impl Channels {
    /// The number of channels.
    pub fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }
}

/// Pixels row by row, 8 bits a channel. May have fewer channels than the output: a gray picture stays one
/// channel until it is written.
#[derive(Debug, Default)]
pub(crate) struct Pixels {
    /// At least `width * height * channels` bytes.
    pub(crate) bytes: Vec<u8>,
    /// 1, 3 or 4.
    pub(crate) channels: usize,
    /// Width in pixels.
    pub(crate) width: u32,
    /// Height in pixels.
    pub(crate) height: u32,
}

impl Pixels {
    /// Bytes from row to row.
    pub(crate) fn stride(&self) -> usize {
        self.width as usize * self.channels
    }

    /// Makes room for a picture. The bytes are unspecified.
    ///
    /// # Errors
    /// Returns an error if the size does not fit in memory.
    pub(crate) fn set(&mut self, size: ImageSize, channels: usize) -> Result<()> {
        let bytes = buffer_bytes(size, channels as u64)?;
        make_room(&mut self.bytes, bytes)?;
        (self.channels, self.width, self.height) = (channels, size.width, size.height);
        Ok(())
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

/// Makes `buffer` exactly `bytes` long. Reallocates only if its capacity is too small.
///
/// # Errors
/// [`ErrorKind::Machine`]: the allocation failed.
pub(crate) fn make_room(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if let Some(more) = bytes.checked_sub(buffer.len()) {
        if buffer.capacity() < bytes {
            // The content is not needed, so growing must not copy it.
            buffer.clear();
        }
        buffer.try_reserve_exact(bytes.saturating_sub(buffer.len())).map_err(|e| {
            let text = format!("cannot allocate {more} more bytes for a picture: {e}");
            Error::new(ErrorKind::Machine, text).with_source(e)
        })?;
    }
    buffer.resize(bytes, 0);
    Ok(())
}

/// Luma as Pillow computes it (`L24` in `Convert.c`): ITU-R BT.601 in 16-bit fixed point, rounded.
pub(crate) fn luma(red: u8, green: u8, blue: u8) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471;
    ((sum + 0x8000) >> 16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_luma_of_gray_is_the_gray() {
        assert!((0..=255).all(|gray| luma(gray, gray, gray) == gray));
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
