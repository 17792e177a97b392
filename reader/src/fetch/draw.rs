//! `RowDraw` and `Limits`: what a plan is made of, and how large it may be.

/// A sample to read, and its row in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowDraw {
    /// Row in the batch.
    pub row: usize,
    /// Ordinal of the sample.
    pub ordinal: u64,
    /// The pass over the data set, on which random numbers depend.
    pub pass: u64,
}

/// How reads are merged, and the size limits of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Two ranges that are at most this many bytes apart are merged into one read. On a cold disk,
    /// reading the gap is cheaper than a second read up to somewhere between 64 and 128 KiB
    /// (`examples/sources.rs`). In a mapped file, gaps are not touched.
    pub gap: u64,
    /// Bytes of a JPEG that no column needs are read if they are at most so many in one place, and there are needed
    /// bytes before and after them. For the same reason as `gap`; a source in memory never reads them.
    pub hole: u64,
    /// Maximum bytes of a run. A larger sample is a run by itself.
    pub run: u64,
    /// Maximum bytes of entry points in a plan. Further parts are decoded without entry points, which
    /// costs decoding time only.
    pub entry_points: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { gap: 64 << 10, hole: 64 << 10, run: 1 << 20, entry_points: 1 << 20 }
    }
}
