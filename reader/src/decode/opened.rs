//! `Opened`: a picture whose header was read, and the decision what becomes of it.
//!
//! No pixel is made here: what is decoded, and with which decoder, follows.

use super::formats::Other;
use super::jpeg::{Jpeg, View};
use crate::error::Result;
use crate::picture::geometry::{ImageSize, Placement};
use crate::picture::orientation::Turn;

/// A picture whose header was read.
#[allow(clippy::large_enum_variant)] // a box would be an allocation a sample
pub(super) enum Source<'a> {
    Jpeg(Jpeg<'a>),
    Other(Other<'a>),
}

impl<'a> Source<'a> {
    /// Told by its first bytes.
    ///
    /// # Errors
    /// It is none, or its header is damaged.
    pub(super) fn open(bytes: &'a [u8], entry_points: Option<&'a [u8]>) -> Result<Source<'a>> {
        if bytes.starts_with(&[0xff, 0xd8]) {
            return Ok(Source::Jpeg(Jpeg::open(bytes, entry_points)?));
        }
        Ok(Source::Other(Other::open(bytes)?))
    }

    /// Stored size.
    pub(super) fn size(&self) -> ImageSize {
        match self {
            Source::Jpeg(jpeg) => jpeg.size(),
            Source::Other(other) => other.size,
        }
    }

    /// How it lies.
    pub(super) fn turn(&self) -> Turn {
        match self {
            Source::Jpeg(jpeg) => jpeg.turn(),
            Source::Other(other) => other.turn,
        }
    }
}

/// A picture, and what becomes of it.
pub(super) struct Opened<'a> {
    pub(super) what: What<'a>,
    /// On the pixels that are decoded.
    pub(super) placement: Placement,
    /// From the pixels as stored to the output, mirrored or not.
    pub(super) turn: Turn,
    /// Bytes of memory that decoding takes.
    pub(super) memory: u64,
    /// Bytes that resizing and writing the row take beside them, as the caller says.
    pub(super) finishing: u64,
}

/// What is decoded.
#[allow(clippy::large_enum_variant)] // as above
pub(super) enum What<'a> {
    /// A part of a JPEG.
    Jpeg(Jpeg<'a>, View),
    /// All of another picture.
    Other(Other<'a>),
}

impl<'a> Opened<'a> {
    /// What becomes of `source`, whose turn is respected as `turn`, by a placement on the stored
    /// picture; see [`Jpeg::view`] for `gap`.
    ///
    /// # Errors
    /// The placement is not within the picture.
    pub(super) fn new(
        source: Source<'a>,
        placement: Placement,
        turn: Turn,
        gap: Option<f64>,
    ) -> Result<Opened<'a>> {
        match source {
            Source::Jpeg(jpeg) => {
                let view = jpeg.view(&placement, gap);
                let memory = jpeg.memory(&view)?;
                let placement = view.place(&placement);
                Ok(Opened { what: What::Jpeg(jpeg, view), placement, turn, memory, finishing: 0 })
            }
            Source::Other(other) => {
                let memory = other.memory();
                Ok(Opened { what: What::Other(other), placement, turn, memory, finishing: 0 })
            }
        }
    }
}
