//! `IdleStats` and `SampledTime`: the time in which threads do not compute. Types and arithmetic.

use std::time::Duration;

use serde::Serialize;
use tarflume_types::seconds;

/// What an idle thread lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdleCause {
    Consumer,
    Memory,
    Prefetch,
    Plan,
    Input,
    Wake,
    End,
}

impl IdleCause {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [IdleCause; 7] = [
        IdleCause::Consumer,
        IdleCause::Memory,
        IdleCause::Prefetch,
        IdleCause::Plan,
        IdleCause::Input,
        IdleCause::Wake,
        IdleCause::End,
    ];
}

/// Time in which threads were idle, by what they lacked; the sum over the threads. Serde writes seconds.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// loader.epoch(0).for_each(drop);
/// let idle = loader.stats().idle;
/// if idle.memory > idle.consumer {
///     println!("a larger memory limit would keep the threads busy for {:?}", idle.memory);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct IdleStats {
    /// The next batch was ready, and the consumer had not taken it.
    #[serde(serialize_with = "seconds")]
    pub consumer: Duration,
    /// The next batch was planned, and the memory limit had no room for it.
    #[serde(serialize_with = "seconds")]
    pub memory: Duration,
    /// As many batches as the loader prepares at once were in preparation, and all their tasks had begun.
    #[serde(serialize_with = "seconds")]
    pub prefetch: Duration,
    /// One thread planned the next batch.
    #[serde(serialize_with = "seconds")]
    pub plan: Duration,
    /// Not enough samples of a stream had arrived.
    #[serde(serialize_with = "seconds")]
    pub input: Duration,
    /// There was work that the thread had not begun: it was waking up, waited for a core, or worked for another loader.
    #[serde(serialize_with = "seconds")]
    pub wake: Duration,
    /// The epoch had no further work.
    #[serde(serialize_with = "seconds")]
    pub end: Duration,
}

impl IdleStats {
    /// The time of one lack.
    pub(crate) fn of(&mut self, lack: IdleCause) -> &mut Duration {
        match lack {
            IdleCause::Consumer => &mut self.consumer,
            IdleCause::Memory => &mut self.memory,
            IdleCause::Prefetch => &mut self.prefetch,
            IdleCause::Plan => &mut self.plan,
            IdleCause::Input => &mut self.input,
            IdleCause::Wake => &mut self.wake,
            IdleCause::End => &mut self.end,
        }
    }
}

/// Where the time of threads went; measured about once in 10 ms for each thread.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").build()?;
/// loader.epoch(0).for_each(drop);
/// let working = loader.stats().working;
/// assert!(working.asleep <= working.wall);
/// println!("{:?} ready to run without a core", working.queued);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct SampledTime {
    /// All time that was measured.
    #[serde(rename = "wall_s", serialize_with = "seconds")]
    pub wall: Duration,
    /// The part of it in which the thread slept: it waited for storage, a lock, a network.
    #[serde(rename = "asleep_s", serialize_with = "seconds")]
    pub asleep: Duration,
    /// The part of it in which the thread was ready to run and every core was busy.
    #[serde(rename = "queued_s", serialize_with = "seconds")]
    pub queued: Duration,
}

impl SampledTime {
    /// The share of the time in which threads slept, 0 to 1; `None` if nothing was measured.
    pub(crate) fn slept(&self) -> Option<f64> {
        let wall = self.wall.as_secs_f64();
        (wall > 0.0).then(|| self.asleep.as_secs_f64() / wall)
    }

    /// Of the time in which threads could run, the share in which they had no core, 0 to 1.
    pub(crate) fn without_core(&self) -> f64 {
        let could = self.wall.saturating_sub(self.asleep).as_secs_f64();
        if could > 0.0 { self.queued.as_secs_f64() / could } else { 0.0 }
    }

    /// Of all time, the share in which threads had no core, 0 to 1.
    pub(crate) fn queued_of_all(&self) -> f64 {
        let wall = self.wall.as_secs_f64();
        if wall > 0.0 { self.queued.as_secs_f64() / wall } else { 0.0 }
    }
}

impl std::ops::AddAssign for SampledTime {
    fn add_assign(&mut self, other: SampledTime) {
        self.wall += other.wall;
        self.asleep += other.asleep;
        self.queued += other.queued;
    }
}
