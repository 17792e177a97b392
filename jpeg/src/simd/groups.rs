//! A run of blocks by the handful that fills a vector.
//!
//! Knows which blocks are next and where their samples go; nothing of what is computed.

use super::lanes::Lanes;
use super::run::Blocks;

/// Blocks that are done at once: as many as a vector has groups, or one, that all groups hold.
#[derive(Clone, Copy)]
pub(super) struct Handful {
    /// Among the coefficients.
    pub(super) first: usize,
    /// Among the coefficients; 0 if all groups hold the same block.
    pub(super) step: usize,
    /// How many blocks.
    pub(super) count: usize,
    /// The first one's first sample.
    pub(super) at: usize,
    /// From block to block, in samples; 0 if all groups hold the same block.
    pub(super) across: usize,
    /// The highest number of a coefficient that may not be 0.
    pub(super) last: u8,
}

impl Handful {
    /// From block `n` of those meant.
    #[inline(always)]
    pub(super) fn from<L: Lanes>(_: L, blocks: &Blocks<'_>, n: usize) -> Handful {
        let (first, at) = (n * blocks.step, n * blocks.across);
        let last = blocks.last[first];
        if blocks.count - n < L::GROUPS {
            return Handful { first, step: 0, count: 1, at, across: 0, last };
        }
        let others = (1..L::GROUPS).map(|i| blocks.last[first + i * blocks.step]);
        let last = others.fold(last, u8::max);
        Handful { first, step: blocks.step, count: L::GROUPS, at, across: blocks.across, last }
    }

    /// Leaves zeros in the first `coefficients` of each block.
    #[inline(always)]
    pub(super) fn clear(self, blocks: &mut Blocks<'_>, coefficients: usize) {
        for i in 0..self.count {
            blocks.coefficients[self.first + i * self.step][..coefficients].fill(0);
        }
    }

    /// The same blocks alone, for another set of kernels.
    pub(super) fn alone<'a>(self, blocks: &'a mut Blocks<'_>) -> Blocks<'a> {
        Blocks {
            coefficients: &mut blocks.coefficients[self.first..],
            last: &blocks.last[self.first..],
            step: self.step,
            count: self.count,
            quant: blocks.quant,
            out: &mut blocks.out[self.at..],
            stride: blocks.stride,
            across: self.across,
        }
    }
}
