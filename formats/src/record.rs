//! A shard's record: the note that a shard of a plan is finished, written after tar and index.
//!
//! Pure JSON in and out. `finalize` builds the manifest from records alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::ShardEntry;

/// What a finished shard turned out to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardRecord {
    /// Content hash of the plan.
    pub plan: String,
    /// The shard's number in the plan.
    pub shard: u64,
    /// As it will stand in the manifest.
    pub entry: ShardEntry,
    /// Whether its JPEGs were given entry points; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entry_points: bool,
    /// Whether tar and sidecar were left to the operating system, so that a power cut may have spoiled
    /// them; left out if they were synced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsynced: bool,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// What was wrong and was left out, one JSON object each, in the order of the plan.
    pub problems: Vec<serde_json::Value>,
}

impl ShardRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// The bytes are no record.
    pub fn from_json(bytes: &[u8]) -> Result<ShardRecord> {
        serde_json::from_slice(bytes).map_err(|e| {
            Error::new(ErrorKind::WrongFormat, format!("this is no shard record: {e}"))
        })
    }

    /// The record as one line of JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec(self).unwrap_or_default(); // strings and numbers only
        json.push(b'\n');
        json
    }
}
