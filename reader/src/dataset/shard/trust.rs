//! `Trust`: whether a sidecar may describe an earlier tar, and which parts of the tar were compared with it since.
//!
//! Times of files say that a tar may have been changed later, never that it was: copies have any times. So nothing is
//! refused by times. A part is compared with the sidecar before it, or a value that was copied from it, is used; once
//! in a process.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume_formats::freshness::may_be_newer;
use tarflume_formats::{Index, Reading, TarReader, files, probe};

use crate::error::{Error, ErrorKind, Result};
use crate::source::identity::Identity;

/// What is known of a tar beside its sidecar.
#[derive(Debug)]
pub(crate) struct Trust {
    /// The tar when the sidecar was opened; `None` of a tar in a store.
    tar: Option<Identity>,
    /// True if the tar may have been changed after the sidecar was published.
    suspect: bool,
    /// One bit for each part, set once it was compared.
    compared: OnceLock<Box<[AtomicU64]>>,
}

impl Trust {
    /// Compares the times of a tar with those of its sidecar; if the tar may be newer, some of its headers, too.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`]: the headers are others. Returns an error if the tar cannot be read.
    pub(super) fn of_file(tar: &Path, index: &Index) -> Result<Trust> {
        let found = files::metadata(tar, "find the shard")?;
        let suspect = index.metadata().is_some_and(|sidecar| may_be_newer(&found, sidecar));
        if suspect && !index.is_compressed() {
            let mut reader = TarReader::open(tar, Reading::Headers)?;
            if let Some(wrong) = probe::rows(&mut reader, index)?.into_iter().next() {
                let text = format!("{}; {}", wrong.text(), remedy(tar, index));
                let error = Error::from(wrong).with_path(tar);
                return Err(error.with_text(ErrorKind::Stale, text));
            }
        }
        Ok(Trust { tar: Some(Identity::from(&found)), suspect, compared: OnceLock::new() })
    }

    /// Of a tar in a store, whose times are not known yet.
    pub(super) fn of_object() -> Trust {
        Trust { tar: None, suspect: true, compared: OnceLock::new() }
    }

    /// The tar when the sidecar was opened.
    pub(super) fn tar(&self) -> Option<Identity> {
        self.tar
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect
    }

    /// True if part number `part` was compared with the sidecar.
    pub(super) fn has_compared(&self, part: u64) -> bool {
        let words = self.compared.get();
        let word = words.and_then(|words| words.get((part / 64) as usize));
        // Relaxed is enough: the bit guards nothing but repeated work.
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (part % 64) & 1 == 1)
    }

    /// Notes that part number `part` of `parts` is what the sidecar states.
    pub(super) fn set_compared(&self, part: u64, parts: u64) {
        let zeros = || (0..parts.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let words = self.compared.get_or_init(zeros);
        if let Some(word) = words.get((part / 64) as usize) {
            word.fetch_or(1 << (part % 64), Ordering::Relaxed);
        }
    }
}

/// The command that makes a sidecar with the same columns and entry points again.
pub(super) fn remedy(tar: &Path, index: &Index) -> String {
    format!("the tar may have been changed after its sidecar was made: if the tar is right, renew the sidecar with `{}`", index.renewal(tar))
}
