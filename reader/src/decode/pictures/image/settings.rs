//! The options of an `Image` column.
//!
//! Plain settings; opens nothing.

use std::sync::Arc;

use tarflume_image::convert::{Finish, PixelElement};
use tarflume_image::{Channels, Elements, Filter, Layout, Normalize, Transform};
use tarflume_transforms::{Interpolation, Recipe};
use tarflume_types::{Error, Result};

use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::pictures::{ListedRows, TransformsOn};
use crate::decode::hybrid::request::DecodedBy;
use crate::decode::pictures::fallback::Fallback;
use crate::decode::values::picture_buckets::ChosenBucket;

/// A column of pictures.
///
/// Detects JPEG, PNG, WebP, GIF (first frame), BMP, TIFF and Netpbm by content, not by extension. Turns pictures upright by
/// their orientation, then crops and resizes them as a [`Transform`] decides.
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
    /// The transform, if it is a recipe.
    pub(super) recipe: Option<Arc<Recipe>>,
    pub(super) channels: Channels,
    /// The default depends on the channels.
    pub(super) filter: Option<Filter>,
    pub(super) layout: Layout,
    pub(super) elements: Elements,
    pub(super) orientation: bool,
    pub(super) most_pixels: u64,
    /// The default depends on the filter.
    pub(super) reducing_gap: Option<ReducingGap>,
    pub(super) stream: u64,
    pub(super) share: Option<DeviceShare>,
    /// What decodes that share.
    pub(super) decoder: DecodedBy,
    /// Decodes the kinds that are not decoded here.
    pub(super) fallback: Option<Arc<dyn Fallback>>,
    /// Pictures of up to this side squared in pixels go to a device as decoded.
    pub(super) decoded: Option<u32>,
    /// Whether rows begin with a header, for pictures as decoded.
    pub(super) headed: bool,
    /// Whether a device converts the bytes to floats, for which samples of more than 8 bits would be cut.
    pub(super) is_converted: bool,
    /// Whether JPEGs of which pixels are lost are decoded.
    pub(super) keep_damaged: bool,
    pub(super) transforms_on: TransformsOn,
    /// Whether rows begin with a list of what a device does with their pixels.
    pub(super) listed: Option<ListedRows>,
    /// The boxes of one picture, upright, with which its recipe draws.
    pub(super) boxes: Option<Arc<[[f64; 4]]>>,
    /// The bucket that its pictures were put into by their sizes.
    pub(super) bucket: Option<ChosenBucket>,
}

/// What [`Image::reducing_gap`] was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReducingGap(Option<f64>);

impl Image {
    /// The default of [`Image::most_pixels`].
    pub const MOST_PIXELS: u64 = 1 << 28;

    /// Reads the part `ext` (or alternatives: `jpg;jpeg;png`), cropped and resized by `transform`, as rows of
    /// `u8`, `[height, width, 3]`.
    ///
    /// The transform may be a [`Recipe`] of [`transforms`](crate::transforms). Crops, a resize and flips at its begin are
    /// part of decoding, as other transforms are. A recipe that does more takes pixels of 8 bits with one or three channels:
    /// samples of 16 bits are reduced to 8.
    ///
    /// ```
    /// use tarflume::Image;
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::{crop::RandomResizedCrop, turn::RandomHorizontalFlip};
    ///
    /// let crop = RandomResizedCrop::new([224, 224]);
    /// let recipe = Recipe::new([crop.into(), RandomHorizontalFlip { p: 0.5 }.into()]);
    /// let pictures = Image::new("jpg", recipe);
    /// ```
    pub fn new(ext: impl Into<String>, transform: impl Transform) -> Image {
        let recipe = transform.recipe().and_then(|recipe| recipe.downcast_ref::<Recipe>());
        Image {
            ext: ext.into(),
            recipe: recipe.cloned().map(Arc::new),
            transform: Arc::new(transform),
            channels: Channels::Rgb,
            filter: None,
            layout: Layout::Hwc,
            elements: Elements::Bytes,
            orientation: true,
            most_pixels: Image::MOST_PIXELS,
            reducing_gap: None,
            stream: 0,
            share: None,
            decoder: DecodedBy::Library,
            fallback: None,
            decoded: None,
            headed: false,
            is_converted: false,
            keep_damaged: false,
            transforms_on: TransformsOn::Host,
            listed: None,
            boxes: None,
            bucket: None,
        }
    }

