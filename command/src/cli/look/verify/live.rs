//! `Live`: the files of reports while a verification goes on. At any time each is a whole document that says how far the
//! verification came, so that a killed one leaves what it has found.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::IgnorePoison;
use tarflume_verify::{Level, Report, VerifiedShard, Watch};

use super::outputs::Outputs;

/// The least time between two writes.
const PAUSE: Duration = Duration::from_secs(3);
/// Of the time, at most one part in so many is spent on writing.
const SHARE: u32 = 20;
/// Problems and warnings that an unfinished report lists.
const LISTED: usize = 25_000;

/// The reports of a verification that goes on.
pub(super) struct Live {
    outputs: Arc<Outputs>,
    state: Mutex<State>,
}

struct State {
    report: Report,
    /// The kinds of problems that were written.
    kinds: HashSet<ProblemKind>,
    written: Instant,
    /// How long the last write took.
    cost: Duration,
}

impl Live {
    /// Writes the first reports, before anything is verified.
    ///
    /// # Errors
    /// Returns an error if one cannot be written.
    pub(super) fn begin(outputs: &Arc<Outputs>, level: Level) -> Result<Arc<Live>, Failure> {
        let report = Report::begun(level);
        outputs.write_unfinished(&report)?;
        let state =
            State { report, kinds: HashSet::new(), written: Instant::now(), cost: Duration::ZERO };
        Ok(Arc::new(Live { outputs: outputs.clone(), state: Mutex::new(state) }))
    }

    /// Returns what is to be told of each shard.
    pub(super) fn watch(self: &Arc<Live>) -> Watch {
        if !self.outputs.have_files() {
            return Watch::default();
        }
        let live = self.clone();
        Watch::new(move |shard| live.add(shard))
    }

    fn add(&self, shard: VerifiedShard<'_>) {
        let mut state = self.state.lock().ignore_poison();
        state.report.add_verified(shard, LISTED);
        let mut is_new = false;
        for problem in shard.problems.iter().chain(shard.warnings) {
            is_new |= state.kinds.insert(problem.kind);
        }
        let pause = PAUSE.max(state.cost * SHARE);
        if !is_new && state.written.elapsed() < pause {
            return;
        }
        let begun = Instant::now();
        // The last reports are written in any case, and tell why they cannot be.
        drop(self.outputs.write_unfinished(&state.report));
        state.written = Instant::now();
        state.cost = begun.elapsed();
    }

    /// Writes the last reports of a verification that has failed.
    pub(super) fn fail(&self, failure: &Failure) {
        let mut state = self.state.lock().ignore_poison();
        state.report.ended(failure);
        drop(self.outputs.write_unfinished(&state.report));
    }
}
