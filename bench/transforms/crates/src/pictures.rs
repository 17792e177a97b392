//! The pictures that are changed, and what Pillow or torchvision makes of them.

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_image::ImageSize;

use crate::work::OPERATIONS;

/// Pixels of both sides of the square picture, which all operations but resizes take and all give.
pub const SIDE: u32 = 224;
/// Width and height of the picture that is resized.
pub const WIDE: [u32; 2] = [500, 375];

/// A picture `[height, width, 3]` and its size.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    pub pixels: &'a [u8],
    pub size: ImageSize,
}

pub struct Pictures {
    /// `[375, 500, 3]`.
    pub wide: Vec<u8>,
    /// `[224, 224, 3]`.
    pub square: Vec<u8>,
    /// The expected result of each operation.
    pub expected: BTreeMap<&'static str, Vec<u8>>,
}

impl Pictures {
    pub fn read(folder: &Path) -> Result<Pictures, String> {
        let mut pictures = Pictures::inputs(folder)?;
        for operation in OPERATIONS {
            pictures.expected.insert(operation, pixels(folder, operation, [SIDE, SIDE])?);
        }
        Ok(pictures)
    }

    /// Without results.
    pub fn inputs(folder: &Path) -> Result<Pictures, String> {
        let wide = pixels(folder, "wide", WIDE)?;
        let square = pixels(folder, "square", [SIDE, SIDE])?;
        Ok(Pictures { wide, square, expected: BTreeMap::new() })
    }

    pub fn wide(&self) -> Picture<'_> {
        Picture { pixels: &self.wide, size: ImageSize::new(WIDE[0], WIDE[1]) }
    }

    pub fn square(&self) -> Picture<'_> {
        Picture { pixels: &self.square, size: ImageSize::new(SIDE, SIDE) }
    }
}

fn pixels(folder: &Path, name: &str, size: [u32; 2]) -> Result<Vec<u8>, String> {
    let path = folder.join(name).with_extension("rgb");
    let bytes = std::fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
    let want = 3 * size[0] as usize * size[1] as usize;
    if bytes.len() != want {
        return Err(format!("{} has {} bytes, not {want}", path.display(), bytes.len()));
    }
    Ok(bytes)
}
