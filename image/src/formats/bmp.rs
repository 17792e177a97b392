//! BMP: the palette.

use std::ops::Range;

use super::input::bytes::{le16, le32};

/// Bytes before the header of the picture, and of the oldest such header.
const FILE: usize = 14;
const CORE: usize = 12;
/// Maximum colors of a palette.
const MOST: usize = 256;

/// Where the palette is.
pub(super) struct BmpPalette {
    place: Range<usize>,
    /// Bytes of a color: blue, green, red, and a fourth one in newer files.
    each: usize,
}

impl BmpPalette {
    /// Finds the palette; `None` if the picture has none.
    pub(super) fn of(bytes: &[u8]) -> Option<BmpPalette> {
        let header = le32(bytes, FILE)? as usize;
        let is_core = header == CORE;
        let bits = le16(bytes, FILE + if is_core { 10 } else { 14 })?;
        (1..=8).contains(&bits).then_some(())?;
        let stated = if is_core { 0 } else { le32(bytes, FILE + 32)? as usize };
        let count = if stated == 0 { 1 << bits } else { stated.min(MOST) };
        let start = FILE.checked_add(header)?;
        let each = if is_core { 3 } else { 4 };
        let end = start.checked_add(count * each)?;
        (end <= bytes.len()).then_some(BmpPalette { place: start..end, each })
    }

    /// The colors, three bytes each.
    pub(super) fn colors<'a>(
        &self,
        bytes: &'a [u8],
    ) -> impl ExactSizeIterator<Item = [u8; 3]> + 'a {
        let colors = bytes[self.place.clone()].chunks_exact(self.each);
        colors.map(|color| [color[2], color[1], color[0]])
    }

    /// Replaces each color by the gray of its index.
    pub(super) fn show_indices(&self, bytes: &mut [u8]) {
        let colors = bytes[self.place.clone()].chunks_exact_mut(self.each);
        for (index, color) in colors.enumerate() {
            color[..3].fill(index as u8);
        }
    }
}
