//! `Image`: from a picture's bytes to a row of pixels. What is wanted stands in `settings`, what a device may do
//! of it in `onto_device`.
//!
//! The chooser above decoders, geometry, resizing and output. The decision what is used comes first,
//! from the header alone, so that no more is decoded than it needs.

mod asking;
mod heads;
mod onto_device;
mod settings;

use std::mem;

use fast_image_resize::Resizer;

use super::drawing::{Drawing, Drawn, GROUP, Owner};
use super::opened::{Opened, Source, What};
use super::{Decode, DecodeHooks, ForDevice, ForResident, Residing, Sample, Scratch};
use crate::column::{DType, PictureShape, Row, RowShape};
use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::{Extent, ImageSize, Placement};
use crate::picture::orientation::Turn;
use crate::picture::output::{Elements, Layout, Picture};
use crate::picture::pixels::{Pixels, make_room};
use crate::picture::random::Random;
use crate::picture::resize::{memory, resize};

pub use self::settings::Image;

impl Image {
    /// A column `[height, width]` of `u32` for each picture as [`Image`] writes it: what the rows of
    /// a variable column need to be read. It reads headers only.
    pub fn sizes(&self) -> ImageSizes {
        ImageSizes(self.clone())
    }

    fn source<'a>(&self, sample: &Sample<'a>) -> Result<Source<'a>> {
        let source = Source::open(sample.part(0), sample.entry_points(0))?;
        let size = source.size();
        if size.pixels() > self.most_pixels {
            let text = format!(
                "a picture of {size} has {} pixels, above the limit of {} (`most_pixels`)",
                size.pixels(),
                self.most_pixels
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(source)
    }

    /// What the transform makes of a picture: how it lies, and where it goes.
    fn placed(
        &self,
        sample: &Sample<'_>,
        source: &Source<'_>,
    ) -> Result<(Turn, ImageSize, Placement)> {
        let turn = if self.orientation { source.turn() } else { Turn::default() };
        let upright = turn.size(source.size());
        let mut random = Random::stream(sample.seed, self.stream);
        Ok((turn, upright, self.transform.place(upright, &mut random)?))
    }

    fn open<'a>(&self, sample: &Sample<'a>) -> Result<Opened<'a>> {
        let source = self.source(sample)?;
        let (turn, upright, placement) = self.placed(sample, &source)?;
        placement.check(upright)?;
        self.check_size(placement.size)?;
        let stored = turn.stored(placement, upright);
        let gap = self.reducing_gap.filter(|_| self.filter.mixes());
        let mut opened = Opened::new(source, stored, turn.and_flip(placement.flip), gap)?;
        opened.finishing = memory(&opened.placement, self.filter, self.channels.count());
        Ok(opened)
    }

    fn owner(&self, sample: &Sample<'_>) -> Owner {
        let column = std::ptr::from_ref(self).addr();
        Owner { column, ordinal: sample.ordinal, seed: sample.seed }
    }

    fn run(
        &self,
        sample: &Sample<'_>,
        row: Row<'_>,
        scratch: &mut Scratch,
        kept: &mut Kept,
    ) -> Result<()> {
        let Kept { drawing, finish } = kept;
        if let Some(ahead) = drawing.take(self.owner(sample)) {
            let (drawn, pixels) = ahead?;
            return self.write(drawn, pixels, row, finish);
        }
        let opened = self.open(sample)?;
        scratch.reserve(opened.memory.saturating_add(opened.finishing))?;
        let (drawn, pixels) = drawing.draw(opened, self.channels)?;
        self.write(drawn, pixels, row, finish)
    }

    /// Writes decoded pixels into a row, as they are for a device that resizes, or ready.
    fn write(
        &self,
        drawn: Drawn,
        pixels: &Pixels,
        mut row: Row<'_>,
        finish: &mut Finish,
    ) -> Result<()> {
        if !self.heads {
            return self.write_ready(drawn, pixels, row, finish);
        }
        let channels = self.channels.count();
        if heads::write_decoded(row.bytes(), &drawn, pixels, channels)? {
            return Ok(());
        }
        let Extent::Fixed(size) = self.transform.extent() else { return Ok(()) };
        let ready = heads::write_ready(row.bytes(), size, channels)?;
        self.write_ready(drawn, pixels, Row::fixed(ready), finish)
    }

    /// Resizes decoded pixels and writes them into a row.
    fn write_ready(
        &self,
        drawn: Drawn,
        pixels: &Pixels,
        mut row: Row<'_>,
        finish: &mut Finish,
    ) -> Result<()> {
        let Drawn { placement, turn } = drawn;
        // As the output lies before it is turned.
        let size = if turn.transpose { placement.size.transposed() } else { placement.size };
        row.set_picture(self.pictured(size));
        let mut picture = Picture {
            bytes: &[],
            channels: pixels.channels,
            size,
            turn,
            wanted: self.channels.count(),
            layout: self.layout,
        };
        let bytes = placement.size.pixels() as usize * picture.channels;
        if picture.is_ready() && self.elements == Elements::Bytes {
            let room = row.bytes().len();
            let out = row.bytes().get_mut(..bytes).ok_or_else(|| no_room(bytes, room))?;
            resize(&mut finish.resizer, pixels, &placement, self.filter, out)?;
            row.set_used(bytes);
            return Ok(());
        }
        make_room(&mut finish.resized, bytes)?;
        resize(&mut finish.resizer, pixels, &placement, self.filter, &mut finish.resized)?;
        picture.bytes = &finish.resized;
        picture.write(self.elements, &mut row, &mut finish.line)
    }

    /// The shape of a row of its own size.
    fn pictured(&self, size: ImageSize) -> PictureShape {
        PictureShape {
            height: size.height,
            width: size.width,
            channels: self.channels.count() as u32,
            channels_first: self.layout == Layout::Chw,
        }
    }

    /// Decodes JPEGs of moderate size together.
    fn run_ahead(&self, samples: &[Sample<'_>], scratch: &mut Scratch, kept: &mut Kept) {
        let (mut group, mut memory) = ([const { None }; GROUP], 0);
        for (place, sample) in group.iter_mut().zip(samples) {
            // What can't be opened is told when its turn comes.
            let Ok(opened) = self.open(sample) else { continue };
            // One with entry points is as many streams by itself, and is resized while it is in the cache.
            let gains = matches!(&opened.what, What::Jpeg(jpeg, _) if !jpeg.has_entry_points());
            // What finishing takes is reserved for one alone, or as much as a thread may keep.
            let gains = gains && opened.finishing <= Scratch::KEEP as u64;
            if gains && memory + opened.memory <= Scratch::KEEP as u64 {
                memory += opened.memory;
                *place = Some((self.owner(sample), opened));
            }
        }
        if scratch.reserve(memory).is_ok() {
            let column = std::ptr::from_ref(self).addr();
            kept.drawing.draw_ahead(column, &group, self.channels);
        }
        scratch.release();
    }

    /// A user's own transform must keep to its extent.
    fn check_size(&self, size: ImageSize) -> Result<()> {
        let kept = match self.transform.extent() {
            Extent::Fixed(fixed) => size == fixed,
            Extent::UpTo(most) => size.pixels() <= most,
        };
        if kept {
            return Ok(());
        }
        let text =
            format!("a transform gave {size} pixels, against its extent: {:?}", self.transform);
        Err(Error::usage(text))
    }
}

