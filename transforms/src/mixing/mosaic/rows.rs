//! `TiledRows`: the pixels of mosaics.

use tarflume_types::{DType, Error, Result};

use super::plan::MosaicRow;
use super::tile::{TILES, Tile};
use crate::mixing::picture_shape::PictureShape;
use crate::mixing::plan::Region;

/// Type and shape of the rows of a column of pictures or masks that become mosaics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TiledRows {
    /// Height and width.
    size: [u32; 2],
    /// Bytes of a row, of a line of a plane, and of a pixel there.
    bytes: usize,
    line: usize,
    pixel: usize,
}

/// A line of a part, in bytes of a plane.
struct Line {
    /// Where it begins in the picture, and in the mosaic.
    source: usize,
    place: usize,
    length: usize,
}

impl TiledRows {
    /// Rows of elements of `dtype` and `shape`: `[height, width]`, or with channels first or last.
    ///
    /// # Errors
    /// Returns a usage error if the rows are no pictures.
    pub fn new(dtype: DType, shape: &[usize]) -> Result<TiledRows> {
        let PictureShape { size, channels } = PictureShape::new(shape).ok_or_else(|| {
            Error::usage(format!(
                "its rows have the shape {shape:?}, and a mosaic is made of pictures: [height, width], [height, width, \
                 channels] or [channels, height, width], with at most 4 channels"
            ))
        })?;
        let elements: usize = shape.iter().product();
        let pixel = channels * dtype.size();
        Ok(TiledRows {
            size,
            bytes: elements * dtype.size(),
            line: size[1] as usize * pixel,
            pixel,
        })
    }

    /// Height and width, for which a plan is drawn.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Replaces the rows of a column, whose bytes are `column`, by mosaics. `kept` is memory for a copy of the column.
    ///
    /// # Panics
    /// Panics if the column lacks a row.
    pub fn lay(&self, rows: &[MosaicRow], column: &mut [u8], kept: &mut Vec<u8>) {
        kept.clear();
        kept.extend_from_slice(column);
        for mosaic in rows {
            let to = &mut column[mosaic.row * self.bytes..][..self.bytes];
            let tiles = mosaic.tiles(self.size);
            for number in 0..TILES {
                let from = &kept[mosaic.sources[number] * self.bytes..][..self.bytes];
                self.lay_tile(&tiles[number], from, to);
            }
        }
    }

    /// Copies what a part shows of a picture, line by line in all planes.
    pub fn lay_tile(&self, tile: &Tile, from: &[u8], to: &mut [u8]) {
        let plane = self.line * self.size[0] as usize;
        for (from, to) in from.chunks_exact(plane).zip(to.chunks_exact_mut(plane)) {
            for Line { source, place, length } in self.lines(tile) {
                to[place..place + length].copy_from_slice(&from[source..source + length]);
            }
        }
    }

    /// Whether a part shows a byte of a picture that is not 0.
    pub fn shows_any(&self, tile: &Tile, from: &[u8]) -> bool {
        from.chunks_exact(self.line * self.size[0] as usize).any(|plane| {
            let mut lines = self.lines(tile);
            lines.any(|line| {
                plane[line.source..line.source + line.length].iter().any(|&byte| byte != 0)
            })
        })
    }

    /// The lines of a plane that a part shows.
    fn lines(&self, tile: &Tile) -> impl Iterator<Item = Line> {
        let TiledRows { line: stride, pixel, .. } = *self;
        let Region { top, left, bottom, right } = tile.region;
        let [x, y] = tile.shift;
        let length = (right - left) as usize * pixel;
        let first = (i64::from(left) - x) as usize * pixel;
        (top..bottom).map(move |line| Line {
            source: (i64::from(line) - y) as usize * stride + first,
            place: line as usize * stride + left as usize * pixel,
            length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The element of `row` at a place, all different.
    fn element(row: usize, channel: usize, y: usize, x: usize) -> i64 {
        (((row * 10 + channel) * 100 + y) * 100 + x) as i64
    }

    #[test]
    fn every_pixel_is_that_of_the_picture_at_its_place() {
        let [height, width] = [6, 9];
        let mosaic = MosaicRow { row: 1, sources: [1, 3, 0, 2], center: [4, 2] };
        for [first, second, third] in [[3, height, width], [height, width, 3], [0, height, width]] {
            let last = second == width;
            let shape: &[usize] =
                if first == 0 { &[height, width] } else { &[first, second, third] };
            let channels = if first == 0 { 1 } else { 3 };
            let at = |row: usize, channel: usize, y: usize, x: usize| {
                let within = if last {
                    (y * width + x) * channels + channel
                } else {
                    (channel * height + y) * width + x
                };
                row * channels * height * width + within
            };
            let mut column = vec![0i64; 4 * channels * height * width];
            for row in 0..4 {
                for channel in 0..channels {
                    for y in 0..height {
                        for x in 0..width {
                            column[at(row, channel, y, x)] = element(row, channel, y, x);
                        }
                    }
                }
            }
            let before = column.clone();
            let rows = TiledRows::new(DType::I64, shape).unwrap();
            assert_eq!(rows.size(), [6, 9]);
            let mut bytes: Vec<u8> =
                column.iter().flat_map(|number| number.to_ne_bytes()).collect();
            rows.lay(&[mosaic], &mut bytes, &mut Vec::new());
            let numbers = bytes.as_chunks::<8>().0.iter();
            let column: Vec<i64> = numbers.map(|bytes| i64::from_ne_bytes(*bytes)).collect();
            for channel in 0..channels {
                for y in 0..height {
                    for x in 0..width {
                        let [row, from_y, from_x] = match [y < 2, x < 4] {
                            [true, true] => [1, y + 4, x + 5],
                            [true, false] => [3, y + 4, x - 4],
                            [false, true] => [0, y - 2, x + 5],
                            [false, false] => [2, y - 2, x - 4],
                        };
                        let expected = element(row, channel, from_y, from_x);
                        assert_eq!(column[at(1, channel, y, x)], expected, "{shape:?} {y} {x}");
                    }
                }
            }
            for row in [0, 2, 3] {
                let all = at(row, 0, 0, 0)..at(row, 0, 0, 0) + channels * height * width;
                assert_eq!(column[all.clone()], before[all]);
            }
        }
    }

    #[test]
    fn rows_that_are_no_pictures_are_refused() {
        for shape in [&[5][..], &[], &[9, 9, 9], &[0, 4, 3]] {
            let refused = TiledRows::new(DType::F32, shape).unwrap_err().to_string();
            assert!(refused.contains("a mosaic is made of pictures"), "{refused}");
        }
    }
}
