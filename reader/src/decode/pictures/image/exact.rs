//! Pictures whose values are not bytes of colors: samples of more than 8 bits, and the numbers of masks.

use bytemuck::Pod;
use tarflume_image::resize::{Filter, Resizer};
use tarflume_image::{
    Channels, Depth, Elements, Layout, Pixels, Wanted, WidePicture, WideValue, index, make_room,
};
use tarflume_types::{Error, ErrorKind, Result, Row};

use super::super::open_picture::PictureSource;
use super::super::picture_decoder::Decoded;
use super::FinishBuffers;
use super::settings::Image;

impl Image {
    /// Returns an error if the options do not fit the numbers of masks.
    pub(super) fn check_index(&self) -> Result<()> {
        if self.channels != Channels::Index {
            return Ok(());
        }
        if self.resize_filter() != Filter::Nearest {
            return Err(Error::usage(
                "channels=\"index\" (`Channels::Index`) has numbers of classes, which only the filter \"nearest\" does not \
                 mix: leave the filter out",
            ));
        }
        if !matches!(self.elements, Elements::Bytes | Elements::Words) {
            return Err(Error::usage(
                "channels=\"index\" (`Channels::Index`) has whole numbers: use dtype=\"uint8\" or \"uint16\" \
                 (`Image::to_u16`)",
            ));
        }
        Ok(())
    }

    /// Returns an error if the options do not fit pictures that are stored on a device.
    pub(super) fn check_resident(&self) -> Result<()> {
        if self.channels == Channels::Index || self.elements == Elements::Words {
            return Err(Error::usage(
                "pictures stored on a device are colors or gray of 8 bits: channels=\"index\" and dtype=\"uint16\" need a \
                 loader without Resident (`Residency`)",
            ));
        }
        Ok(())
    }

    /// Returns an error if a picture does not have what is wanted.
    pub(super) fn check_source(&self, source: &PictureSource<'_>) -> Result<()> {
        if self.channels == Channels::Index && matches!(source, PictureSource::Jpeg(_)) {
            return Err(index::colors("a JPEG"));
        }
        if self.changes().is_some() {
            return Ok(()); // a recipe has bytes of every picture
        }
        if let PictureSource::Fallback(picture) = source
            && (self.wanted().exact || self.is_converted)
            && picture.exceeds_bytes()
        {
            let text = "the fallback decodes pictures to bytes, and this one has more than 8 bits a channel: convert it to \
                        a PNG or TIFF of 16 bits, or round it to 8 bits with dtype=\"uint8\"";
            return Err(Error::new(ErrorKind::Decode, text));
        }
        if self.is_converted && source.depth() != Depth::Byte {
            let text = "a device converts bytes to floats, and the picture has more than 8 bits a channel: \
                        dtype=\"uint16\" (`Image::to_u16`) copies its values, dtype=\"uint8\" rounds them to 8 bits, and a \
                        loader without a device converts them exactly";
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(())
    }

    /// The column whose bytes a device converts to those of this one.
    pub(super) fn bytes_for_device(&self) -> Image {
        let is_converted = self.elements != Elements::Bytes;
        Image { elements: Elements::Bytes, layout: Layout::Hwc, is_converted, ..self.clone() }
    }

    /// What is decoded.
    pub(super) fn wanted(&self) -> Wanted {
        let exact = self.elements != Elements::Bytes && self.changes().is_none();
        Wanted { channels: self.channels, exact }
    }

    /// The type of the samples that are decoded of a picture.
    pub(super) fn decoded_depth(&self, source: &PictureSource<'_>) -> Depth {
        if self.wanted().exact { source.depth() } else { Depth::Byte }
    }

    /// The difference of two neighbors of 256 levels in 16 bits.
    pub(super) fn word_step(&self) -> u16 {
        if self.channels == Channels::Index { 1 } else { 257 }
    }

    /// Resizes decoded samples of more than 8 bits and writes them into a row.
    pub(super) fn write_wide(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        filter: Filter,
        row: Row<'_>,
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        let FinishBuffers { words, floats, placed, .. } = finish;
        let resizer = &mut placed.resizer;
        match pixels.depth {
            Depth::Float => self.write_samples(drawn, pixels, filter, row, floats, resizer),
            _ => self.write_samples(drawn, pixels, filter, row, words, resizer),
        }
    }

    fn write_samples<T: WideValue + Pod + Default>(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        filter: Filter,
        mut row: Row<'_>,
        resized: &mut Vec<T>,
        resizer: &mut Resizer,
    ) -> Result<()> {
        let Decoded { placement, turn, .. } = drawn;
        make_room(resized, placement.size.pixels() as usize * pixels.channels)?;
        let out = bytemuck::cast_slice_mut(resized);
        resizer.resize(pixels, &placement, filter.into(), out)?;
        let size = if turn.transpose { placement.size.transposed() } else { placement.size };
        row.set_picture(self.pictured(size));
        let picture = WidePicture {
            samples: &resized[..],
            channels: pixels.channels,
            size,
            turn,
            wanted: self.channels.count(),
            layout: self.layout,
        };
        picture.write(self.elements, &mut row)
    }
}
