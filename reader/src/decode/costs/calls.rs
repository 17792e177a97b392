//! `Calls`: the cost of user functions that run for each sample.
//!
//! Counts only. The caller of a function reports it with `Scratch::called`.

use std::ops::AddAssign;
use std::time::Duration;

use serde::Serialize;
use tarflume_types::seconds;

/// Calls of user functions, summed over all threads.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").build()?;
/// loader.epoch(0).for_each(drop);
/// let calls = loader.stats().calls;
/// assert_eq!((calls.count, calls.time()), (0, calls.busy + calls.waiting)); // no column calls a function
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Calls {
    /// Number of calls.
    #[serde(rename = "calls")]
    pub count: u64,
    /// Time in the functions.
    #[serde(rename = "busy_s", serialize_with = "seconds")]
    pub busy: Duration,
    /// Time waiting for admission, where only one thread at a time may run the functions: an interpreter's
    /// lock.
    #[serde(rename = "waiting_s", serialize_with = "seconds")]
    pub waiting: Duration,
}

impl Calls {
    /// Total time, running and waiting.
    pub fn time(&self) -> Duration {
        self.busy + self.waiting
    }
}

impl AddAssign for Calls {
    fn add_assign(&mut self, other: Calls) {
        self.count += other.count;
        self.busy += other.busy;
        self.waiting += other.waiting;
    }
}
