//! Decoded pixels in a kept buffer, and the channels that are asked for.
//!
//! Words of decoding; which decoder fills the buffer is decided above.

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
    /// One: luma. Of a color JPEG its own Y, of other colors 0.299 R + 0.587 G + 0.114 B.
    Gray,
    /// Red, green, blue. Gray is repeated, transparency dropped.
    #[default]
    Rgb,
    /// Red, green, blue and opacity, 255 where the picture has none.
    Rgba,
}

impl Channels {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }
}

/// Pixels row by row, 8 bits a channel. They may have fewer channels than asked for: a gray picture
/// stays one channel until it is written.
#[derive(Debug, Default)]
pub(crate) struct Pixels {
    /// At least `width * height * channels` bytes.
    pub(crate) bytes: Vec<u8>,
    /// 1, 3 or 4.
    pub(crate) channels: usize,
    /// Columns and rows that are there.
    pub(crate) width: u32,
    /// See `width`.
    pub(crate) height: u32,
}

impl Pixels {
    /// Makes room for a picture; the bytes may be of an earlier one.
    ///
    /// # Errors
    /// The size does not fit this machine's memory.
    pub(crate) fn set(&mut self, size: ImageSize, channels: usize) -> Result<()> {
        let bytes = buffer_bytes(size, channels as u64)?;
        make_room(&mut self.bytes, bytes)?;
        (self.channels, self.width, self.height) = (channels, size.width, size.height);
        Ok(())
    }
}

/// `pixels * each` as a length in memory.
///
/// # Errors
/// [`ErrorKind::Limit`]: no machine has so much.
pub(crate) fn buffer_bytes(size: ImageSize, each: u64) -> Result<usize> {
    let bytes = size.pixels().checked_mul(each).and_then(|bytes| isize::try_from(bytes).ok());
    bytes.map(isize::cast_unsigned).ok_or_else(|| {
        Error::new(ErrorKind::Limit, format!("a picture of {size} does not fit in memory"))
    })
}

/// Makes `buffer` exactly `bytes` long, by growing it only if it must.
///
/// # Errors
/// [`ErrorKind::Machine`]: there is no more memory.
pub(crate) fn make_room(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if let Some(more) = bytes.checked_sub(buffer.len()) {
        if buffer.capacity() < bytes {
            // Nothing of the old content is needed: no copy.
            buffer.clear();
        }
        buffer.try_reserve_exact(bytes.saturating_sub(buffer.len())).map_err(|e| {
            let text = format!("{more} bytes more for a picture: {e}");
            Error::new(ErrorKind::Machine, text).with_source(e)
        })?;
    }
    buffer.resize(bytes, 0);
    Ok(())
}

/// Luma as Pillow computes it (ITU-R BT.601, 16 bits of precision).
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
