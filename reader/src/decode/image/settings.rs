//! What an `Image` column is asked for: which part, which pixels of it, as what.
//!
//! Settings alone; nothing is opened here.

use std::sync::Arc;

use crate::decode::hybrid::balance::DeviceShare;
use crate::error::Result;
use crate::picture::convert::{Element, Finish};
use crate::picture::geometry::Transform;
use crate::picture::output::{Elements, Layout, Normalize};
use crate::picture::pixels::Channels;
use crate::picture::resize::Filter;

/// A column of pictures.
///
/// JPEG, PNG, WebP, GIF (its first frame), BMP and TIFF are told by their content, not by the
/// extension. They are turned upright as their EXIF says, then cut and resized as a [`Transform`]
/// decides.
///
/// ```
/// use tarflume::{DType, Decode, Image, Layout, Normalize, RandomResizedCrop, RowShape};
///
/// let crop = RandomResizedCrop::new(224).flip(0.5);
/// let pictures = Image::new("jpg;jpeg;png", crop).layout(Layout::Chw).to_f16(Normalize::imagenet());
/// assert_eq!(pictures.shape(), RowShape::Fixed(DType::F16, vec![3, 224, 224]));
/// ```
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) ext: String,
    pub(super) transform: Arc<dyn Transform>,
    pub(super) channels: Channels,
    pub(super) filter: Filter,
    pub(super) layout: Layout,
    pub(super) elements: Elements,
    pub(super) orientation: bool,
    pub(super) most_pixels: u64,
    pub(super) reducing_gap: Option<f64>,
    pub(super) stream: u64,
    pub(super) share: Option<DeviceShare>,
    /// Pictures of up to so many pixels squared go to a device as they were decoded.
    pub(super) decoded: Option<u32>,
    /// Rows begin with a head, and hold those.
    pub(super) heads: bool,
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
            share: None,
            decoded: None,
            heads: false,
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

    /// Rows of `f32`, normalized.
    #[must_use]
    pub fn to_f32(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Single(normalize);
        self
    }

    /// Rows of half precision, normalized.
    #[must_use]
    pub fn to_f16(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Half(normalize);
        self
    }

    /// Rows of `bf16` (the upper half of an `f32`), normalized.
    #[must_use]
    pub fn to_bf16(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Brain(normalize);
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

    /// Where batches go to a device, it cuts and resizes: a picture is decoded no further than it needs, and
    /// crosses as it is if it has at most `side * side` pixels then; larger ones the host resizes. That
    /// takes resizing off the host, and costs the link up to so many pixels a row. Only with an output of
    /// one size and [`Filter::Bilinear`]; not together with [`Image::device_decoder`].
    #[must_use]
    pub fn resize_on_device(mut self, side: u32) -> Self {
        self.decoded = Some(side);
        self
    }

    /// Which of a sample's streams of random numbers is used. Columns with the same number (0 unless
    /// said) get the same crop, as a picture and its mask must; another number gives a second view.
    #[must_use]
    pub fn stream(mut self, stream: u64) -> Self {
        self.stream = stream;
        self
    }

    /// What a device makes of its bytes.
    pub(super) fn finish(&self) -> Result<Finish> {
        let finish = match self.elements {
            Elements::Bytes => Ok(Finish::bytes()),
            Elements::Single(by) => Finish::floats(Element::F32, by),
            Elements::Half(by) => Finish::floats(Element::F16, by),
            Elements::Brain(by) => Finish::floats(Element::Bf16, by),
        };
        Ok(finish?.layout(self.layout))
    }
}
