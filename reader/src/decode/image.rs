//! `Image`: from a picture's bytes to a row of pixels.
//!
//! The chooser above decoders, geometry, resizing and output. The decision what is used comes first,
//! from the header alone, so that no more is decoded than it needs.

use std::mem;
use std::sync::Arc;

use fast_image_resize::Resizer;

use super::formats::Other;
use super::geometry::{Extent, Size, Transform};
use super::jpeg::Jpeg;
use super::output::{Elements, Layout, Normalise, Picture};
use super::pixels::{Channels, Pixels, make_room};
use super::random::Random;
use super::resize::{Filter, resize};
use super::turn::Turn;
use super::{Decode, Sample, Scratch};
use crate::column::{DType, Row, RowShape};
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

    fn open<'a>(&self, bytes: &'a [u8]) -> Result<Source<'a>> {
        let source = if bytes.starts_with(&[0xff, 0xd8]) {
            Source::Jpeg(Jpeg::open(bytes)?)
        } else {
            // A decoder's own buffers: as much as the largest picture takes.
            Source::Other(Other::open(bytes, self.most_pixels.saturating_mul(8))?)
        };
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

    fn run(
        &self,
        sample: &Sample<'_>,
        mut row: Row<'_>,
        scratch: &mut Scratch,
        kept: &mut Kept,
    ) -> Result<()> {
        let source = self.open(sample.part(0))?;
        let turn = if self.orientation { source.turn() } else { Turn::default() };
        let upright = turn.size(source.size());
        let placement =
            self.transform.place(upright, &mut Random::stream(sample.seed, self.stream))?;
        placement.check(upright)?;
        self.check_size(placement.size)?;
        let stored = turn.stored(placement, upright);
        scratch.reserve(source.memory())?;
        source.decode(self.channels, stored.cut.top + stored.cut.size.height, kept)?;

        let mut picture = Picture {
            bytes: &[],
            channels: kept.pixels.channels,
            size: placement.size,
            turn: turn.and_flip(placement.flip),
            wanted: self.channels.count(),
            layout: self.layout,
        };
        let bytes = placement.size.pixels() as usize * picture.channels;
        let (resizer, pixels) = (&mut kept.resizer, &kept.pixels);
        if picture.is_ready() && self.elements == Elements::Bytes {
            let room = row.bytes().len();
            let out = row.bytes().get_mut(..bytes).ok_or_else(|| no_room(bytes, room))?;
            resize(resizer, pixels, &stored, self.filter, out)?;
            row.set_used(bytes);
            return Ok(());
        }
        make_room(&mut kept.resized, bytes)?;
        resize(resizer, pixels, &stored, self.filter, &mut kept.resized)?;
        picture.bytes = &kept.resized;
        picture.write(self.elements, &mut row, &mut kept.line)
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
            Elements::Single(by) | Elements::Half(by) if !by.is_finite() => {
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

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = mem::take(scratch.get::<Kept>());
        let result = self.run(sample, row, scratch, &mut kept);
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
        let source = self.0.open(sample.part(0))?;
        let turn = if self.0.orientation { source.turn() } else { Turn::default() };
        let mut random = Random::stream(sample.seed, self.0.stream);
        let size = self.0.transform.place(turn.size(source.size()), &mut random)?.size;
        row.put(bytemuck::bytes_of(&[size.height, size.width]))
    }
}

/// A picture whose header was read.
enum Source<'a> {
    Jpeg(Jpeg<'a>),
    Other(Other<'a>),
}

impl Source<'_> {
    fn size(&self) -> Size {
        match self {
            Source::Jpeg(jpeg) => jpeg.structure.size,
            Source::Other(other) => other.size,
        }
    }

    fn turn(&self) -> Turn {
        match self {
            Source::Jpeg(jpeg) => jpeg.structure.orientation.map(Turn::of).unwrap_or_default(),
            Source::Other(other) => other.turn,
        }
    }

    fn memory(&self) -> u64 {
        match self {
            Source::Jpeg(jpeg) => jpeg.memory(),
            Source::Other(other) => other.memory(),
        }
    }

    /// Decodes at least the first `rows` rows.
    fn decode(self, wanted: Channels, rows: u32, kept: &mut Kept) -> Result<()> {
        match self {
            Source::Jpeg(jpeg) => jpeg.decode(wanted, rows, &mut kept.input, &mut kept.pixels),
            Source::Other(other) => other.decode(wanted, &mut kept.pixels),
        }
    }
}

/// What a thread keeps between pictures.
#[derive(Default)]
struct Kept {
    input: Vec<u8>,
    pixels: Pixels,
    resized: Vec<u8>,
    line: Vec<u8>,
    resizer: Resizer,
}

impl Kept {
    fn drop_large(&mut self) {
        for buffer in [&mut self.input, &mut self.pixels.bytes, &mut self.resized, &mut self.line] {
            if buffer.capacity() > Scratch::KEEP {
                *buffer = Vec::new();
            }
        }
        if self.resizer.size_of_internal_buffers() > Scratch::KEEP {
            self.resizer.reset_internal_buffers();
        }
    }
}

#[cfg(test)]
mod tests;
