//! `Claims`: notes of the shards that machines are packing, so that other machines leave these alone.
//!
//! A claim is a hint. Two machines that pack the same shard do no harm: they write the same bytes.
//! The trait, the content of a note and its name; a run decides by them.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tarflume_base::Failure;

/// The place of the claims of a plan: a folder that all machines share, or an object store.
pub trait Claims: fmt::Debug + Send + Sync {
    /// Writes a claim that does not exist; returns false if it exists.
    ///
    /// # Errors
    /// Returns an error if the place does not answer.
    fn create(&self, name: &str, note: &[u8]) -> Result<bool, Failure>;

    /// Changes the note of a claim that exists.
    ///
    /// # Errors
    /// As [`Claims::create`]. A claim that was removed is an error, too.
    fn update(&self, name: &str, note: &[u8]) -> Result<(), Failure>;

    /// Removes a claim. One that does not exist is no error.
    ///
    /// # Errors
    /// As [`Claims::create`].
    fn remove(&self, name: &str) -> Result<(), Failure>;

    /// Returns the note of a claim; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Claims::create`].
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure>;

    /// Lists the names of all claims.
    ///
    /// # Errors
    /// As [`Claims::create`].
    fn list(&self) -> Result<Vec<String>, Failure>;

    /// Lists the names of the shards that have a record.
    ///
    /// # Errors
    /// As [`Claims::create`].
    fn finished(&self) -> Result<HashSet<String>, Failure>;

    /// Returns true if a shard has a record.
    ///
    /// # Errors
    /// As [`Claims::create`].
    fn is_finished(&self, shard: &str) -> Result<bool, Failure>;
}

/// The content of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Number of times the note was written. A number that stays the same means that the process has ended.
    pub beat: u64,
    /// Milliseconds since the shard was begun.
    pub elapsed_ms: u64,
    /// Bytes of source files that were packed.
    pub bytes: u64,
    /// The shard has problems and is not packed under the policy `fail`.
    pub refused: bool,
}

impl Note {
    /// Parses a note. One that is being written has no content yet.
    pub fn parse(bytes: &[u8]) -> Note {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// Returns the note as the JSON of its file.
    pub fn to_json(&self) -> Vec<u8> {
        // The padding gives each note of a claim the same length, so a note that
        // is written over another leaves no rest of it.
        let mut json = serde_json::to_vec(self).expect("texts and numbers serialize");
        json.resize(json.len().max(Note::LENGTH), b' ');
        json
    }

    const LENGTH: usize = 512;

    /// Estimates the time until the shard of `total` bytes is packed; `None` if nothing is known.
    pub fn remaining(&self, total: u64) -> Option<Duration> {
        if self.bytes == 0 {
            return None;
        }
        let left = total.saturating_sub(self.bytes) as f64 / self.bytes as f64;
        Some(Duration::from_secs_f64(left * self.elapsed_ms as f64 / 1e3))
    }
}

/// Returns the name of a claim. Attempts at a shard are numbered from 1.
pub fn claim_name(shard: &str, attempt: u32) -> String {
    format!("{shard}-{attempt}")
}

/// Splits the name of a claim into the shard's name and the number of the attempt; `None` for another file.
pub fn parse_name(claim: &str) -> Option<(&str, u32)> {
    let (shard, attempt) = claim.rsplit_once('-')?;
    Some((shard, attempt.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_and_half_a_note_is_an_empty_one() {
        let note =
            Note { host: "a".into(), pid: 7, elapsed_ms: 3000, bytes: 25, ..Note::default() };
        let json = note.to_json();
        assert_eq!(Note::parse(&json), note);
        assert_eq!(Note::parse(&json[..20]), Note::default());
        assert_eq!(note.remaining(100), Some(Duration::from_secs(9)));
        assert_eq!(Note::default().remaining(100), None);
    }

    #[test]
    fn names_have_the_attempt() {
        assert_eq!(parse_name(&claim_name("a-0.tar", 12)), Some(("a-0.tar", 12)));
        assert_eq!(parse_name("a.tar.record"), None);
    }
}