    /// Whether EXIF orientations turn its pictures.
    pub(crate) fn is_turned(&self) -> bool {
        self.orientation
    }

    /// Sets the channels of a row.
    #[must_use]
    pub fn channels(mut self, channels: Channels) -> Self {
        self.channels = channels;
        self
    }

    /// Sets the resize filter. The default is that of a [`Recipe`], or else [`Filter::Bilinear`], and [`Filter::Nearest`] for
    /// [`Channels::Index`]. Resizes behind the part of a recipe that is done while decoding keep their own.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// The interpolation that replaces that of the recipe's resize. OpenCV's bilinear filter has no interpolation; the
    /// nearest to it is bilinear.
    pub(super) fn own_interpolation(&self) -> Option<Interpolation> {
        let is_own = self.filter.is_some() || self.channels == Channels::Index;
        is_own.then(|| match self.resize_filter() {
            Filter::Nearest => Interpolation::Nearest,
            Filter::Bicubic => Interpolation::Bicubic,
            Filter::Lanczos => Interpolation::Lanczos,
            _ => Interpolation::Bilinear,
        })
    }

    /// The resize filter for the sample of this seed.
    pub(super) fn filter_of(&self, seed: u64) -> Filter {
        match &self.recipe {
            Some(recipe) if self.filter.is_none() && self.channels != Channels::Index => {
                recipe.filter_of(seed, self.stream)
            }
            _ => self.resize_filter(),
        }
    }

    /// The resize filter that is used; of several that are drawn, the one that reads most pixels.
    pub(super) fn resize_filter(&self) -> Filter {
        let usual = match &self.recipe {
            _ if self.channels == Channels::Index => Filter::Nearest,
            Some(recipe) => recipe.filter(),
            None => Filter::Bilinear,
        };
        self.filter.unwrap_or(usual)
    }

    /// Sets the order of a row's elements.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Writes rows of `u16`: the samples of pictures of 16 bits as they are. Those of 8 bits are multiplied by 257, so that
    /// 65535 is white in both; the numbers of [`Channels::Index`] are not scaled.
    ///
    /// ```
    /// use tarflume::{Channels, DType, Decode, Image, Resize, RowShape};
    ///
    /// let depth = Image::new("depth.png", Resize::exact(64)).channels(Channels::Gray).to_u16();
    /// assert_eq!(depth.shape(), RowShape::Fixed(DType::U16, vec![64, 64, 1]));
    /// ```
    #[must_use]
    pub fn to_u16(mut self) -> Self {
        self.elements = Elements::Words;
        self
    }

    /// Writes rows of `f32`, normalized. Pictures of 16 bits are not reduced to 8 bits before.
    #[must_use]
    pub fn to_f32(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Single(normalize);
        self
    }

    /// Writes rows of IEEE half precision, normalized.
    #[must_use]
    pub fn to_f16(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Half(normalize);
        self
    }

    /// Writes rows of bfloat16, normalized.
    #[must_use]
    pub fn to_bf16(mut self, normalize: Normalize) -> Self {
        self.elements = Elements::Brain(normalize);
        self
    }

    /// Sets whether pictures are turned by the orientation that their EXIF, or else their XMP, states. The default is true.
    #[must_use]
    pub fn orientation(mut self, respect: bool) -> Self {
        self.orientation = respect;
        self
    }

    /// Sets the maximum pixels of a stored picture. A larger picture is an error.
    #[must_use]
    pub fn most_pixels(mut self, pixels: u64) -> Self {
        self.most_pixels = pixels;
        self
    }

