//! A shard's record: marks a planned shard as finished; written after tar and index.
//!
//! Pure JSON in and out. `finalize` builds the manifest from records alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::parts::irregular::IrregularJpegs;
use crate::records::manifest::ShardEntry;

/// A finished shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardRecord {
    /// Content hash of the plan.
    pub plan: String,
    /// The shard's number in the plan.
    pub shard: u64,
    /// Its entry for the manifest.
    pub entry: ShardEntry,
    /// Whether its JPEGs got entry points; omitted if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entry_points: bool,
    /// Whether tar and sidecar were not synced to disk, so that a power failure may have damaged
    /// them; omitted if they were synced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsynced: bool,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// The problems found and left out, one JSON object each, in the order of the plan.
    pub problems: Vec<serde_json::Value>,
    /// The packed JPEGs that break rules of their format without losing a pixel; omitted if there are none.
    #[serde(default, skip_serializing_if = "IrregularJpegs::is_empty")]
    pub irregular_jpegs: IrregularJpegs,
}

impl ShardRecord {
    /// Parses a record.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a record.
    pub fn from_json(bytes: &[u8]) -> Result<ShardRecord> {
        serde_json::from_slice(bytes).map_err(|e| {
            Error::new(ErrorKind::WrongFormat, format!("this is not a shard record: {e}"))
        })
    }

    /// Returns the record as one line of JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec(self).expect("texts and numbers serialize");
        json.push(b'\n');
        json
    }
}
