//! JPEG to pixels by `zune-jpeg`, strictly: no painting over, no copy of the pixels.
//!
//! Only the rows of blocks down to the last row that is needed are decoded. Structure is checked
//! first, by `markers`, over the whole file.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::geometry::Size;
use super::markers::{self, Structure};
use super::pixels::{Channels, Pixels, luma};
use crate::error::{Error, ErrorKind, Result};

/// A JPEG whose structure is whole.
#[derive(Debug)]
pub(super) struct Jpeg<'a> {
    bytes: &'a [u8],
    pub(super) structure: Structure,
}

impl<'a> Jpeg<'a> {
    /// # Errors
    /// It was cut or damaged, or is coded in a way that is not decoded here.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Jpeg<'a>> {
        Ok(Jpeg { bytes, structure: markers::walk(bytes)? })
    }

    /// The most memory that decoding takes, in bytes: the pixels, the input, and all coefficients
    /// where they must be kept.
    pub(super) fn memory(&self) -> u64 {
        let Structure { size, components, .. } = self.structure;
        // Blocks reach over the edge by up to 31 pixels.
        let padded = (u64::from(size.width) + 31) * (u64::from(size.height) + 31);
        let coefficients = if self.by_bands() { 0 } else { 2 * padded * u64::from(components) };
        let rows = 64 * (u64::from(size.width) + 31) * 8;
        size.pixels() * u64::from(components) + coefficients + rows + self.bytes.len() as u64
    }

    /// Whether pixels come out band by band, from the top.
    fn by_bands(&self) -> bool {
        !self.structure.progressive && self.structure.scans == 1
    }

    /// Decodes at least the first `rows` rows into `pixels`, with 1 channel if that is all there is
    /// or all that is wanted, 3 otherwise. `input` is a kept buffer.
    ///
    /// # Errors
    /// The data are damaged.
    pub(super) fn decode(
        &self,
        wanted: Channels,
        rows: u32,
        input: &mut Vec<u8>,
        pixels: &mut Pixels,
    ) -> Result<()> {
        let mut size = self.structure.size;
        let mut bytes = self.bytes;
        // One band more: colour is interpolated between a band's last row and the next one.
        let enough = (u64::from(rows).div_ceil(self.structure.band.into()) + 1)
            * u64::from(self.structure.band);
        if self.by_bands() && enough < size.height.into() {
            size.height = enough as u32;
            input.clear();
            input.extend_from_slice(bytes);
            let height = [(enough >> 8) as u8, enough as u8];
            input[self.structure.height_at..][..2].copy_from_slice(&height);
            bytes = input;
        }
        let one = self.structure.components == 1
            || (wanted == Channels::Grey && self.structure.components == 3);
        pixels.set(size, if one { 1 } else { 3 })?;
        run(bytes, size, one, &mut pixels.bytes)?;
        if wanted == Channels::Grey && !one {
            to_grey(pixels);
        }
        Ok(())
    }
}

fn run(bytes: &[u8], size: Size, one: bool, pixels: &mut [u8]) -> Result<()> {
    let side = usize::from(u16::MAX);
    let space = if one { ColorSpace::Luma } else { ColorSpace::RGB };
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(side)
        .set_max_height(side)
        .jpeg_set_out_colorspace(space);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let told = |e| Error::new(ErrorKind::Decode, format!("bad JPEG: it can't be decoded: {e:?}"));
    decoder.decode_headers().map_err(told)?;
    let (width, height) = (size.width as usize, size.height as usize);
    if decoder.dimensions() != Some((width, height))
        || decoder.output_buffer_size() != Some(pixels.len())
    {
        let found = decoder.output_buffer_size();
        let text = format!("bad JPEG: a picture of {size} with {found:?} bytes is not understood");
        return Err(Error::new(ErrorKind::Decode, text));
    }
    decoder.decode_into(pixels).map_err(told)
}

/// From three channels to one, in place.
fn to_grey(pixels: &mut Pixels) {
    for at in 0..pixels.bytes.len() / 3 {
        let [red, green, blue] = [0, 1, 2].map(|c| pixels.bytes[at * 3 + c]);
        pixels.bytes[at] = luma(red, green, blue);
    }
    pixels.channels = 1;
}

#[cfg(test)]
mod tests;
