//! `RowHeader`: the 64 bytes before a row's pixels that tell the kernel the location, format, box and mirroring
//! of its picture.
//!
//! Pure. The checks protect the owner of the row. The kernel bounds every read itself, whatever a header contains.

use tarflume_types::{Error, Result};

use crate::picture::geometry::ImageSize;
use crate::picture::resizing::crop::CropBox;
use crate::picture::yuv420::yuv420_bytes;

/// The location of a row's pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum PixelSource {
    /// After the header, in the same row.
    Row = 0,
    /// In the device store, in row [`RowHeader::number`].
    Store = 1,
    /// No picture: the row becomes the conversion of zero bytes.
    Nothing = 2,
}

/// The memory layout of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Format {
    /// Interleaved, u8 `[height, width, channels]`.
    Pixels = 0,
    /// Full-range BT.601 planes as in JPEG: luma `[height, width]`, then Cb and Cr, each of half the height
    /// and width (rounded up). Chroma samples are centered on 2 x 2 pixels.
    Yuv420 = 1,
}

impl Format {
    /// Bytes of a picture of `size` that is drawn with `channels` channels.
    ///
    /// # Errors
    /// Returns an error if the picture has no pixels or 2^31 or more, if `channels` is not 1, 3 or 4, or if
    /// planes are to become anything but 3 channels.
    pub fn bytes(self, size: ImageSize, channels: usize) -> Result<usize> {
        if !(1..1 << 31).contains(&size.pixels()) {
            let text = format!("a picture of {size} pixels cannot be drawn on a device");
            return Err(Error::usage(text));
        }
        match (self, channels) {
            (Format::Pixels, 1 | 3 | 4) => Ok(size.pixels() as usize * channels),
            (Format::Yuv420, 3) => Ok(yuv420_bytes(size)),
            _ => Err(Error::usage(format!("{self:?} do not become {channels} channels"))),
        }
    }
}

/// The header before a row's pixels, in native byte order. `resample.cu` declares the same structure.
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

/// The picture that a header describes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowPicture {
    /// The memory layout.
    pub format: Format,
    /// Width and height in pixels.
    pub size: ImageSize,
    /// The box that is drawn.
    pub area: CropBox,
    /// Whether the box is mirrored left to right.
    pub flip: bool,
}

impl RowHeader {
    /// Size of a header in bytes.
    pub const BYTES: usize = size_of::<RowHeader>();

    /// A picture after the header, in a row with `room` bytes for it.
    ///
    /// # Errors
    /// Returns an error if the box is outside the picture or the picture does not fit. As [`Format::bytes`].
    #[inline]
    pub fn row(picture: RowPicture, channels: usize, room: usize) -> Result<RowHeader> {
        RowHeader::of(picture, channels, room, PixelSource::Row)
    }

    /// A picture in row `number` of the store, whose rows have `stride` bytes.
    ///
    /// # Errors
    /// As [`RowHeader::row`].
    pub fn store(
        picture: RowPicture,
        channels: usize,
        number: u64,
        stride: usize,
    ) -> Result<RowHeader> {
        RowHeader::of(picture, channels, stride, PixelSource::Store)
            .map(|head| RowHeader { number, ..head })
    }

    /// No picture.
    #[inline]
    pub fn nothing() -> RowHeader {
        RowHeader { from: PixelSource::Nothing as u32, ..bytemuck::Zeroable::zeroed() }
    }

    fn of(
        picture: RowPicture,
        channels: usize,
        room: usize,
        from: PixelSource,
    ) -> Result<RowHeader> {
        let RowPicture { format, size, area, flip } = picture;
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

    /// Sets the length in bytes of the compressed picture after the header. The kernel does not read it.
    #[must_use]
    #[inline]
    pub fn with_bytes(self, bytes: u64) -> RowHeader {
        RowHeader { bytes, ..self }
    }

    /// The length in bytes of the compressed picture after the header.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets what the host needs about a compressed picture: the scale at which it is decoded (log2 of the
    /// reduction) and the seed of its sample's random numbers. The kernel reads neither.
    #[must_use]
    pub fn with_origin(self, scale: u32, seed: u64) -> RowHeader {
        RowHeader { scale, seed, ..self }
    }

    /// log2 of the reduction at which a compressed picture is decoded.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The seed of the sample's random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same with a different row of the store.
    #[must_use]
    pub fn with_number(self, number: u64) -> RowHeader {
        RowHeader { number, ..self }
    }

    /// The row in the store.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The location of the pixels. An unknown value counts as [`PixelSource::Nothing`].
    pub fn from(&self) -> PixelSource {
        match self.from {
            0 => PixelSource::Row,
            1 => PixelSource::Store,
            _ => PixelSource::Nothing,
        }
    }

    /// The picture; `None` if its format is unknown.
    pub fn picture(&self) -> Option<RowPicture> {
        let format = match self.format {
            0 => Format::Pixels,
            1 => Format::Yuv420,
            _ => return None,
        };
        let [left, top, width, height] = self.area;
        let area = CropBox { left, top, width, height };
        let size = ImageSize::new(self.width, self.height);
        Some(RowPicture { format, size, area, flip: self.flip != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::geometry::Cut;

    fn whole(format: Format, size: ImageSize) -> RowPicture {
        RowPicture { format, size, area: Cut::whole(size).into(), flip: true }
    }

    #[test]
    fn the_fields_are_at_the_offsets_that_the_kernel_reads() {
        fn word(head: &[u8], at: usize) -> u32 {
            u32::from_ne_bytes(head[at..][..4].try_into().unwrap())
        }

        fn long(head: &[u8], at: usize) -> u64 {
            u64::from_ne_bytes(head[at..][..8].try_into().unwrap())
        }

        let picture = RowPicture {
            area: CropBox { left: 1.0, top: 0.5, width: 4.0, height: 2.0 },
            ..whole(Format::Yuv420, ImageSize::new(7, 3))
        };
        let head =
            RowHeader::store(picture, 3, 1 << 40, 37).unwrap().with_bytes(9).with_origin(2, 77);
        let bytes = bytemuck::bytes_of(&head);
        assert_eq!(bytes.len(), 64);
        assert_eq!([0, 4, 8, 12].map(|at| word(bytes, at)), [1, 1, 3, 7]);
        assert_eq!([16, 24].map(|at| long(bytes, at)), [1 << 40, 9]);
        let area = [32, 36, 40, 44].map(|at| f32::from_bits(word(bytes, at)));
        assert_eq!(area, [1.0, 0.5, 4.0, 2.0]);
        assert_eq!([48, 52, 56, 60].map(|at| word(bytes, at)), [1, 2, 77, 0]);
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
        let outside = RowPicture { size: ImageSize::new(5, 3), ..whole(Format::Pixels, size) };
        assert!(RowHeader::row(outside, 3, 1000).is_err());
    }
}
