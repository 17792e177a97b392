//! Where the blocks of a vector are; words that kernels and processors share.

/// Groups in the longest vector of any set.
pub(super) const MOST_GROUPS: usize = 2;

/// A block: where it is among the coefficients, and where its first sample goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) at: usize,
}
