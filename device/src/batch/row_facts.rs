//! `RowFacts`: where a row of a batch comes from. Plain data.

use serde::Serialize;
use tarflume_types::Error;

use tarflume_order::words;

/// Provenance of one row of a batch.
///
/// ```
/// use tarflume::{Loader, RowState};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert!(batch.rows().all(|row| row.state == RowState::Whole && !row.padding));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RowFacts {
    /// Ordinal of the sample that the order assigned to this row.
    pub planned: u64,
    /// Ordinal of the sample in the row. Differs from `planned` only if `planned` was bad and replaced.
    pub ordinal: u64,
    /// What happened to the planned sample.
    pub state: RowState,
    /// True if the row pads the last batch and repeats a sample of this epoch.
    pub padding: bool,
    /// The number of its pack in the batch; 0 if samples are not packed.
    pub pack: u32,
}

/// What happened to the sample planned for a row.
///
/// ```
/// use tarflume::{Loader, OnBad, RowState};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").on_bad(OnBad::Substitute).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let replaced = batch.rows().filter(|row| row.state == RowState::Replaced).count();
/// assert_eq!(replaced, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RowState {
    /// The row holds it.
    Whole,
    /// It was bad; the row holds a substitute.
    Replaced,
    /// It was bad; the batch does not contain the row.
    Skipped,
}

words!(RowState, "the state of a row", {
    Whole => "whole",
    Replaced => "replaced",
    Skipped => "skipped",
});
