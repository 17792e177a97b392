//! `Cut`: in which order patches, and the elements of a patch, come. Arithmetic.

use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result};

/// How a picture is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// The side of a patch in pixels.
    pub(super) patch: u32,
    /// Blocks of so many patches across and down follow each other.
    pub(super) merge: u32,
    /// Whether the elements of a patch are `[channels, frames, patch, patch]`, and not `[patch, patch, channels]`.
    pub(super) channels_first: bool,
    pub(super) frames: u32,
}

/// The patches of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) down: usize,
    pub(super) across: usize,
}

impl Grid {
    pub(super) fn patches(self) -> usize {
        self.down * self.across
    }
}

impl Cut {
    /// Checks the numbers.
    pub(super) fn check(&self) -> Result<()> {
        let Cut { patch, merge, frames, .. } = *self;
        if [patch, merge, frames].iter().any(|number| !(1..=4096).contains(number)) {
            return Err(Error::usage(format!(
                "patches of {patch} pixels, merged by {merge}, of {frames} frames are impossible: each number is 1 to 4096"
            )));
        }
        Ok(())
    }

    /// Elements of a patch.
    pub(super) fn elements(&self, channels: usize) -> usize {
        let side = self.patch as usize;
        side * side * channels * self.frames as usize
    }

    /// The patches of a picture.
    ///
    /// # Errors
    /// A side is no multiple of a patch, or of those that are merged.
    pub(super) fn grid(&self, size: ImageSize) -> Result<Grid> {
        let unit = self.patch * self.merge;
        if !size.width.is_multiple_of(unit) || !size.height.is_multiple_of(unit) {
            let text = format!(
                "a picture of {size} is not cut into patches of {} pixels, merged by {}: its sides are multiples of {unit}; \
                 resize it with PatchResize",
                self.patch, self.merge
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let down = (size.height / self.patch) as usize;
        let across = (size.width / self.patch) as usize;
        Ok(Grid { down, across })
    }

    /// Passes the row and the column of each patch to `each`, in the order of patches.
    pub(super) fn places(&self, grid: Grid, mut each: impl FnMut(usize, usize)) {
        let merge = self.merge as usize;
        for top in (0..grid.down).step_by(merge) {
            for left in (0..grid.across).step_by(merge) {
                for row in top..top + merge {
                    (left..left + merge).for_each(|column| each(row, column));
                }
            }
        }
    }

    /// Copies the elements of a picture `[height, width, channels]`, each of `size` bytes, into its patches.
    pub(super) fn copy(&self, picture: &[u8], grid: Grid, pixel: PixelBytes, to: &mut [u8]) {
        let patch = self.patch as usize;
        let line = grid.across * patch * pixel.bytes();
        let mut patches = to.chunks_exact_mut(self.elements(pixel.channels) * pixel.element);
        self.places(grid, |row, column| {
            let Some(to) = patches.next() else { return };
            let first = row * patch * line + column * patch * pixel.bytes();
            if self.channels_first {
                self.copy_planes(&picture[first..], line, pixel, to);
                return;
            }
            let lines = to.chunks_exact_mut(patch * pixel.bytes()).enumerate();
            for (y, to) in lines {
                to.copy_from_slice(&picture[first + y * line..][..to.len()]);
            }
        });
    }

    /// Copies one patch as planes, each as often as there are frames.
    fn copy_planes(&self, from: &[u8], line: usize, pixel: PixelBytes, to: &mut [u8]) {
        let patch = self.patch as usize;
        let frames = self.frames as usize;
        let plane = patch * patch * pixel.element;
        for (number, to) in to.chunks_exact_mut(plane).enumerate() {
            let channel = number / frames;
            for (at, to) in to.chunks_exact_mut(pixel.element).enumerate() {
                let line = at / patch * line;
                let begin = line + at % patch * pixel.bytes() + channel * pixel.element;
                to.copy_from_slice(&from[begin..begin + pixel.element]);
            }
        }
    }
}

/// The bytes of a pixel.
#[derive(Debug, Clone, Copy)]
pub(super) struct PixelBytes {
    pub(super) channels: usize,
    /// Bytes of an element.
    pub(super) element: usize,
}

impl PixelBytes {
    fn bytes(self) -> usize {
        self.channels * self.element
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 4 x 8 pixels with two channels: row, column and channel as one number.
    fn picture() -> Vec<u8> {
        let pixels = (0..4u8).flat_map(|y| (0..8u8).map(move |x| 64 * y + 2 * x));
        pixels.flat_map(|pixel| [pixel, pixel + 1]).collect()
    }

    const PIXEL: PixelBytes = PixelBytes { channels: 2, element: 1 };

    fn patches(cut: Cut) -> Vec<Vec<u8>> {
        let grid = cut.grid(ImageSize::new(8, 4)).unwrap();
        let each = cut.elements(2);
        let mut to = vec![0; grid.patches() * each];
        cut.copy(&picture(), grid, PIXEL, &mut to);
        to.chunks(each).map(<[u8]>::to_vec).collect()
    }

    const PLAIN: Cut = Cut { patch: 2, merge: 1, channels_first: false, frames: 1 };

    #[test]
    fn patches_come_row_by_row() {
        let found = patches(PLAIN);
        assert_eq!(found.len(), 8);
        assert_eq!(found[0], [0, 1, 2, 3, 64, 65, 66, 67]);
        assert_eq!(found[5], [132, 133, 134, 135, 196, 197, 198, 199]);
    }

    #[test]
    fn merged_patches_are_neighbors() {
        let merged = patches(Cut { merge: 2, ..PLAIN });
        let plain = patches(PLAIN);
        assert_eq!(merged, [0, 1, 4, 5, 2, 3, 6, 7].map(|n: usize| plain[n].clone()));
    }

    #[test]
    fn planes_are_repeated_for_each_frame() {
        let found = patches(Cut { channels_first: true, frames: 2, ..PLAIN });
        assert_eq!(found[0], [0, 2, 64, 66, 0, 2, 64, 66, 1, 3, 65, 67, 1, 3, 65, 67]);
    }

    #[test]
    fn a_picture_of_parts_of_patches_is_refused() {
        let error = PLAIN.grid(ImageSize::new(8, 5)).unwrap_err();
        assert!(error.text().contains("multiples of 2"), "{error}");
        assert!(Cut { merge: 3, ..PLAIN }.grid(ImageSize::new(8, 6)).is_err());
        assert!(Cut { patch: 0, ..PLAIN }.check().is_err());
    }
}
