//! `Want`: what is read of a shard; the runs of its samples that belong to a share.

use std::ops::Range;

use tarflume_formats::{Index, Result};

use super::share::Pieces;

/// Neighboring samples of a shard, with all bytes up to the next sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first byte: that of the first sample, 0 at the begin of the tar.
    pub from: u64,
    /// The byte after the last one; the length of the tar for the run that has the end marker.
    pub until: u64,
    /// The rows of the samples in the sidecar.
    pub rows: Range<u64>,
    /// True if the run has the end of the tar.
    pub has_end: bool,
}

/// A shard on the line of all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The pieces of the line.
    pub pieces: Pieces,
    /// The byte of the line at which the shard begins.
    pub start: u64,
}

/// What of a shard belongs to a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing.
    Nothing,
    /// Some runs of samples.
    Runs(Vec<Run>),
    /// All of it.
    All,
}

/// What is read of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// What the level reads.
    Level,
    /// What belongs to a share; the rest as the level quick does.
    Share(Placed),
    /// What the level quick reads.
    Quick,
    /// The sidecar, which is compared with the manifest.
    Stated,
}

impl Placed {
    /// Returns what is taken of a shard without a usable sidecar: all of it or nothing, by its begin.
    pub(crate) fn whole(&self) -> Taken {
        if self.pieces.has(self.start) { Taken::All } else { Taken::Nothing }
    }

    /// Returns what is taken of a plain tar of `length` bytes, by its sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(crate) fn of(&self, index: &Index, length: u64) -> Result<Taken> {
        let mut runs: Vec<Run> = Vec::new();
        // The row and byte at which a run is open.
        let mut open: Option<(u64, u64)> = None;
        for sample in index.iter() {
            let sample = sample?;
            let first = if sample.row == 0 { 0 } else { sample.first };
            match (self.pieces.has(self.start.saturating_add(first)), open) {
                (true, None) => open = Some((sample.row, first)),
                (false, Some((row, from))) => {
                    let rows = row..sample.row;
                    runs.push(Run { from, until: first.max(from), rows, has_end: false });
                    open = None;
                }
                (true, Some(_)) | (false, None) => {}
            }
        }
        if index.samples() == 0 {
            return Ok(self.whole());
        }
        if let Some((row, from)) = open {
            let rows = row..index.samples();
            runs.push(Run { from, until: length.max(from), rows, has_end: true });
        }
        Ok(match runs.as_slice() {
            [] => Taken::Nothing,
            [run] if run.has_end && run.rows.start == 0 => Taken::All,
            _ => Taken::Runs(runs),
        })
    }
}
