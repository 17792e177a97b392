//! `VisiblePart`: what pasted objects leave of the mask of another one.

use super::settings::CopyPaste;
use crate::mixing::plan::Region;

/// Adds the pixels of a mask to those that are covered. Both have a byte for each pixel, 0 or another number.
pub fn add_to_cover(cover: &mut [u8], mask: &[u8]) {
    for (cover, mask) in cover.iter_mut().zip(mask) {
        *cover |= u8::from(*mask != 0);
    }
}

/// What is left of the mask of an object that is partly covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisiblePart {
    /// Its pixels before, and those that are left.
    pub before: usize,
    /// The pixels that are left.
    pub after: usize,
    /// The smallest rectangle with all that are left; empty if there is none.
    pub region: Region,
}

impl VisiblePart {
    /// What is left of `mask`, whose lines have `width` pixels; `None` if no pixel of it is covered.
    pub fn new(mask: &[u8], cover: &[u8], width: usize) -> Option<VisiblePart> {
        if mask.iter().zip(cover).all(|(mask, cover)| *mask == 0 || *cover == 0) {
            return None;
        }
        let mut part = VisiblePart { before: 0, after: 0, region: EMPTY };
        let covers = cover.chunks_exact(width);
        for (y, (mask, cover)) in mask.chunks_exact(width).zip(covers).enumerate() {
            part.before += mask.iter().filter(|mask| **mask != 0).count();
            let mut left = (0..width).filter(|&x| mask[x] != 0 && cover[x] == 0).map(|x| x as u32);
            let Some(first) = left.next() else { continue };
            let mut last = first;
            part.after += 1;
            for x in left {
                last = x;
                part.after += 1;
            }
            part.region.add([y as u32, first, last]);
        }
        Some(part)
    }

    /// Whether enough is left.
    pub fn is_kept(&self, copy_paste: &CopyPaste) -> bool {
        let [before, after] = [self.before, self.after].map(|pixels| pixels as f64);
        self.after > 0
            && after >= copy_paste.min_area
            && after >= copy_paste.min_visibility * before
    }
}

/// The region without a pixel.
const EMPTY: Region = Region { top: u32::MAX, left: u32::MAX, bottom: 0, right: 0 };

impl Region {
    /// Enlarges the region by the pixels of a line, from the first to the last one.
    fn add(&mut self, [y, first, last]: [u32; 3]) {
        self.top = self.top.min(y);
        self.left = self.left.min(first);
        self.bottom = y + 1;
        self.right = self.right.max(last + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 20] = [
        0, 0, 1, 1, 0, //
        0, 1, 1, 1, 0, //
        0, 0, 0, 1, 1, //
        0, 0, 0, 0, 0, //
    ];

    fn left_of(cover: [u8; 20]) -> Option<VisiblePart> {
        VisiblePart::new(&MASK, &cover, 5)
    }

    #[test]
    fn the_region_is_that_of_the_pixels_that_are_left() {
        assert_eq!(left_of([0; 20]), None);
        // Other pixels are covered.
        assert_eq!(left_of(MASK.map(|byte| 1 - byte)), None);
        let mut cover = [0; 20];
        cover[..5].fill(1);
        cover[14] = 1;
        let part = left_of(cover).unwrap();
        let region = Region { top: 1, left: 1, bottom: 3, right: 4 };
        assert_eq!(part, VisiblePart { before: 7, after: 4, region });
        let all = left_of(MASK).unwrap();
        assert_eq!([all.before, all.after], [7, 0]);
    }

    #[test]
    fn too_small_parts_are_not_kept() {
        fn of(min_area: f64, min_visibility: f64) -> CopyPaste {
            CopyPaste { min_area, min_visibility, ..CopyPaste::default() }
        }

        let part = VisiblePart { before: 8, after: 4, region: EMPTY };
        assert!(part.is_kept(&CopyPaste::default()));
        assert!(part.is_kept(&of(4.0, 0.5)));
        assert!(!part.is_kept(&of(4.5, 0.0)));
        assert!(!part.is_kept(&of(0.0, 0.51)));
        let nothing = VisiblePart { after: 0, ..part };
        assert!(!nothing.is_kept(&of(0.0, 0.0)));
    }

    #[test]
    fn a_cover_is_the_union_of_masks() {
        let mut cover = [0; 4];
        add_to_cover(&mut cover, &[0, 1, 0, 1]);
        add_to_cover(&mut cover, &[0, 0, 255, 1]);
        assert_eq!(cover, [0, 1, 1, 1]);
    }
}
