//! `MaskPainter`: paints the pixels of segmentations into planes of bytes.

use std::ops::Range;

use tarflume_image::ImageSize;

use super::Segmentation;
use super::crossings::crossings;

/// Crossings that are kept before pairs of equal ones are taken out.
const FEW: usize = 1 << 12;
/// Pixels of a side of the squares by which a plane is transposed.
const SQUARE: usize = 16;

/// Paints masks. The buffers are kept from mask to mask.
#[derive(Debug, Default)]
pub struct MaskPainter {
    crossings: Vec<u64>,
    /// Some columns of the mask, each from top to bottom.
    columns: Vec<u8>,
}

impl MaskPainter {
    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        size_of::<u64>() * self.crossings.capacity() + self.columns.capacity()
    }

    /// Writes a mask: `plane` is `[height, width]` of a picture of size `on`, and gets `inside` where the mask is and 0
    /// elsewhere. The pixels are those of pycocotools: several polygons are joined.
    ///
    /// # Panics
    /// Panics if the plane has another length.
    ///
    /// ```
    /// use tarflume_annotations::mask::plane::MaskPainter;
    /// use tarflume_annotations::mask::Segmentation;
    /// use tarflume_image::ImageSize;
    ///
    /// let mut plane = [9; 6];
    /// let runs = Segmentation::Runs(&[1, 2, 3]); // down the columns
    /// MaskPainter::default().paint(runs, ImageSize::new(3, 2), 1, &mut plane);
    /// assert_eq!(plane, [0, 1, 0, 1, 0, 0]);
    /// ```
    pub fn paint(&mut self, of: Segmentation<'_>, on: ImageSize, inside: u8, plane: &mut [u8]) {
        assert_eq!(plane.len() as u64, on.pixels(), "the plane of a picture of {on}");
        plane.fill(0);
        match of {
            Segmentation::Runs(counts) => self.runs(counts, on, inside, plane),
            Segmentation::Polygons { of, numbers } => {
                for polygon in of {
                    self.polygon(&numbers[polygon.clone()], on, inside, plane);
                }
            }
        }
    }

    fn polygon(&mut self, numbers: &[f64], on: ImageSize, inside: u8, plane: &mut [u8]) {
        let MaskPainter { crossings: kept, columns } = self;
        kept.clear();
        let mut most = FEW;
        crossings(numbers, on, |place| {
            kept.push(place);
            if kept.len() >= most {
                cancel(kept);
                most = FEW.max(2 * kept.len());
            }
        });
        cancel(kept);
        // A last run that no crossing ends goes to the end of the picture.
        if !kept.len().is_multiple_of(2) {
            kept.push(on.pixels());
        }
        let (runs, _) = kept.as_chunks::<2>();
        let runs = runs.iter().map(|&[start, end]| start as usize..end as usize);
        paint(runs, on, inside, columns, plane);
    }

    fn runs(&mut self, counts: &[u32], on: ImageSize, inside: u8, plane: &mut [u8]) {
        let mut at = 0;
        let runs = counts.iter().enumerate().filter_map(|(number, &count)| {
            let start = at;
            at += count as usize;
            (number % 2 == 1).then_some(start..at)
        });
        paint(runs, on, inside, &mut self.columns, plane);
    }
}

/// Sorts crossings and takes out those that undo each other: of equal ones, an odd one is left.
fn cancel(crossings: &mut Vec<u64>) {
    crossings.sort_unstable();
    let mut kept = 0;
    for at in 0..crossings.len() {
        let place = crossings[at];
        if kept > 0 && crossings[kept - 1] == place {
            kept -= 1;
        } else {
            crossings[kept] = place;
            kept += 1;
        }
    }
    crossings.truncate(kept);
}

/// Paints runs, which ascend and are counted down the columns, into rows.
fn paint(
    runs: impl Iterator<Item = Range<usize>>,
    on: ImageSize,
    inside: u8,
    columns: &mut Vec<u8>,
    plane: &mut [u8],
) {
    let height = on.height as usize;
    let width = on.width as usize;
    let mut band = Band { first: 0, columns, height, width, inside };
    band.columns.clear();
    for run in runs {
        let mut start = run.start;
        while start < run.end {
            let column = start / height;
            let end = run.end.min((column + 1) * height);
            band.fill(column, start - column * height..end - column * height, plane);
            start = end;
        }
    }
    band.write(plane);
}

/// Columns next to each other that are painted and not yet in the plane.
struct Band<'a> {
    first: usize,
    columns: &'a mut Vec<u8>,
    height: usize,
    width: usize,
    inside: u8,
}

impl Band<'_> {
    fn fill(&mut self, column: usize, rows: Range<usize>, plane: &mut [u8]) {
        let used = self.columns.len() / self.height;
        if used == 0 {
            self.first = column;
        } else if column >= self.first + SQUARE {
            self.write(plane);
            self.first = column;
        }
        let within = column - self.first;
        let needed = (within + 1) * self.height;
        if self.columns.len() < needed {
            self.columns.resize(needed, 0);
        }
        self.columns[within * self.height..][rows].fill(self.inside);
    }

    /// Joins the columns with the plane, and forgets them.
    fn write(&mut self, plane: &mut [u8]) {
        let count = self.columns.len() / self.height.max(1);
        for (row, to) in plane.chunks_exact_mut(self.width.max(1)).enumerate() {
            let to = &mut to[self.first..][..count];
            let from = self.columns.iter().skip(row).step_by(self.height.max(1));
            for (to, from) in to.iter_mut().zip(from) {
                *to |= from;
            }
        }
        self.columns.clear();
    }
}

#[cfg(test)]
mod tests;
