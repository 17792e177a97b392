//! `Image`: from a picture's bytes to a row of pixels.
//!
//! The chooser above decoders, geometry, resizing and output. The decision what is used comes first,
//! from the header alone, so that no more is decoded than it needs.

use std::mem;
use std::sync::Arc;

use fast_image_resize::Resizer;

use super::drawing::{Drawing, Drawn, GROUP, Owner};
use super::geometry::{Extent, Placement, Size, Transform};
use super::opened::{Opened, Source, What};
use super::output::{Elements, Layout, Normalise, Picture};
use super::pixels::{Channels, Pixels, make_room};
use super::random::Random;
use super::resize::{Filter, resize};
use super::turn::Turn;
use super::{Decode, ForDevice, Sample, Scratch};
use crate::column::{DType, Row, RowShape};
use crate::device::finish::{self, Element};
use crate::error::{Error, ErrorKind, Result};

/// A column of pictures.
///
/// JPEG, PNG, WebP, GIF (its first frame), BMP and TIFF are told by their content, not by the
/// extension. They are turned upright as their EXIF says, then cut and resized as a [`Transform`]
/// decides.
///
/// ```
/// use tarflume::decode::image::Image;
/// use tarflume::decode::output::{Layout, Normalise};
/// use tarflume::decode::random_crop::RandomResizedCrop;
/// # use tarflume::{column::{DType, RowShape}, decode::Decode};
///
/// let crop = RandomResizedCrop::new(224).flip(0.5);
/// let pictures = Image::new("jpg;jpeg;png", crop).layout(Layout::Chw).to_f16(Normalise::imagenet());
/// assert_eq!(pictures.shape(), RowShape::Fixed(DType::F16, vec![3, 224, 224]));
/// ```
#[derive(Debug, Clone)]
pub struct Image {
    ext: String,
    transform: Arc<dyn Transform>,
    channels: Channels,
    filter: Filter,
    layout: Layout,
    elements: Elements,
    orientation: bool,
    most_pixels: u64,
    reducing_gap: Option<f64>,
    stream: u64,
}

impl Image {
    /// The most pixels that a stored picture may have, unless [`Image::most_pixels`] says otherwise.
    pub const MOST_PIXELS: u64 = 1 << 28;

    /// Pictures of the part `ext` (or of alternatives: `jpg;jpeg;png`), cut and resized by
    /// `transform`; rows of `u8`, `[height, width, 3]`.
    pub fn new(ext: impl Into<String>, transform: impl Transform) -> Image {
        Image {
            ext: ext.into(),
            transform: Arc::new(transform),
            channels: Channels::Rgb,
            filter: Filter::Bilinear,
            layout: Layout::Hwc,
            elements: Elements::Bytes,
            orientation: true,
            most_pixels: Image::MOST_PIXELS,
            reducing_gap: Some(2.0),
            stream: 0,
        }
    }

    /// The channels of a row.
    #[must_use]
    pub fn channels(mut self, channels: Channels) -> Self {
        self.channels = channels;
        self
    }

    /// How pictures are resized.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// The order of a row's elements.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Rows of `f32`, normalised.
    #[must_use]
    pub fn to_f32(mut self, normalise: Normalise) -> Self {
        self.elements = Elements::Single(normalise);
        self
    }

    /// Rows of half precision, normalised.
    #[must_use]
    pub fn to_f16(mut self, normalise: Normalise) -> Self {
        self.elements = Elements::Half(normalise);
        self
    }

    /// Rows of `bf16` (the upper half of an `f32`), normalised.
    #[must_use]
    pub fn to_bf16(mut self, normalise: Normalise) -> Self {
        self.elements = Elements::Brain(normalise);
        self
    }

    /// Whether pictures are turned as their EXIF orientation says; they are by default.
    #[must_use]
    pub fn orientation(mut self, respect: bool) -> Self {
        self.orientation = respect;
        self
    }

    /// The most pixels that a stored picture may have; a larger one is an error.
    #[must_use]
    pub fn most_pixels(mut self, pixels: u64) -> Self {
        self.most_pixels = pixels;
        self
    }

