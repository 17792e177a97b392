//! `Blocks`: how much of JPEGs was decoded, and how much was spared.
//!
//! Counting only.

use std::ops::AddAssign;

/// Blocks of 8 x 8 coefficients of the JPEGs that were decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Blocks {
    /// Blocks that the pictures have.
    pub all: u64,
    /// Those whose Huffman codes were read.
    pub decoded: u64,
    /// Those that were made into pixels.
    pub drawn: u64,
    /// Pictures that were entered by entry points.
    pub entered: u64,
    /// Pictures whose entry points did not fit, so that they were decoded without.
    pub refused: u64,
    /// Pictures coded in several scans, progressive ones among them: they have no entry points, and all scans
    /// are read.
    pub several_scans: u64,
}

impl Blocks {
    /// The share of all blocks whose Huffman codes were not read, 0 to 1.
    pub fn skipped(&self) -> f64 {
        if self.all == 0 { 0.0 } else { 1.0 - self.decoded as f64 / self.all as f64 }
    }

    /// What one picture took.
    pub(super) fn of(report: &tarflume_jpeg::Report) -> Blocks {
        use tarflume_jpeg::Use;
        Blocks {
            all: report.blocks,
            decoded: report.decoded,
            drawn: report.drawn,
            entered: u64::from(report.entry_points == Use::Used),
            refused: u64::from(report.entry_points == Use::Refused),
            several_scans: u64::from(report.several_scans),
        }
    }
}

impl AddAssign for Blocks {
    fn add_assign(&mut self, other: Blocks) {
        self.all += other.all;
        self.decoded += other.decoded;
        self.drawn += other.drawn;
        self.entered += other.entered;
        self.refused += other.refused;
        self.several_scans += other.several_scans;
    }
}
