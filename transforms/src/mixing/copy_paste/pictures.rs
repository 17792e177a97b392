//! `PastedPictures`: the pixels of pictures over which objects are pasted.

use tarflume_types::{DType, Error, Result};

use crate::mixing::picture_shape::PictureShape;

/// Type and shape of the rows of a column of pictures over which objects are pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastedPictures {
    /// Height and width.
    size: [u32; 2],
    /// Bytes of a row, and of a pixel of a plane.
    bytes: usize,
    pixel: usize,
}

impl PastedPictures {
    /// Rows of elements of `dtype` and `shape`: `[height, width]`, or with channels first or last.
    ///
    /// # Errors
    /// Returns a usage error if the rows are no pictures.
    pub fn new(dtype: DType, shape: &[usize]) -> Result<PastedPictures> {
        let PictureShape { size, channels } = PictureShape::new(shape).ok_or_else(|| {
            Error::usage(format!(
                "its rows have the shape {shape:?}, and objects are pasted over pictures: [height, width], [height, width, \
                 channels] or [channels, height, width], with at most 4 channels"
            ))
        })?;
        let elements: usize = shape.iter().product();
        Ok(PastedPictures { size, bytes: elements * dtype.size(), pixel: channels * dtype.size() })
    }

    /// Height and width.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.bytes
    }

    /// Copies the pixels of row `partner` that `cover` has to row `row` of a column, whose bytes are `column`.
    ///
    /// # Panics
    /// Panics if the column lacks a row, or if both are the same.
    pub fn paste(&self, column: &mut [u8], row: usize, partner: usize, cover: &[u8]) {
        let [to, from] = column
            .get_disjoint_mut([row, partner].map(|row| row * self.bytes..(row + 1) * self.bytes))
            .expect("a column has both rows, and a row is not its own partner");
        self.paste_row(from, to, cover);
    }

    /// Copies the pixels that `cover` has, which has a byte for each pixel. All others stay as they are.
    pub fn paste_row(&self, from: &[u8], to: &mut [u8], cover: &[u8]) {
        let plane = cover.len() * self.pixel;
        for (from, to) in from.chunks_exact(plane).zip(to.chunks_exact_mut(plane)) {
            let mut end = 0;
            // Pixels beside each other are copied together.
            while let Some(skipped) = cover[end..].iter().position(|&byte| byte != 0) {
                let start = end + skipped;
                let length = cover[start..].iter().position(|&byte| byte == 0);
                end = length.map_or(cover.len(), |length| start + length);
                let run = start * self.pixel..end * self.pixel;
                to[run.clone()].copy_from_slice(&from[run]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_pixels_are_those_of_the_partner_in_every_layout() {
        let [height, width] = [3, 5];
        let cover = [0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1];
        for shape in [&[height, width, 3][..], &[3, height, width], &[height, width]] {
            let elements: usize = shape.iter().product();
            let before: Vec<u16> = (0..3 * elements as u16).collect();
            let pictures = PastedPictures::new(DType::U16, shape).unwrap();
            assert_eq!(pictures.size(), [3, 5]);
            assert_eq!(pictures.row_bytes(), 2 * elements);
            let mut bytes: Vec<u8> = before.iter().flat_map(|n| n.to_ne_bytes()).collect();
            pictures.paste(&mut bytes, 2, 0, &cover);
            let pairs = bytes.as_chunks::<2>().0.iter();
            let after: Vec<u16> = pairs.map(|bytes| u16::from_ne_bytes(*bytes)).collect();
            assert_eq!(after[..2 * elements], before[..2 * elements]);
            for element in 0..elements {
                let channels_last = shape.len() == 3 && shape[2] == 3;
                let place = if channels_last { element / 3 } else { element % (height * width) };
                let source = if cover[place] == 1 { 0 } else { 2 };
                assert_eq!(after[2 * elements + element], before[source * elements + element]);
            }
        }
    }

    #[test]
    fn rows_that_are_no_pictures_are_refused() {
        let refused = PastedPictures::new(DType::F32, &[9, 9, 9]).unwrap_err().to_string();
        assert!(refused.contains("objects are pasted over pictures"), "{refused}");
    }
}
