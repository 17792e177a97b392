//! `Job`: what every thread of an export shares, and how the first failure ends the others.

use std::sync::atomic::{AtomicBool, Ordering};

use tarflume_base::{Exit, Failure};
use tarflume_formats::json::JsonRules;
use tarflume_shards::listing::Listing;

use crate::export::columns::Columns;
use crate::export::options::ExportOptions;

/// The result of an export.
#[derive(Debug, Default, Clone, Copy)]
pub struct Exported {
    /// Samples.
    pub samples: u64,
    /// Files, without those that describe the others.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Shards whose parts were not compared with checksums because they have none.
    pub unproved: u64,
}

/// What every thread of an export uses.
pub(crate) struct Job<'a> {
    pub(super) listing: &'a Listing,
    pub(super) options: &'a ExportOptions,
    pub(super) columns: Columns,
    pub(super) on_bytes: &'a (dyn Fn(u64) + Sync),
    /// Set by the first thread that fails, so that the others end.
    pub(super) failed: AtomicBool,
}

impl Job<'_> {
    /// Returns which texts are JSON.
    pub(super) fn rules(&self) -> JsonRules {
        self.options.rules.unwrap_or(self.listing.json_rules)
    }

    /// Ends the work of this thread if it is interrupted or another thread failed.
    ///
    /// # Errors
    /// Returns the error of an interruption.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        if self.options.stop.requested() || self.failed.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        Ok(())
    }

    /// Returns `result`; an error ends the other threads.
    ///
    /// # Errors
    /// Returns the error in `result`.
    pub(super) fn noting<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }
}

/// Returns all results, or the error that the other threads ended for.
///
/// # Errors
/// Returns the first error that is no interruption.
pub(super) fn whole<T>(results: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut done = Vec::with_capacity(results.len());
    let mut ended = None;
    for result in results {
        match result {
            Ok(one) => done.push(one),
            Err(failure) if failure.exit() == Exit::Interrupted => ended = Some(failure),
            Err(failure) => return Err(failure),
        }
    }
    ended.map_or(Ok(done), Err)
}

/// Says in a failure that the same command may succeed, and what it will do.
pub(super) fn from_the_start(failure: Failure) -> Failure {
    match failure.exit() {
        Exit::TryAgain => failure.with_remedy(
            "run the same command again: it removes what this one left and starts at the first sample",
        ),
        _ => failure,
    }
}
