//! `SetTotals`: the totals of one data set of a report.

use std::path::Path;

use serde::Serialize;
use tarflume_base::units;
use tarflume_formats::shown::ShowPath;

/// The totals of one data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SetTotals {
    /// Its folder or URL.
    pub path: String,
    /// Number of shards.
    pub shards: u64,
    /// Samples in them.
    pub samples: u64,
    /// Bytes of their tars.
    pub bytes: u64,
    /// Problems, with those that are not listed.
    pub problems: u64,
}

/// Returns true for a number that a report leaves out.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SetTotals {
    /// Returns what was added after `before`, as the totals of the set at `place`.
    pub(crate) fn since(&self, before: &SetTotals, place: &Path) -> SetTotals {
        SetTotals {
            path: place.display().to_string(),
            shards: self.shards - before.shards,
            samples: self.samples - before.samples,
            bytes: self.bytes - before.bytes,
            problems: self.problems - before.problems,
        }
    }

    /// Returns a line for people.
    pub(crate) fn line(&self) -> String {
        let problems = match self.problems {
            0 => String::new(),
            problems => format!(", {}", units::counted(problems, "problem", "problems")),
        };
        format!(
            "  {}: {}, {}, {}{problems}",
            Path::new(&self.path).shown(),
            units::counted(self.shards, "shard", "shards"),
            units::counted(self.samples, "sample", "samples"),
            units::bytes(self.bytes)
        )
    }
}