/// How many pixels the picture in these bytes has, if its header can be read.
pub fn pixels_of(bytes: &[u8]) -> Option<u64> {
    Source::open(bytes, None).ok().map(|source| source.size().pixels())
}

fn no_room(bytes: usize, room: usize) -> Error {
    let text = format!(
        "a picture of {bytes} bytes does not fit a row of {room}: if its sidecar says it is smaller, index the shard anew"
    );
    Error::new(ErrorKind::Decode, text)
}

impl Decode for Image {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        let dtype = self.elements.dtype();
        let Extent::Fixed(size) = self.transform.extent() else { return RowShape::Variable(dtype) };
        let channels = self.channels.count();
        if let (true, Some(side)) = (self.heads, self.decoded) {
            return RowShape::Fixed(dtype, vec![heads::row_bytes(side, size, channels)]);
        }
        let (height, width) = (size.height as usize, size.width as usize);
        RowShape::Fixed(
            dtype,
            match self.layout {
                Layout::Hwc => vec![height, width, channels],
                Layout::Chw => vec![channels, height, width],
            },
        )
    }

    fn validate(&self) -> Result<()> {
        self.transform.validate()?;
        self.check_device_decoder()?;
        match self.elements {
            Elements::Single(by) | Elements::Half(by) | Elements::Brain(by) if !by.is_finite() => {
                Err(Error::usage(format!("{by:?}: a standard deviation must not be 0")))
            }
            _ => Ok(()),
        }
    }

    fn room(&self, _: &[u64]) -> u64 {
        let pixels = match self.transform.extent() {
            Extent::Fixed(size) => size.pixels(),
            Extent::UpTo(pixels) => pixels,
        };
        let each = self.channels.count() * self.elements.dtype().size();
        pixels.saturating_mul(each as u64)
    }

    fn group(&self) -> usize {
        GROUP
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let mut kept = scratch.take::<Kept>();
        self.run_ahead(samples, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.drawing.blocks);
        scratch.put(kept);
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = scratch.take::<Kept>();
        let result = self.run(sample, row, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.drawing.blocks);
        kept.drop_large();
        scratch.put(kept);
        result
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for Image {
    fn wants_pixels(&self) -> bool {
        matches!(self.transform.extent(), Extent::UpTo(_))
    }

    fn room_of(&self, pixels: &[Option<u64>]) -> Option<u64> {
        let &[Some(pixels)] = pixels.get(..1)? else { return None };
        let each = self.channels.count() * self.elements.dtype().size();
        Some(self.transform.most(pixels).saturating_mul(each as u64))
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn for_device(&self) -> Option<ForDevice> {
        onto_device::for_device(self)
    }

    fn for_resident(&self, residing: Residing) -> Result<Option<ForResident>> {
        onto_device::for_resident(self, residing)
    }
}

/// The sizes of the pictures of an [`Image`] column; see [`Image::sizes`].
///
/// ```
/// use tarflume::{Image, Loader, Resize};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let image = Image::new("jpg", Resize::shorter(64));
/// let loader = Loader::builder(shards).column("size", image.sizes()).column("image", image).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let size = batch.column("size")?.elements::<u32>()?; // height and width
/// assert_eq!(size.iter().min(), Some(&64));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ImageSizes(Image);

impl Decode for ImageSizes {
    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U32, vec![2])
    }

    fn validate(&self) -> Result<()> {
        self.0.validate()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let source = self.0.source(sample)?;
        let (_, _, Placement { size, .. }) = self.0.placed(sample, &source)?;
        row.put(bytemuck::bytes_of(&[size.height, size.width]))
    }
}

/// What a thread keeps between pictures.
#[derive(Default)]
struct Kept {
    drawing: Drawing,
    finish: Finish,
}

/// What pixels are finished with.
#[derive(Default)]
struct Finish {
    resized: Vec<u8>,
    line: Vec<u8>,
    resizer: Resizer,
}

impl Kept {
    fn drop_large(&mut self) {
        self.drawing.drop_large();
        let Finish { resized, line, resizer } = &mut self.finish;
        for buffer in [resized, line] {
            if buffer.capacity() > Scratch::KEEP {
                *buffer = Vec::new();
            }
        }
        if resizer.size_of_internal_buffers() > Scratch::KEEP {
            resizer.reset_internal_buffers();
        }
    }
}

#[cfg(test)]
mod tests;
