//! `RowHeader`: what stands before a row's pixels and tells the kernel where they are, how they lie, which
//! box of them is wanted, and whether it is mirrored.
//!
//! Pure. The checks are for the row's owner: the kernel reads nothing outside whatever a head says.

use crate::error::{Error, Result};
use crate::picture::crop::CropBox;
use crate::picture::geometry::ImageSize;
use crate::picture::yuv420::yuv420_bytes;

/// Where a row's pixels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum PixelSource {
    /// Behind the head, in the same row.
    Row = 0,
    /// In the store, in the row of the head's number.
    Store = 1,
    /// Nowhere: the row becomes what zero bytes become before scale and shift.
    Nothing = 2,
}

/// How a picture's bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Format {
    /// Pixel by pixel, u8 `[height, width, channels]`.
    Pixels = 0,
    /// Full-range BT.601 as JPEG has it: a plane of luma `[height, width]`, then two of chroma (blue,
    /// red), each half as high and wide (rounded up), their samples in the middle of 2 x 2 pixels.
    Yuv420 = 1,
}

impl Format {
    /// Bytes of a picture of `size` that becomes one of `channels` channels.
    ///
    /// # Errors
    /// It has no pixels, or 2^31 or more; the channels are not 1, 3 or 4, or planes become other than 3.
    pub fn bytes(self, size: ImageSize, channels: usize) -> Result<usize> {
        if !(1..1 << 31).contains(&size.pixels()) {
            let text = format!("a picture of {size} pixels can't be drawn on a device");
            return Err(Error::usage(text));
        }
        match (self, channels) {
            (Format::Pixels, 1 | 3 | 4) => Ok(size.pixels() as usize * channels),
            (Format::Yuv420, 3) => Ok(yuv420_bytes(size)),
            _ => Err(Error::usage(format!("{self:?} do not become {channels} channels"))),
        }
    }
}

/// 64 bytes before a row's pixels, in the machine's order of bytes; the kernel has the same structure.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RowHeader {
    from: u32,
    format: u32,
    height: u32,
    width: u32,
    number: u64,
    bytes: u64,
    area: [f32; 4],
    flip: u32,
    scale: u32,
    seed: u64,
}

/// A picture as a head describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Described {
    /// How its bytes lie.
    pub format: Format,
    /// Its width and height in pixels.
    pub size: ImageSize,
    /// The part of it that is wanted.
    pub area: CropBox,
    /// Whether that is mirrored, left to right.
    pub flip: bool,
}

impl RowHeader {
    /// Bytes of a head.
    pub const BYTES: usize = size_of::<RowHeader>();

    /// A picture behind the head, in a row with `room` bytes for it.
    ///
    /// # Errors
    /// The box is no part of the picture, the picture does not fit, or see [`Format::bytes`].
    pub fn row(picture: Described, channels: usize, room: usize) -> Result<RowHeader> {
        RowHeader::of(picture, channels, room, PixelSource::Row)
    }

    /// A picture in row `number` of a store whose rows have `stride` bytes.
    ///
    /// # Errors
    /// As [`RowHeader::row`].
    pub fn store(
        picture: Described,
        channels: usize,
        number: u64,
        stride: usize,
    ) -> Result<RowHeader> {
        RowHeader::of(picture, channels, stride, PixelSource::Store)
            .map(|head| RowHeader { number, ..head })
    }

    /// No picture: zeros.
    pub fn nothing() -> RowHeader {
        RowHeader { from: PixelSource::Nothing as u32, ..bytemuck::Zeroable::zeroed() }
    }

    fn of(
        picture: Described,
        channels: usize,
        room: usize,
        from: PixelSource,
    ) -> Result<RowHeader> {
        let Described { format, size, area, flip } = picture;
        let needed = format.bytes(size, channels)?;
        if needed > room {
            let text = format!("a picture of {size} needs {needed} bytes where {room} are");
            return Err(Error::usage(text));
        }
        area.check(size)?;
        Ok(RowHeader {
            from: from as u32,
            format: format as u32,
            height: size.height,
            width: size.width,
            area: area.numbers(),
            flip: flip.into(),
            ..RowHeader::nothing()
        })
    }

