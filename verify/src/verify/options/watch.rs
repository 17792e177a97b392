//! `Watch`: is told of each shard that was verified, while others still are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tarflume_base::Problem;

/// A shard that was verified.
#[derive(Debug, Clone, Copy)]
pub struct VerifiedShard<'s> {
    /// Its tar.
    pub path: &'s Path,
    /// Samples in it, as far as they could be counted.
    pub samples: u64,
    /// Bytes of the tar.
    pub bytes: u64,
    /// How long it took.
    pub time: Duration,
    /// What is wrong with it. Problems between shards are found when all shards were read.
    pub problems: &'s [Problem],
    /// What is unusual.
    pub warnings: &'s [Problem],
}

/// A shard in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardCase {
    /// Its tar.
    pub path: PathBuf,
    /// How long it took.
    pub time: Duration,
    /// True if the tar is not here and need not be: what is stated about it was compared.
    pub is_absent: bool,
}

type OnShard = dyn Fn(VerifiedShard<'_>) + Send + Sync;

/// What is called for each shard, in the order in which they are finished, from several threads.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<OnShard>>);

impl Watch {
    /// Calls `on_shard`.
    pub fn new(on_shard: impl Fn(VerifiedShard<'_>) + Send + Sync + 'static) -> Watch {
        Watch(Some(Arc::new(on_shard)))
    }

    pub(in crate::verify) fn tell(&self, shard: VerifiedShard<'_>) {
        if let Some(on_shard) = &self.0 {
            on_shard(shard);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(..)" } else { "Watch(none)" })
    }
}
