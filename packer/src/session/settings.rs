//! How a build or a worker packs. Nothing here changes the bytes of shards.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tarflume_base::Stop;
use tarflume_formats::Durability;
use tarflume_shards::workdir::Policy;

use super::counter::BuildCounter;
use crate::run::options::RunOptions;

/// How shards are packed.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// Whether shards survive a power failure. In a store, the store decides it.
    pub durability: Durability,
    /// Whether the modification times of files are compared with the plan; sizes always are.
    pub times: bool,
}

impl Default for RunSettings {
    /// Syncs and compares everything.
    fn default() -> RunSettings {
        RunSettings { durability: Durability::Synced, times: true }
    }
}

impl RunSettings {
    /// Sets the settings, and what ends the run early.
    pub(super) fn apply(self, options: &mut RunOptions, stop: &Stop) {
        options.durability = self.durability;
        options.checks.times = self.times;
        options.stop = stop.clone();
    }
}

/// How one of several machines packs shards of a stored plan.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Threads that pack.
    pub jobs: usize,
    /// How problems are handled; `None` for what was given when the build was planned.
    pub policy: Option<Policy>,
    /// The sources, in the order of the plan: folders, files, or `KIND:FILE,FILE`. Empty for where the
    /// plan found them.
    pub sources: Vec<PathBuf>,
    /// After this time without a change of its claim, another machine's shard is taken over; `None`
    /// packs the own shards alone.
    pub steal: Option<Duration>,
    /// How shards are packed.
    pub settings: RunSettings,
    /// Ends the run early.
    pub stop: Stop,
    /// Counts the progress.
    pub counter: Arc<BuildCounter>,
}

impl WorkerOptions {
    /// Returns the options of a machine that packs its own shards in `jobs` threads, from where the
    /// plan found the sources.
    pub fn new(jobs: usize) -> WorkerOptions {
        WorkerOptions {
            jobs,
            policy: None,
            sources: Vec::new(),
            steal: None,
            settings: RunSettings::default(),
            stop: Stop::new(),
            counter: Arc::default(),
        }
    }
}