    /// The same with the length of a compressed picture behind the head, in bytes, which the kernel
    /// does not read.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> RowHeader {
        RowHeader { bytes, ..self }
    }

    /// The length of a compressed picture behind the head, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same with what else its owner wants to know of a compressed picture, which the kernel does not
    /// read: at which scale it is decoded (the power of two that it is made smaller by), and the seed of
    /// its sample's random numbers.
    #[must_use]
    pub fn with_origin(self, scale: u32, seed: u64) -> RowHeader {
        RowHeader { scale, seed, ..self }
    }

    /// The power of two that a compressed picture is made smaller by.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The seed of its sample's random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same in another row of the store.
    #[must_use]
    pub fn with_number(self, number: u64) -> RowHeader {
        RowHeader { number, ..self }
    }

    /// The number of the store's row.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where the pixels are; nowhere, if the word is none that is known.
    pub fn from(&self) -> PixelSource {
        match self.from {
            0 => PixelSource::Row,
            1 => PixelSource::Store,
            _ => PixelSource::Nothing,
        }
    }

    /// What it says of the picture; none, if its format is none that is known.
    pub fn picture(&self) -> Option<Described> {
        let format = match self.format {
            0 => Format::Pixels,
            1 => Format::Yuv420,
            _ => return None,
        };
        let [left, top, width, height] = self.area;
        let area = CropBox { left, top, width, height };
        let size = ImageSize::new(self.width, self.height);
        Some(Described { format, size, area, flip: self.flip != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::geometry::Cut;

    fn whole(format: Format, size: ImageSize) -> Described {
        Described { format, size, area: Cut::whole(size).into(), flip: true }
    }

    #[test]
    fn the_fields_lie_where_the_kernel_reads_them() {
        let picture = Described {
            area: CropBox { left: 1.0, top: 0.5, width: 4.0, height: 2.0 },
            ..whole(Format::Yuv420, ImageSize::new(7, 3))
        };
        let head =
            RowHeader::store(picture, 3, 1 << 40, 37).unwrap().with_bytes(9).with_origin(2, 77);
        let bytes = bytemuck::bytes_of(&head);
        assert_eq!(bytes.len(), 64);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..][..4].try_into().unwrap());
        let long = |at: usize| u64::from_ne_bytes(bytes[at..][..8].try_into().unwrap());
        assert_eq!([0, 4, 8, 12].map(word), [1, 1, 3, 7]);
        assert_eq!([16, 24].map(long), [1 << 40, 9]);
        let area = [32, 36, 40, 44].map(|at| f32::from_bits(word(at)));
        assert_eq!(area, [1.0, 0.5, 4.0, 2.0]);
        assert_eq!([word(48), word(52), word(56), word(60)], [1, 2, 77, 0]);
        assert_eq!(head.picture(), Some(picture));
        assert_eq!((head.from(), head.number(), head.bytes()), (PixelSource::Store, 1 << 40, 9));
        assert_eq!(RowHeader::nothing().from(), PixelSource::Nothing);
    }

    #[test]
    fn pictures_that_do_not_fit_are_refused() {
        let size = ImageSize::new(5, 4);
        assert!(RowHeader::row(whole(Format::Pixels, size), 3, 60).is_ok());
        assert!(RowHeader::row(whole(Format::Pixels, size), 3, 59).is_err());
        assert!(RowHeader::row(whole(Format::Yuv420, size), 3, 32).is_ok());
        assert!(RowHeader::store(whole(Format::Yuv420, size), 3, 0, 31).is_err());
        assert!(RowHeader::row(whole(Format::Yuv420, size), 4, 1000).is_err());
        assert!(RowHeader::row(whole(Format::Pixels, size), 2, 1000).is_err());
        assert!(RowHeader::row(whole(Format::Pixels, ImageSize::new(0, 4)), 3, 1000).is_err());
        let large = ImageSize::new(1 << 16, 1 << 15);
        assert!(RowHeader::row(whole(Format::Pixels, large), 1, usize::MAX).is_err());
        let outside = Described { size: ImageSize::new(5, 3), ..whole(Format::Pixels, size) };
        assert!(RowHeader::row(outside, 3, 1000).is_err());
    }
}
