//! `OpenPicture`: a picture whose header was read, and how it will be decoded.
//!
//! Decodes no pixels.

use tarflume_image::{Cut, Depth, ImageSize, OtherPicture, Placement, Turn};
use tarflume_jpeg::Excerpt;
use tarflume_types::Result;

use super::fallback::FallbackPicture;
use crate::decode::jpeg::{Jpeg, View};

/// A picture whose header was read.
#[allow(clippy::large_enum_variant)] // a box would be an allocation a sample
pub(in crate::decode) enum PictureSource<'a> {
    Jpeg(Jpeg<'a>),
    Other(OtherPicture<'a>),
    /// A picture of a kind that is not decoded here.
    Fallback(Box<dyn FallbackPicture + 'a>),
}

impl<'a> PictureSource<'a> {
    /// Reads the header. The format is detected from the first bytes.
    ///
    /// # Errors
    /// Returns an error if the format is unknown or the header is damaged.
    pub(in crate::decode) fn open(
        bytes: &'a [u8],
        entry_points: Option<&'a [u8]>,
        excerpt: Option<Excerpt<'a>>,
    ) -> Result<PictureSource<'a>> {
        if bytes.starts_with(&[0xff, 0xd8]) {
            return Ok(PictureSource::Jpeg(Jpeg::open(bytes, entry_points, excerpt)?));
        }
        Ok(PictureSource::Other(OtherPicture::open(bytes)?))
    }

    /// Size as stored.
    pub(in crate::decode) fn size(&self) -> ImageSize {
        match self {
            PictureSource::Jpeg(jpeg) => jpeg.size(),
            PictureSource::Other(other) => other.size,
            PictureSource::Fallback(picture) => picture.size(),
        }
    }

    /// The turn of its orientation.
    pub(in crate::decode) fn turn(&self) -> Turn {
        match self {
            PictureSource::Jpeg(jpeg) => jpeg.turn(),
            PictureSource::Other(other) => other.turn,
            PictureSource::Fallback(_) => Turn::default(),
        }
    }

    /// The type of the samples that the picture stores.
    pub(in crate::decode) fn depth(&self) -> Depth {
        match self {
            PictureSource::Jpeg(_) | PictureSource::Fallback(_) => Depth::Byte,
            PictureSource::Other(other) => other.depth(),
        }
    }
}

/// A picture and how it will be decoded.
pub(in crate::decode) struct OpenPicture<'a> {
    pub(in crate::decode) codec: Codec<'a>,
    /// The placement on the decoded pixels.
    pub(in crate::decode) placement: Placement,
    /// The turn from the stored pixels to the output, including mirroring.
    pub(in crate::decode) turn: Turn,
    /// Size of the whole picture, upright.
    pub(in crate::decode) upright: ImageSize,
    /// Bytes of memory for decoding.
    pub(in crate::decode) memory: u64,
    /// Additional bytes for resizing and writing the row, set by the caller.
    pub(in crate::decode) finishing: u64,
}

/// The codec and its parameters.
#[allow(clippy::large_enum_variant)] // as above
pub(in crate::decode) enum Codec<'a> {
    /// A part of a JPEG.
    Jpeg(Jpeg<'a>, View),
    /// A picture of another format, which is decoded whole.
    Other(OtherPicture<'a>),
    /// A picture that the user's decoder decodes, whole.
    Fallback(Box<dyn FallbackPicture + 'a>),
}

impl<'a> OpenPicture<'a> {
    /// Prepares decoding `source` for a placement on the stored picture. `turn` is the turn to apply; for `gap`
    /// see [`Jpeg::view`].
    ///
    /// # Errors
    /// Returns an error if the placement is outside the picture.
    pub(in crate::decode) fn new(
        source: PictureSource<'a>,
        placement: Placement,
        turn: Turn,
        gap: Option<f64>,
    ) -> Result<OpenPicture<'a>> {
        let upright = turn.size(source.size());
        match source {
            PictureSource::Jpeg(jpeg) => {
                let view = jpeg.view(&placement, gap);
                let placement = view.place(&placement);
                Ok(OpenPicture { placement, ..OpenPicture::of_view(jpeg, view, turn)? })
            }
            PictureSource::Other(other) => {
                let memory = other.memory();
                let codec = Codec::Other(other);
                Ok(OpenPicture { codec, placement, turn, upright, memory, finishing: 0 })
            }
            PictureSource::Fallback(picture) => {
                // Four channels at most.
                let pixels = picture.size().pixels().saturating_mul(4);
                let memory = picture.memory().saturating_add(pixels);
                let codec = Codec::Fallback(picture);
                Ok(OpenPicture { codec, placement, turn, upright, memory, finishing: 0 })
            }
        }
    }

    /// Prepares decoding a view of a JPEG. The placement is all of it.
    ///
    /// # Errors
    /// Returns an error if the view is outside the picture.
    pub(in crate::decode) fn of_view(
        jpeg: Jpeg<'a>,
        view: View,
        turn: Turn,
    ) -> Result<OpenPicture<'a>> {
        let size = ImageSize::new(view.region.width, view.region.height);
        Ok(OpenPicture {
            placement: Placement::of(Cut::whole(size), size),
            turn,
            upright: turn.size(jpeg.size()),
            memory: jpeg.memory(&view)?,
            finishing: 0,
            codec: Codec::Jpeg(jpeg, view),
        })
    }
}
