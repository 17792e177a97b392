//! `Options`: how a writer divides and checks what it writes.

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Columns, Unplanned};
use tarflume_formats::Durability;
use tarflume_formats::json::JsonRules;
use tarflume_scan::names::rules::NameRules;

use crate::build::requests::options::SHARD_SIZE;

/// The options of a writer.
#[derive(Debug, Clone)]
pub struct Options {
    /// Shards are named PREFIX-000000.tar.
    pub prefix: String,
    /// Limit on a shard's bytes; a larger sample gets its own shard.
    pub shard_size: u64,
    /// Limit on a shard's samples.
    pub shard_samples: Option<u64>,
    /// The rules for keys.
    pub names: NameRules,
    /// The level of the content checks.
    pub check: CheckLevel,
    /// Which texts are JSON. The data set records the rules.
    pub json: JsonRules,
    /// How shards are compressed, if they are.
    pub compress: Option<Compress>,
    /// Whether JPEGs get entry points.
    pub entry_points: bool,
    /// The typed columns of sidecars.
    pub columns: Columns,
    /// Whether finished shards survive a power failure.
    pub durability: Durability,
    /// Discards what an earlier attempt left in the working folder.
    pub fresh: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            prefix: "shard".into(),
            shard_size: SHARD_SIZE,
            shard_samples: None,
            names: NameRules::default(),
            check: CheckLevel::Structure,
            json: JsonRules::Strict,
            compress: None,
            entry_points: true,
            columns: Columns::default(),
            durability: Durability::Synced,
            fresh: false,
        }
    }
}

impl Options {
    /// Returns what the manifest states.
    pub(super) fn unplanned(&self) -> Unplanned {
        Unplanned { columns: self.columns.clone(), json: self.json, check: Some(self.check) }
    }
}