    /// JPEGs that become much smaller are decoded at 1/2, 1/4 or 1/8 of their size, as long as what
    /// is left is at least `gap` times the output in both directions; `None`: never. Pillow's
    /// `reducing_gap`: at 2, the default, hardly to be told from resizing all of it; at 1 the fastest,
    /// and softer. Never with [`Filter::Nearest`].
    #[must_use]
    pub fn reducing_gap(mut self, gap: Option<f64>) -> Self {
        self.reducing_gap = gap;
        self
    }

    /// Which of a sample's streams of random numbers is used. Columns with the same number (0 unless
    /// said) get the same crop, as a picture and its mask must; another number gives a second view.
    #[must_use]
    pub fn stream(mut self, stream: u64) -> Self {
        self.stream = stream;
        self
    }

    /// A column `[height, width]` of `u32` for each picture as [`Image`] writes it: what the rows of
    /// a variable column need to be read. It reads headers only.
    pub fn sizes(&self) -> ImageSizes {
        ImageSizes(self.clone())
    }

    fn source<'a>(&self, sample: &Sample<'a>) -> Result<Source<'a>> {
        // A decoder's own buffers: as much as the largest picture takes.
        let memory = self.most_pixels.saturating_mul(8);
        let source = Source::open(sample.part(0), sample.entry_points(0), memory)?;
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
    fn placed(&self, sample: &Sample<'_>, source: &Source<'_>) -> Result<(Turn, Size, Placement)> {
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
        Opened::new(source, stored, turn.and_flip(placement.flip), gap)
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
        scratch.reserve(opened.memory)?;
        let (drawn, pixels) = drawing.draw(opened, self.channels)?;
        self.write(drawn, pixels, row, finish)
    }

    /// Resizes decoded pixels and writes them into a row.
    fn write(
        &self,
        drawn: Drawn,
        pixels: &Pixels,
        mut row: Row<'_>,
        finish: &mut Finish,
    ) -> Result<()> {
        let Drawn { placement, turn } = drawn;
        // As the output lies before it is turned.
        let size = if turn.transpose { placement.size.transposed() } else { placement.size };
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

    /// Decodes JPEGs of moderate size together.
    fn run_ahead(&self, samples: &[Sample<'_>], scratch: &mut Scratch, kept: &mut Kept) {
        let (mut group, mut memory) = ([const { None }; GROUP], 0);
        for (place, sample) in group.iter_mut().zip(samples) {
            // What can't be opened is told when its turn comes.
            let Ok(opened) = self.open(sample) else { continue };
            // One with entry points is as many streams by itself, and is resized while it is in the cache.
            let gains = matches!(&opened.what, What::Jpeg(jpeg, _) if !jpeg.has_entry_points());
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
    fn check_size(&self, size: Size) -> Result<()> {
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

fn no_room(bytes: usize, room: usize) -> Error {
    let text = format!("a picture of {bytes} bytes does not fit a row of {room}");
    Error::new(ErrorKind::Decode, text)
}

impl Decode for Image {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        let dtype = self.elements.dtype();
        let Extent::Fixed(size) = self.transform.extent() else { return RowShape::Variable(dtype) };
        let (height, width) = (size.height as usize, size.width as usize);
        let channels = self.channels.count();
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

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn for_device(&self) -> Option<ForDevice> {
        let finish = match self.elements {
            Elements::Bytes => finish::Finish::bytes(),
            Elements::Single(by) => finish::Finish::floats(Element::F32, by).ok()?,
            Elements::Half(by) => finish::Finish::floats(Element::F16, by).ok()?,
            Elements::Brain(by) => finish::Finish::floats(Element::Bf16, by).ok()?,
        };
        let finish = finish.layout(self.layout);
        let bytes = Image { elements: Elements::Bytes, layout: Layout::Hwc, ..self.clone() };
        let fixed = matches!(self.transform.extent(), Extent::Fixed(_));
        let gains = fixed && finish != finish::Finish::bytes();
        gains.then(|| ForDevice { decode: Arc::new(bytes), finish })
    }

    fn group(&self) -> usize {
        GROUP
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let mut kept = mem::take(scratch.get::<Kept>());
        self.run_ahead(samples, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.drawing.blocks);
        *scratch.get() = kept;
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = mem::take(scratch.get::<Kept>());
        let result = self.run(sample, row, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.drawing.blocks);
        kept.drop_large();
        *scratch.get() = kept;
        result
    }
}

/// The sizes of the pictures of an [`Image`] column; see [`Image::sizes`].
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
