//! `MixedRows`: mixes the rows of a column in their place.
//!
//! The pixels of a row depend on the same pixels of its partner alone. So a cycle of rows is mixed a tile at a time: one
//! tile of one row is kept aside, and no row has to be copied whole.

use std::ops::Range;

use tarflume_types::{DType, Error, Result};

use crate::kernels::sets::Set;
use crate::mixing::blend::{BlendWeights, blend_bf16, blend_f16, blend_f32, blend_u8};
use crate::mixing::picture_shape::{MOST_CHANNELS, PictureShape};
use crate::mixing::plan::{How, MixPlan, MixedRow, Region};

/// Bytes of a tile: one of a row and one of its partner fit into the fastest cache.
const TILE: usize = 8 << 10;

/// Type and shape of the rows of a column that is mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixedRows {
    dtype: DType,
    /// Bytes of a row.
    bytes: usize,
    /// Height and width; rows of another shape are one line.
    size: [u32; 2],
    /// Bytes of a line of a plane, and of its pixels.
    line: usize,
    pixel: usize,
}

impl MixedRows {
    /// Rows of elements of `dtype`. Those of three dimensions are pictures: with the channels last if the last dimension is
    /// at most 4, else with the channels first if the first one is. `boxes`: rows must be pictures.
    ///
    /// # Errors
    /// Returns a usage error if rows of this type or shape cannot be mixed.
    pub fn new(dtype: DType, shape: &[usize], boxes: bool) -> Result<MixedRows> {
        if !matches!(dtype, DType::U8 | DType::F16 | DType::Bf16 | DType::F32) {
            return Err(Error::usage(format!(
                "its elements are {dtype}, and rows of uint8, float16, bfloat16 and float32 can be mixed"
            )));
        }
        let elements: usize = shape.iter().product();
        if elements == 0 {
            return Err(Error::usage(format!("its rows of the shape {shape:?} are empty")));
        }
        let picture = PictureShape::new(shape);
        if picture.is_none() && boxes {
            return Err(Error::usage(format!(
                "its rows have the shape {shape:?}, and CutMix needs [height, width, channels] or [channels, height, \
                 width] with at most {MOST_CHANNELS} channels: leave cutmix out, or take a column of pictures"
            )));
        }
        let line =
            u32::try_from(elements).map(|width| PictureShape { size: [1, width], channels: 1 });
        let PictureShape { size, channels } = picture.or(line.ok()).ok_or_else(|| {
            Error::usage(format!("its rows of the shape {shape:?} are too large to be mixed"))
        })?;
        let pixel = channels * dtype.size();
        Ok(MixedRows {
            dtype,
            bytes: elements * dtype.size(),
            size,
            line: size[1] as usize * pixel,
            pixel,
        })
    }

    /// Height and width, for which a plan is drawn.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Mixes the rows of a column, whose bytes are `column`, as `plan` has it.
    ///
    /// # Panics
    /// Panics if the column lacks a row of the plan.
    pub fn mix(&self, plan: &MixPlan, column: &mut [u8]) {
        self.mix_with(Set::best(), plan, column);
    }

    fn mix_with(&self, set: Set, plan: &MixPlan, column: &mut [u8]) {
        let mut aside = [0; TILE];
        for cycle in plan.cycles().filter(|cycle| cycle.iter().any(|row| row.how != How::Alone)) {
            let mut start = 0;
            while start < self.bytes {
                let tile = start..(start + TILE).min(self.bytes);
                self.mix_tile(set, cycle, column, &tile, &mut aside[..tile.len()]);
                start = tile.end;
            }
        }
    }

    /// Mixes one tile of all rows of a cycle. A row is a partner before it is mixed itself, but for the first one.
    fn mix_tile(
        &self,
        set: Set,
        cycle: &[MixedRow],
        column: &mut [u8],
        tile: &Range<usize>,
        aside: &mut [u8],
    ) {
        let [first, .., last] = cycle else { return };
        let of = |row: usize| row * self.bytes + tile.start..row * self.bytes + tile.end;
        if last.how != How::Alone {
            aside.copy_from_slice(&column[of(first.row)]);
        }
        for mixed in &cycle[..cycle.len() - 1] {
            let middle = mixed.row.max(mixed.partner) * self.bytes;
            let tiles = column.split_at_mut(middle);
            let upper = tile.clone();
            let lower = of(mixed.row.min(mixed.partner));
            if mixed.row > mixed.partner {
                self.mix_bytes(set, mixed.how, tile, &mut tiles.1[upper], &tiles.0[lower]);
            } else {
                self.mix_bytes(set, mixed.how, tile, &mut tiles.0[lower], &tiles.1[upper]);
            }
        }
        self.mix_bytes(set, last.how, tile, &mut column[of(last.row)], aside);
    }

    /// Mixes the bytes `tile` of a row with those of its partner.
    fn mix_bytes(&self, set: Set, how: How, tile: &Range<usize>, own: &mut [u8], other: &[u8]) {
        match how {
            How::Alone => {}
            How::Blend { lam } => self.blend(set, BlendWeights::new(lam), own, other),
            How::Paste { region, .. } => self.paste(region, tile, own, other),
        }
    }

    fn blend(&self, set: Set, weights: BlendWeights, own: &mut [u8], other: &[u8]) {
        match self.dtype {
            DType::U8 => blend_u8(set, own, other, weights),
            DType::F16 => blend_f16(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
            DType::Bf16 => blend_bf16(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
            _ => blend_f32(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
        }
    }

    /// Copies the part of a region that is in the tile, line by line in all planes.
    fn paste(&self, region: Region, tile: &Range<usize>, own: &mut [u8], other: &[u8]) {
        let [height, _] = self.size;
        let left = region.left as usize * self.pixel;
        let right = region.right as usize * self.pixel;
        for line in tile.start / self.line..tile.end.div_ceil(self.line) {
            let y = (line % height as usize) as u32;
            if y < region.top || y >= region.bottom {
                continue;
            }
            let from = (line * self.line + left).max(tile.start);
            let to = (line * self.line + right).min(tile.end);
            if from < to {
                let part = from - tile.start..to - tile.start;
                own[part.clone()].copy_from_slice(&other[part]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
