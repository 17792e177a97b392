//! Splits a run of blocks into as many as fill a vector.
//!
//! Knows which blocks are next and where their samples go; computes nothing.

use crate::simd::lanes::{Lanes, MOST_GROUPS};
use crate::simd::run::Blocks;

/// A coefficient with a lower zigzag number is in the first four rows and columns.
pub(in crate::simd) const CORNER: u8 = 10;

/// Blocks that are processed together, one per group.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct BlockGroup {
    /// The number of the first one.
    n: usize,
    /// Position of its first sample.
    pub(in crate::simd) at: usize,
    /// The highest number of a coefficient that may not be 0.
    pub(in crate::simd) last: u8,
}

impl BlockGroup {
    /// Takes blocks from number `n` on; `None` if fewer are left than a vector has groups.
    #[inline(always)]
    pub(in crate::simd) fn from<L: Lanes>(blocks: &Blocks<'_>, n: usize) -> Option<BlockGroup> {
        if blocks.count - n < L::GROUPS {
            return None;
        }
        let last = (0..L::GROUPS).map(|i| blocks.last[(n + i) * blocks.step]);
        Some(BlockGroup { n, at: n * blocks.across, last: last.fold(0, u8::max) })
    }

    /// Loads a row of coefficients of each block.
    #[inline(always)]
    pub(in crate::simd) fn row<L: Lanes>(self, lanes: L, blocks: &Blocks<'_>, row: usize) -> L::V {
        lanes.row(blocks.coefficients, self.n * blocks.step, blocks.step, row)
    }

    /// Sets each block to zeros; only its upper half if the lower half already is.
    #[inline(always)]
    pub(in crate::simd) fn clear<L: Lanes>(self, blocks: &mut Blocks<'_>) {
        for i in 0..L::GROUPS {
            let block = &mut blocks.coefficients[(self.n + i) * blocks.step];
            block[..32].fill(0);
            if self.last >= CORNER {
                block[32..].fill(0);
            }
        }
    }

    /// Stores the first `N` rows of `N` bytes of each group as the block's samples.
    #[inline(always)]
    pub(in crate::simd) fn store<L: Lanes, const N: usize>(
        self,
        groups: [[u8; 16]; MOST_GROUPS],
        blocks: &mut Blocks<'_>,
    ) {
        for (i, group) in groups.iter().take(L::GROUPS).enumerate() {
            let out = &mut blocks.out[self.at + i * blocks.across..];
            for (y, row) in group.as_chunks::<N>().0.iter().take(N).enumerate() {
                out[y * blocks.stride..][..N].copy_from_slice(row);
            }
        }
    }

    /// Returns the same blocks for another set of kernels.
    pub(in crate::simd) fn blocks<'a, L: Lanes>(self, blocks: &'a mut Blocks<'_>) -> Blocks<'a> {
        Blocks { count: L::GROUPS, ..rest(blocks, self.n) }
    }
}

/// Returns the blocks from number `n` on.
pub(in crate::simd) fn rest<'a>(blocks: &'a mut Blocks<'_>, n: usize) -> Blocks<'a> {
    Blocks {
        coefficients: &mut blocks.coefficients[n * blocks.step..],
        last: &blocks.last[n * blocks.step..],
        step: blocks.step,
        count: blocks.count - n,
        quant: blocks.quant,
        out: &mut blocks.out[n * blocks.across..],
        stride: blocks.stride,
        across: blocks.across,
    }
}

/// Takes the coefficient of block `n` if it has only one.
#[inline(always)]
pub(in crate::simd) fn only(blocks: &mut Blocks<'_>, n: usize) -> Option<i16> {
    let at = n * blocks.step;
    (blocks.last[at] == 0).then(|| std::mem::take(&mut blocks.coefficients[at][0]))
}

/// Sets all samples of block `n`, `N` rows of `N`, to the same value.
#[inline(always)]
pub(in crate::simd) fn fill<const N: usize>(blocks: &mut Blocks<'_>, n: usize, sample: u8) {
    let out = &mut blocks.out[n * blocks.across..];
    for y in 0..N {
        out[y * blocks.stride..][..N].copy_from_slice(&[sample; N]);
    }
}
