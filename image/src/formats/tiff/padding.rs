//! `Padding`: pictures in tiles for whose ends the decoder fails.

use super::super::input::bytes::part;
use super::super::input::patched::Patch;
use super::{
    COMPRESSION, File, HEIGHT, LZW, PLANES, SAMPLES, TILE_HEIGHT, TILE_WIDTH, WIDTH, width_of,
};

/// Pixels of tiles that are decoded whole, however small the picture in them is.
const PADDED: u64 = 1 << 22;

/// How a picture is decoded that has more pixels in its tiles than in itself.
#[derive(Debug, Clone, Copy)]
pub(in crate::formats) struct Padding {
    /// Declare all columns and rows of its tiles as those of the picture.
    pub(in crate::formats) patches: [Option<Patch>; 2],
    /// Width of the picture.
    pub(in crate::formats) width: u32,
    /// Height of the picture.
    pub(in crate::formats) height: u32,
}

/// A side of a picture whose tiles are longer.
struct LongSide {
    /// The number of pixels in tiles.
    padded: u64,
    /// Declares them; `None` if the file has no room for the number.
    patch: Option<Patch>,
}

/// The padding of a picture that the decoder fails for because of it; `None` for all other pictures.
///
/// Of planes in tiles that are taller than what is left for the last ones, the decoder looks for these only in the first
/// plane, and panics. Of tiles in LZW, it may take the end of the pixels for a missing end of the data.
///
/// # Errors
/// Returns a message if the file has no room for the padded height.
pub(in crate::formats) fn padding(bytes: &[u8]) -> Result<Option<Padding>, String> {
    let Some(file) = File::open(bytes) else { return Ok(None) };
    let planes = file.first(PLANES) == Some(2) && file.first(SAMPLES).unwrap_or(1) > 1;
    let is_lzw = file.first(COMPRESSION) == Some(LZW);
    let sides = [WIDTH, HEIGHT].map(|tag| file.first(tag).and_then(|n| u32::try_from(n).ok()));
    let [Some(width), Some(height)] = sides else { return Ok(None) };
    if !planes && !is_lzw {
        return Ok(None);
    }
    let below = file.long_side(HEIGHT, TILE_HEIGHT);
    let right = file.long_side(WIDTH, TILE_WIDTH).filter(|_| is_lzw);
    if let (Some(LongSide { patch: None, .. }), true) = (&below, planes) {
        return Err(format!("a TIFF of {height} rows in planes with taller tiles is not decoded"));
    }
    // A picture that is small beside its tiles stays as it is: all of them would be in memory.
    let columns = right.as_ref().map_or(u64::from(width), |side| side.padded);
    let rows = below.as_ref().map_or(u64::from(height), |side| side.padded);
    let most = (u64::from(width) * u64::from(height)).saturating_mul(4).max(PADDED);
    let right = right.filter(|_| columns.saturating_mul(rows) <= most);
    let below = below.filter(|_| planes || columns.saturating_mul(rows) <= most);
    let patches = [right, below].map(|side| side.and_then(|side| side.patch));
    Ok(Some(Padding { patches, width, height }).filter(|_| patches != [None; 2]))
}

impl File<'_> {
    /// A side of the picture that is no multiple of the tiles' side.
    fn long_side(&self, tag: u16, tile: u16) -> Option<LongSide> {
        let entry = self.entry(tag)?;
        let side = self.value(&entry, 0).filter(|&side| side > 0)?;
        let tile = self.first(tile).filter(|&tile| tile > 0 && side % tile > 0)?;
        let padded = side.checked_next_multiple_of(tile)?;
        let most = if entry.kind == 3 { u64::from(u16::MAX) } else { u64::from(u32::MAX) };
        let length = width_of(entry.kind);
        let at = self.value_at(&entry).filter(|&at| part(self.bytes, at, length).is_some());
        let patch = at.filter(|_| padded <= most && length <= 8).map(|at| {
            let mut patch = Patch { at, bytes: [0; 8], length };
            if self.big_endian {
                patch.bytes[..length].copy_from_slice(&padded.to_be_bytes()[8 - length..]);
            } else {
                patch.bytes = padded.to_le_bytes();
            }
            patch
        });
        Some(LongSide { padded, patch })
    }
}
