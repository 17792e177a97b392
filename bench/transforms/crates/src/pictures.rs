//! The pictures that are changed, and what Pillow or torchvision makes of them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::work::OPERATIONS;

/// Pixels of both sides of the square picture, which all operations but resizes take and all give.
pub const SIDE: u32 = 224;
/// Width and height of the picture that is resized.
pub const WIDE: [u32; 2] = [500, 375];

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
        let mut expected = BTreeMap::new();
        for operation in OPERATIONS {
            expected.insert(operation, pixels(folder, operation, [SIDE, SIDE])?);
        }
        let wide = pixels(folder, "wide", WIDE)?;
        let square = pixels(folder, "square", [SIDE, SIDE])?;
        Ok(Pictures { wide, square, expected })
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
