//! `OperationTimes`: the time of the operations of recipes.
//!
//! A read of the clock ends each action, and decoders add what they measured of a sample at once.

use std::time::{Duration, Instant};

use serde::Serialize;
use tarflume_types::seconds;

/// What one operation of a recipe cost, summed over all threads.
///
/// A call is a picture that the operation changed: one of a sample, or a view. What decoders carry out while they decode (crops, a resize and
/// flips at the beginning of a recipe) is part of decoding, and is not measured separately. Of neighboring operations that map each
/// value alone, the last one has the time of all: they are applied as one table.
///
/// ```
/// use tarflume::transforms::Recipe;
/// use tarflume::transforms::operations::{crop::RandomResizedCrop, filter::GaussianBlur};
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let blur = GaussianBlur { kernel_size: [5, 5], sigma: [0.1, 2.0] };
/// let recipe = Recipe::new([RandomResizedCrop::new([64, 64]).into(), blur.into()]);
/// let loader = Loader::builder(shards).image("jpg", recipe).batch(4).build()?;
/// loader.epoch(0).for_each(drop);
/// let operations = loader.stats().operations;
/// assert_eq!((operations[0].name.as_str(), operations[0].calls), ("GaussianBlur", 16));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OperationStats {
    /// The column.
    pub column: String,
    /// The name; see [`Recipe::labels`](crate::transforms::Recipe::labels).
    pub name: String,
    /// Pictures that it changed.
    pub calls: u64,
    /// Time in which it did.
    #[serde(rename = "busy_s", serialize_with = "seconds")]
    pub busy: Duration,
}

/// The calls and the time of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OperationTime {
    pub(crate) calls: u64,
    pub(crate) busy: Duration,
}

/// The times of the operations of one column, by their number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ColumnTimes(Vec<OperationTime>);

impl ColumnTimes {
    /// Counts a call of each of the operations that own a sample's actions, in the order of the actions.
    pub(in crate::decode) fn count(&mut self, owners: &[usize]) {
        let mut last = None;
        for &owner in owners {
            if last != Some(owner) {
                self.of(owner).calls += 1;
            }
            last = Some(owner);
        }
    }

    fn of(&mut self, number: usize) -> &mut OperationTime {
        if self.0.len() <= number {
            self.0.resize(number + 1, OperationTime::default());
        }
        &mut self.0[number]
    }

    /// Moves all times of `other` here.
    pub(in crate::decode) fn take(&mut self, other: &mut ColumnTimes) {
        for (number, time) in other.0.iter_mut().enumerate() {
            let OperationTime { calls, busy } = std::mem::take(time);
            let sum = self.of(number);
            sum.calls += calls;
            sum.busy += busy;
        }
    }
}

/// Measures the operations of one sample, one after the other.
pub(in crate::decode) struct OperationClock<'a> {
    times: &'a mut ColumnTimes,
    since: Instant,
}

impl OperationClock<'_> {
    /// Begins with the first operation.
    pub(in crate::decode) fn start(times: &mut ColumnTimes) -> OperationClock<'_> {
        OperationClock { times, since: Instant::now() }
    }

    /// Adds the time since the last call to operation `number`.
    pub(in crate::decode) fn end(&mut self, number: usize) {
        let now = Instant::now();
        self.times.of(number).busy += now - self.since;
        self.since = now;
    }
}

/// The times of the operations of all columns, by the number of the column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OperationTimes {
    columns: Vec<ColumnTimes>,
    /// The column that is decoded.
    column: usize,
}

impl OperationTimes {
    /// Begins column `number` of a sample.
    pub(crate) fn begin(&mut self, number: usize) {
        self.column = number;
    }

    /// Moves times of the column that is decoded here.
    pub(in crate::decode) fn add(&mut self, times: &mut ColumnTimes) {
        if !times.0.is_empty() {
            self.of(self.column).take(times);
        }
    }

    fn of(&mut self, column: usize) -> &mut ColumnTimes {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, ColumnTimes::default());
        }
        &mut self.columns[column]
    }

    /// True if no recipe changed pixels.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Moves all times of `other` here.
    pub(crate) fn take(&mut self, other: &mut OperationTimes) {
        for (column, times) in other.columns.iter_mut().enumerate() {
            self.of(column).take(times);
        }
    }

    /// The operations that changed a picture, with the names of the columns and of their operations.
    pub(crate) fn stats(&self, columns: &[OperationLabels]) -> Vec<OperationStats> {
        let mut stats = Vec::new();
        for (labels, times) in columns.iter().zip(&self.columns) {
            let called = labels.names.iter().zip(&times.0).filter(|(_, time)| time.calls > 0);
            stats.extend(called.map(|(name, time)| OperationStats {
                column: labels.column.clone(),
                name: name.clone(),
                calls: time.calls,
                busy: time.busy,
            }));
        }
        stats
    }
}

/// The name of a column, and those of the operations of its recipe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OperationLabels {
    pub(crate) column: String,
    pub(crate) names: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(owners: &[usize]) -> ColumnTimes {
        let mut times = ColumnTimes::default();
        times.count(owners);
        for &owner in owners {
            times.of(owner).busy += Duration::from_millis(3);
        }
        times
    }

    fn labels(column: &str) -> OperationLabels {
        let names = vec!["Flip".into(), "Jitter".into(), "Blur".into()];
        OperationLabels { column: column.into(), names }
    }

    #[test]
    fn a_call_is_a_sample_whatever_the_number_of_its_actions() {
        let mut thread = OperationTimes::default();
        thread.begin(1);
        for owners in [&[1, 1, 1, 2][..], &[1], &[]] {
            thread.add(&mut times(owners));
        }
        let mut all = OperationTimes::default();
        assert!(all.is_empty());
        all.take(&mut thread);
        all.take(&mut thread); // what was taken over is not counted twice
        let stats = all.stats(&[labels("mask"), labels("image")]);
        let found: Vec<(&str, &str, u64, u128)> = stats
            .iter()
            .map(|of| (of.column.as_str(), of.name.as_str(), of.calls, of.busy.as_millis()))
            .collect();
        assert_eq!(found, [("image", "Jitter", 2, 12), ("image", "Blur", 1, 3)]);
    }

    #[test]
    fn the_clock_gives_each_operation_the_time_since_the_last_one() {
        let mut times = ColumnTimes::default();
        let begun = Instant::now();
        let mut clock = OperationClock::start(&mut times);
        std::thread::sleep(Duration::from_millis(8));
        clock.end(1);
        clock.end(0);
        let spent = begun.elapsed();
        assert!(times.0[1].busy >= Duration::from_millis(8));
        assert!(times.0[0].busy + times.0[1].busy <= spent);
    }
}
