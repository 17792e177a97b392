//! `Planes`: the samples of a region's components, between inverse DCT and upsampling: the last few
//! rows of MCUs.

use crate::error::{Error, ErrorKind, Result};
use crate::picture::layout::{Layout, ScaledComponent};
use crate::simd::{Blocks, Simd};

/// Number of rows of MCUs that are kept: those of the working lanes, those whose neighbors are
/// missing, and some for a lane that lags behind. The samples of a photograph then stay in the
/// cache.
pub(crate) const KEPT_ROWS: u32 = 8;

/// The quantization table of each component, in natural order.
pub(crate) type Divisors = [Option<[u16; 64]>; 4];

/// Samples before and after each row, for neighbors and whole vectors.
const MARGIN: usize = 16;

/// The samples of one component that a region needs.
#[derive(Debug, Default)]
struct Plane {
    samples: Vec<u8>,
    stride: usize,
    /// Number of rows kept; the rows form a ring.
    rows: usize,
    /// The picture's column and row of the first sample after the margin.
    left: usize,
    top: usize,
    /// Columns of samples.
    columns: usize,
}

/// The samples of all components, [`KEPT_ROWS`] rows of MCUs at a time; the memory is reused from
/// picture to picture.
#[derive(Debug, Default)]
pub(crate) struct Planes([Plane; 4]);

/// The coefficients of a row of MCUs.
#[derive(Debug)]
pub(crate) struct McuRow<'a> {
    /// The number of the row.
    pub(crate) row: u32,
    /// The column of the first MCU.
    pub(crate) first: u32,
    /// The blocks, by MCUs.
    pub(crate) coefficients: &'a mut [[i16; 64]],
    /// The zigzag number of each block's last coefficient that is not 0.
    pub(crate) last: &'a [u8],
}

impl Planes {
    /// Returns the bytes that a region needs here.
    pub(crate) fn bytes(layout: &Layout) -> u64 {
        layout
            .parts()
            .map(|part| {
                let across = u64::from(layout.columns.end - layout.columns.start);
                let down = u64::from(kept(layout));
                let block = u64::from(part.block);
                let stride = across * u64::from(part.h) * block + 2 * MARGIN as u64;
                stride * down * u64::from(part.v) * block
            })
            .sum()
    }

    /// Prepares memory for a region.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub(crate) fn set(&mut self, layout: &Layout) -> Result<()> {
        for (plane, part) in self.0.iter_mut().zip(layout.parts()) {
            let across = (part.h * part.block) as usize;
            let down = (part.v * part.block) as usize;
            plane.columns = (layout.columns.end - layout.columns.start) as usize * across;
            plane.left = layout.columns.start as usize * across;
            plane.top = layout.rows.start as usize * down;
            plane.stride = plane.columns + 2 * MARGIN;
            plane.rows = kept(layout) as usize * down;
            room(&mut plane.samples, plane.stride * plane.rows)?;
        }
        Ok(())
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        for plane in &mut self.0 {
            if plane.samples.capacity() > bytes {
                plane.samples = Vec::new();
            }
        }
    }

    /// Computes the samples of a row of MCUs from its coefficients, and sets all of these to zeros.
    /// Divisors are by component.
    pub(crate) fn put(
        &mut self,
        simd: &Simd,
        layout: &Layout,
        divisors: &Divisors,
        mcus: McuRow<'_>,
    ) {
        let McuRow { row, first, coefficients, last } = mcus;
        let skipped = (layout.columns.start - first) as usize * layout.blocks;
        // A walk may begin before the region and end after it; those blocks are not drawn, but must
        // be zeros for the next row, too.
        let drawn = (layout.columns.end - layout.columns.start) as usize;
        let (before, rest) = coefficients.split_at_mut(skipped);
        let (meant, behind) = rest.split_at_mut(drawn * layout.blocks);
        before.fill([0; 64]);
        behind.fill([0; 64]);
        let last = &last[skipped..];
        let mut number = 0;
        for ((plane, part), quant) in self.0.iter_mut().zip(layout.parts()).zip(divisors) {
            let Some(quant) = quant else { continue };
            let size = part.block as usize;
            // Blocks of 8, 4, 2 and 1 samples have 28 to 31 leading zeros.
            let idct = simd.idct[part.block.leading_zeros() as usize - 28];
            let top = (row - layout.rows.start) as usize * part.v as usize * size % plane.rows;
            for y in 0..part.v as usize {
                for x in 0..part.h as usize {
                    let at = (top + y * size) * plane.stride + MARGIN + x * size;
                    idct(&mut Blocks {
                        coefficients: &mut meant[number..],
                        last: &last[number..],
                        step: layout.blocks,
                        count: drawn,
                        quant,
                        out: &mut plane.samples[at..],
                        stride: plane.stride,
                        across: part.h as usize * size,
                    });
                    number += 1;
                }
            }
            plane.repeat_edges(part, top, part.v as usize * size);
        }
    }

    /// Returns samples of component `n`, row `y` of the picture, from column `x` on, and one sample
    /// before it.
    pub(crate) fn line(&self, n: usize, y: u32, x: u32) -> &[u8] {
        let plane = &self.0[n];
        let start = (y as usize - plane.top) % plane.rows * plane.stride + MARGIN - 1;
        let row = &plane.samples[start..start + plane.columns + 1 + MARGIN];
        &row[x as usize - plane.left..]
    }
}

impl Plane {
    /// Repeats the first and the last column of the picture as the neighbors that they lack, as
    /// libjpeg's upsampling does.
    fn repeat_edges(&mut self, part: &ScaledComponent, top: usize, rows: usize) {
        if !part.upsampling.reads_beside() {
            return;
        }
        let width = part.width as usize;
        for row in self.samples[top * self.stride..].chunks_exact_mut(self.stride).take(rows) {
            if self.left == 0 {
                row[MARGIN - 1] = row[MARGIN];
            }
            if let Some(behind) = (width - self.left.min(width))
                .checked_sub(1)
                .filter(|_| width <= self.left + self.columns)
            {
                row[MARGIN + behind + 1] = row[MARGIN + behind];
            }
        }
    }
}

/// Returns the number of rows of MCUs of a region that are kept at once.
fn kept(layout: &Layout) -> u32 {
    (layout.rows.end - layout.rows.start).min(KEPT_ROWS)
}

/// Makes `buffer` at least `bytes` long; its content is unspecified.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if buffer.len() >= bytes {
        return Ok(());
    }
    buffer.clear();
    buffer.try_reserve_exact(bytes).map_err(|_| {
        Error::new(ErrorKind::Limit, format!("no memory for {bytes} bytes of samples"))
    })?;
    buffer.resize(bytes, 0);
    Ok(())
}
