//! Images by the `image` crate: headers of all but JPEG, and pixels of every kind.

use std::io::Cursor;

use image::{ImageError, ImageReader, Limits};

use super::fault::{Dimensions, Fault};
use crate::problem::ProblemKind;

/// The largest image that is decoded: 1 GiB of pixels.
const MAX_ALLOC: u64 = 1 << 30;

pub(super) fn header(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let reader = reader(bytes, ProblemKind::BadImage)?;
    let (width, height) = reader.into_dimensions().map_err(|e| fault(ProblemKind::BadImage, &e))?;
    if width == 0 || height == 0 {
        let reason = format!("the image has no pixels: {width} x {height}");
        return Err(Fault { kind: ProblemKind::BadImage, byte: 0, reason });
    }
    Ok((width, height))
}

pub(super) fn decode(bytes: &[u8], kind: ProblemKind) -> Result<Dimensions, Fault> {
    let mut reader = reader(bytes, kind)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_ALLOC);
    reader.limits(limits);
    let pixels = reader.decode().map_err(|e| fault(kind, &e))?;
    Ok((pixels.width(), pixels.height()))
}

fn reader(bytes: &[u8], kind: ProblemKind) -> Result<ImageReader<Cursor<&[u8]>>, Fault> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let reader = reader.map_err(|e| Fault { kind, byte: 0, reason: e.to_string() })?;
    if reader.format().is_none() {
        let reason = "its first bytes are of no image format that is known here".into();
        return Err(Fault { kind, byte: 0, reason });
    }
    Ok(reader)
}

fn fault(kind: ProblemKind, error: &ImageError) -> Fault {
    // The decoders name no byte.
    Fault { kind, byte: 0, reason: format!("it can't be decoded: {error}") }
}
