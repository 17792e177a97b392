//! Writes decoded pixels of 8 bits: resized, turned and in the form of a row.

use tarflume_image::resize::{Filter, Resampling, Resizer, mirrors};
use tarflume_image::{Elements, ImageSize, Layout, Picture, Pixels, make_room};
use tarflume_types::{Error, ErrorKind, PictureShape, Result, Row};

use super::super::picture_decoder::Decoded;
use super::settings::Image;

/// Buffers for resizing and writing.
#[derive(Default)]
pub(super) struct PlacedBuffers {
    pub(super) resized: Vec<u8>,
    pub(super) line: Vec<u8>,
    pub(super) resizer: Resizer,
}

/// The form in which pixels are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowForm {
    pub(super) layout: Layout,
    pub(super) elements: Elements,
    /// The filter by which they are resized.
    pub(super) filter: Filter,
}

impl Image {
    /// Resizes decoded pixels and writes them into a row.
    pub(super) fn write_placed(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        form: RowForm,
        mut row: Row<'_>,
        finish: &mut PlacedBuffers,
    ) -> Result<()> {
        let Decoded { placement, mut turn, .. } = drawn;
        let filter = form.filter;
        // Mirroring while resizing takes no time.
        let flip = turn.mirror && !turn.transpose && mirrors(filter, pixels, &placement);
        turn.mirror &= !flip;
        let by = Resampling { filter, flip, transposed: turn.transpose };
        // The size in output orientation; `placement` is in stored orientation.
        let size = if turn.transpose { placement.size.transposed() } else { placement.size };
        row.set_picture(self.pictured(size));
        let mut picture = Picture {
            bytes: &[],
            channels: pixels.channels,
            size,
            turn,
            wanted: self.channels.count(),
            layout: form.layout,
            word_step: self.word_step(),
        };
        let bytes = placement.size.pixels() as usize * picture.channels;
        if picture.is_ready() && form.elements == Elements::Bytes {
            let room = row.bytes().len();
            let out = row.bytes().get_mut(..bytes).ok_or_else(|| no_room(bytes, room))?;
            finish.resizer.resize(pixels, &placement, by, out)?;
            row.set_used(bytes);
            return Ok(());
        }
        make_room(&mut finish.resized, bytes)?;
        let resized = &mut finish.resized;
        finish.resizer.resize(pixels, &placement, by, resized)?;
        picture.bytes = &finish.resized;
        picture.write(form.elements, &mut row, &mut finish.line)
    }

    /// The form of the column's rows, for the sample of this seed.
    pub(super) fn form(&self, seed: u64) -> RowForm {
        RowForm { layout: self.layout, elements: self.elements, filter: self.filter_of(seed) }
    }

    /// The shape of a row in a variable column.
    pub(in crate::decode::pictures) fn pictured(&self, size: ImageSize) -> PictureShape {
        PictureShape {
            height: size.height,
            width: size.width,
            channels: self.channels.count() as u32,
            channels_first: self.layout == Layout::Chw,
        }
    }
}

fn no_room(bytes: usize, room: usize) -> Error {
    let text = format!(
        "a picture of {bytes} bytes does not fit a row of {room}; if its sidecar declares a smaller one, index the \
         shard again"
    );
    Error::new(ErrorKind::Decode, text)
}
