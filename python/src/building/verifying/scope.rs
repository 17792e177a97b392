//! What of the data a verification reads, as `tarflume.pack.verify` is given it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use tarflume_base::Failure;
use tarflume_verify::cache::Cache;
use tarflume_verify::scope::{Budget, Change, Scope, Share};

use crate::faults::errors::usage;
use crate::faults::failures::JobFailure;

/// The keywords of `tarflume.pack.verify`.
pub(crate) struct Given<'a> {
    pub(crate) sample: Option<&'a str>,
    pub(crate) seed: u64,
    pub(crate) slice: Option<&'a str>,
    /// Seconds.
    pub(crate) time_budget: Option<f64>,
    /// The folder of the cache; empty for that of the user.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) changed_since: Option<String>,
    pub(crate) manifest_only: bool,
}

impl Given<'_> {
    /// Returns what is read. The time begins here.
    pub(crate) fn scope(self, py: Python<'_>) -> PyResult<Scope> {
        let share = match (self.sample, self.slice) {
            (Some(_), Some(_)) => {
                return Err(usage(
                    py,
                    "sample= and slice= are two ways to choose a part; give one of them",
                ));
            }
            (Some(text), None) => Some(Share::sample(text, self.seed)),
            (None, text) => text.map(Share::slice),
        };
        let share = share.transpose().map_err(|why| usage(py, why))?;
        let budget = self.time_budget.map(Duration::try_from_secs_f64).transpose();
        let budget =
            budget.map_err(|_| usage(py, "time_budget= is a number of seconds, 0 or more"))?;
        let cache = self.cache.map(opened).transpose();
        let cache = cache.map_err(|failure| JobFailure::failure(failure).raised(py))?;
        Ok(Scope {
            share,
            budget: budget.map(Budget::of),
            change: self.changed_since.map(Change::Since),
            manifest_only: self.manifest_only,
            cache: cache.map(Arc::new),
        })
    }
}

/// Opens the cache in a folder; that of the user for an empty path.
fn opened(folder: PathBuf) -> Result<Cache, Failure> {
    if folder.as_os_str().is_empty() { Cache::of_user() } else { Cache::open(&folder) }
}
