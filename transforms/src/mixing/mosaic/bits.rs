//! `TiledBits`: masks of one bit a pixel in mosaics.

use super::tile::Tile;
use crate::mixing::plan::Region;

/// Pixels of a byte.
const EIGHT: usize = 8;

/// Masks of one bit a pixel that become masks of mosaics. Each line begins with a byte, whose highest bit is the first pixel, as
/// `numpy.packbits(axis=-1)` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TiledBits {
    /// Height and width.
    size: [u32; 2],
}

/// A line that a part shows: the numbers of the lines in the source and in the mosaic.
struct Line {
    source: usize,
    place: usize,
}

impl TiledBits {
    /// Masks of pictures of this height and width.
    pub fn new(size: [u32; 2]) -> TiledBits {
        TiledBits { size }
    }

    /// Bytes of a line.
    fn line(&self) -> usize {
        (self.size[1] as usize).div_ceil(EIGHT)
    }

    /// Bytes of a mask.
    pub fn bytes(&self) -> usize {
        self.size[0] as usize * self.line()
    }

    /// Copies what a part shows of a mask into one whose bits there are 0.
    pub fn lay_tile(&self, tile: &Tile, from: &[u8], to: &mut [u8]) {
        let stride = self.line();
        for Line { source, place } in lines(tile) {
            let from = &from[source * stride..][..stride];
            let to = &mut to[place * stride..][..stride];
            for at in bytes(tile) {
                to[at] |= shown(tile, from, at);
            }
        }
    }

    /// Whether a part shows a bit of a mask that is not 0.
    pub fn shows_any(&self, tile: &Tile, from: &[u8]) -> bool {
        let stride = self.line();
        lines(tile).any(|line| {
            let from = &from[line.source * stride..][..stride];
            bytes(tile).any(|at| shown(tile, from, at) != 0)
        })
    }
}

/// The lines that a part shows.
fn lines(tile: &Tile) -> impl Iterator<Item = Line> {
    let Region { top, bottom, .. } = tile.region;
    let down = tile.shift[1];
    (top..bottom)
        .map(move |line| Line { source: (i64::from(line) - down) as usize, place: line as usize })
}

/// The bytes of a line of the mosaic that have pixels of a part.
fn bytes(tile: &Tile) -> std::ops::Range<usize> {
    let Region { left, right, .. } = tile.region;
    let [left, right] = [left, right].map(|column| column as usize);
    if left < right { left / EIGHT..right.div_ceil(EIGHT) } else { 0..0 }
}

/// Byte `at` of a line of the mosaic, as far as the part shows it.
fn shown(tile: &Tile, from: &[u8], at: usize) -> u8 {
    let Region { left, right, .. } = tile.region;
    let first = at * EIGHT;
    let before = (left as usize).saturating_sub(first);
    let behind = (first + EIGHT).saturating_sub(right as usize);
    let mask = (u8::MAX >> before) & (u8::MAX << behind);
    eight(from, first as i64 - tile.shift[0]) & mask
}

/// Eight bits of a line from bit `first` on; bits outside of the line are 0.
fn eight(line: &[u8], first: i64) -> u8 {
    let at = first.div_euclid(EIGHT as i64);
    let skipped = first.rem_euclid(EIGHT as i64) as u32;
    let [one, next] = [at, at + 1].map(|at| {
        let byte = usize::try_from(at).ok().and_then(|at| line.get(at));
        u16::from(byte.copied().unwrap_or(0))
    });
    ((one << 8 | next) >> (EIGHT as u32 - skipped)) as u8
}

#[cfg(test)]
mod tests {
    use super::super::plan::MosaicRow;
    use super::super::rows::TiledRows;
    use super::*;
    use tarflume_types::DType;

    /// The bits of a plane of 0 and 1.
    fn packed(plane: &[u8], width: usize) -> Vec<u8> {
        let mut bits = Vec::new();
        for line in plane.chunks(width) {
            for eight in line.chunks(EIGHT) {
                let pixels = eight.iter().enumerate();
                bits.push(pixels.fold(0, |all, (at, pixel)| all | pixel << (7 - at)));
            }
        }
        bits
    }

    #[test]
    fn bits_are_those_of_masks_of_bytes() {
        for width in [1, 5, 8, 9, 16, 23] {
            let size = [6, width];
            let length = 6 * width as usize;
            let plane: Vec<u8> = (0..length).map(|at| u8::from(at * at % 7 < 3)).collect();
            let masks = TiledRows::new(DType::U8, &size.map(|side| side as usize)).unwrap();
            let bits = TiledBits::new(size);
            for x in 0..=width {
                let row = MosaicRow { row: 0, sources: [0; 4], center: [x, x % 7] };
                let mut laid = vec![0; length];
                let mut made = vec![0; bits.bytes()];
                for tile in row.tiles(size) {
                    masks.lay_tile(&tile, &plane, &mut laid);
                    let packed = packed(&plane, width as usize);
                    bits.lay_tile(&tile, &packed, &mut made);
                    assert_eq!(bits.shows_any(&tile, &packed), masks.shows_any(&tile, &plane));
                }
                assert_eq!(made, packed(&laid, width as usize), "{width} {x}");
            }
        }
    }
}