    /// Sets when JPEGs that become much smaller are decoded at 1/2, 1/4 or 1/8 of their size: as long as the reduced
    /// picture is at least `gap` times the output on both axes; never if `None`. Equals Pillow's `reducing_gap`. At
    /// 2 the result is hardly distinguishable from resizing the full picture; at 1 decoding is fastest and the result
    /// softer. Not used with [`Filter::Nearest`].
    ///
    /// The default is 2, and `None` with [`Filter::Bicubic`] and [`Filter::Lanczos`]: models that use these are
    /// evaluated on the pixels of Pillow's full pictures, which the default then gives. A reduced picture differs from
    /// them: see decision 028 for how much, and for what decoding in full costs.
    #[must_use]
    pub fn reducing_gap(mut self, gap: Option<f64>) -> Self {
        self.reducing_gap = Some(ReducingGap(gap));
        self
    }

    /// See [`Image::reducing_gap`].
    pub(super) fn gap(&self) -> Option<f64> {
        let filter = self.resize_filter();
        let is_exact = matches!(filter, Filter::Bicubic | Filter::Lanczos);
        let default = if is_exact { None } else { Some(2.0) };
        self.reducing_gap.map_or(default, |gap| gap.0).filter(|_| filter.mixes())
    }

    /// Lets `fallback` decode the pictures of exactly those kinds that this crate does not decode: AVIF, HEIC, JPEG XL,
    /// JPEG 2000, arithmetic and lossless JPEG, rare TIFF and BMP. The transform then crops and resizes them like others.
    /// Without it, such a picture is an error ([`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported)). The loader's
    /// statistics show the cost of the calls that it counts. The fallback turns its pictures itself: it decides whether it
    /// follows [`Image::orientation`].
    ///
    /// Of a transform without a fixed size, such a picture has room for as many pixels as the transform may return, unless
    /// the sidecar has its size.
    #[must_use]
    pub fn fallback(mut self, fallback: impl Fallback) -> Self {
        self.fallback = Some(Arc::new(fallback));
        self
    }

    /// Lets a device crop and resize, if batches go to one. The host uploads a picture as decoded if it then has at
    /// most `side * side` pixels, and resizes larger ones. This takes resizing off the host and transfers up to that
    /// many pixels for each row. Requires a fixed output size and [`Filter::Bilinear`]; cannot be combined with
    /// [`Image::device_decoder`] or [`Image::device_kernels`].
    #[must_use]
    pub fn resize_on_device(mut self, side: u32) -> Self {
        self.decoded = Some(side);
        self
    }

    /// Sets whether JPEGs of which pixels are lost are decoded: cut files, missing progressive scans, broken codes. Their
    /// pixels are those of libjpeg-turbo: gray where data lack, estimates for missing scans. They are counted
    /// ([`Blocks::damaged`](crate::Blocks::damaged)). By default each is a bad sample.
    #[must_use]
    pub fn keep_damaged(mut self, keep: bool) -> Self {
        self.keep_damaged = keep;
        self
    }

    /// Sets which stream of the sample's random numbers is used; 0 by default. Columns with the same number get the
    /// same crop, which a picture and its mask need. A different number gives a second view.
    #[must_use]
    pub fn stream(mut self, stream: u64) -> Self {
        self.stream = stream;
        self
    }

    /// The conversion on a device.
    pub(super) fn finish(&self) -> Result<Finish> {
        let finish = match self.elements {
            Elements::Bytes => Ok(Finish::bytes()),
            Elements::Words => Err(Error::usage("a device does not convert pixels of 16 bits")),
            Elements::Single(by) => Finish::floats(PixelElement::F32, by),
            Elements::Half(by) => Finish::floats(PixelElement::F16, by),
            Elements::Brain(by) => Finish::floats(PixelElement::Bf16, by),
        };
        Ok(finish?.layout(self.layout))
    }
}
