//! `PackColumns`: what the columns of packed samples have in common. Plain data.

/// The packs of a loader, for its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackColumns {
    /// The most packs of a batch.
    pub packs: usize,
    /// The elements of a pack.
    pub width: usize,
    /// Whether a row that is longer than a pack is cut. An error otherwise.
    pub cut: bool,
}
