//! `BuildCounter`: the progress of a build, which a display reads while the steps run.

use std::sync::OnceLock;
use std::time::Instant;

use tarflume_scan::folders::walk::ScanCounter;

use crate::progress::{Goal, Now};
use crate::run::RunCounter;

/// The progress of one build, or of one machine's run of a stored plan.
#[derive(Debug, Default)]
pub struct BuildCounter {
    pub(super) scan: ScanCounter,
    pub(super) run: RunCounter,
    reading: OnceLock<Reading>,
}

/// The work that is known once there is a plan: packing, or checking contents.
#[derive(Debug)]
struct Reading {
    goal: Goal,
    began: Instant,
}

impl BuildCounter {
    /// Returns the number of names that the scan has found.
    pub fn names(&self) -> u64 {
        self.scan.names()
    }

    /// Returns the progress of packing, or of checking contents; `None` before that step.
    pub fn now(&self) -> Option<Now> {
        self.reading.get().map(|reading| Now::of(&self.run, reading.goal, reading.began))
    }

    /// Begins the step that reads the files of some shards.
    pub(super) fn begin(&self, goal: Goal) {
        self.reading.get_or_init(|| Reading { goal, began: Instant::now() });
    }
}
