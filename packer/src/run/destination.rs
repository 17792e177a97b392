//! `Destination`: where a run takes its finished shards, if not to the working folder.
//!
//! The trait alone. It knows no network.

use std::fmt;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::ShardRecord;
use tarflume_formats::plan::PlanFoot;

/// A shard that a run has packed, on the local disk.
#[derive(Debug)]
pub(crate) struct PackedShard<'a> {
    /// The tar. Its sidecar is beside it.
    pub tar: &'a Path,
    /// Its record, which is not written anywhere.
    pub record: ShardRecord,
}

/// Takes the shards of a run. Called by several threads, for different shards.
///
/// A run removes the files of a shard from the working folder after [`Destination::deliver`], so
/// the folder holds the shards in work alone.
pub(crate) trait Destination: fmt::Debug + Send + Sync {
    /// Returns the record of a shard of the plan that was delivered and is complete; `None` if it
    /// must be packed (again).
    ///
    /// # Errors
    /// Returns an error if the destination does not answer.
    fn finished(&self, foot: &PlanFoot, number: usize) -> Result<Option<ShardRecord>, Failure>;

    /// Stores tar and sidecar, then the record.
    ///
    /// # Errors
    /// Returns an error if the destination refuses or holds another shard of this name.
    fn deliver(&self, shard: &PackedShard<'_>) -> Result<(), Failure>;
}
