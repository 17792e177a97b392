//! Images that are no JPEGs, by libraries: their headers, and their pixels.

use std::io::Cursor;

use image::{ImageError, ImageReader, Limits};

use super::fault::{Dimensions, Fault, MAX_PIXELS};
use crate::problem::ProblemKind;

pub(super) fn header(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let reader = reader(bytes)?;
    let (width, height) = reader.into_dimensions().map_err(|e| fault(&e))?;
    if width == 0 || height == 0 {
        let reason = format!("the image has no pixels: {width} x {height}");
        return Err(Fault { kind: ProblemKind::BadImage, byte: 0, reason });
    }
    Ok((width, height))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let mut reader = reader(bytes)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(4 * MAX_PIXELS);
    reader.limits(limits);
    let pixels = reader.decode().map_err(|e| fault(&e))?;
    Ok((pixels.width(), pixels.height()))
}

fn reader(bytes: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>, Fault> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let reader = reader.map_err(|e| Fault {
        kind: ProblemKind::BadImage,
        byte: 0,
        reason: e.to_string(),
    })?;
    if reader.format().is_none() {
        let reason = "its first bytes are of no image format that is known here".into();
        return Err(Fault { kind: ProblemKind::BadImage, byte: 0, reason });
    }
    Ok(reader)
}

fn fault(error: &ImageError) -> Fault {
    // The decoders name no byte.
    Fault { kind: ProblemKind::BadImage, byte: 0, reason: format!("it can't be decoded: {error}") }
}
