//! `Trust`: whether a sidecar may describe an earlier tar, and which parts of the tar were compared with it since.
//!
//! Times tell that a tar may have been changed after its sidecar was made, never that it was: copies have any times. So
//! no shard is refused for its times. A part is compared with the sidecar before it, or a value that was copied from it
//! into the sidecar, is used; once in a process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tarflume_formats::freshness::may_be_newer;
use tarflume_formats::message;
use tarflume_formats::{Index, Reading, TarReader, files, probe};
use tarflume_types::{Error, ErrorKind, Result};

use crate::source::Source;
use crate::source::behind;
use crate::source::identity::Identity;

/// What is known of a tar beside its sidecar.
#[derive(Debug)]
pub(super) struct Trust {
    /// The tar when the sidecar was opened; `None` of a tar that is no file.
    tar: Option<Identity>,
    /// True if the tar may have been changed after the sidecar was made; of a tar that is no file until its time is known.
    suspect: bool,
    /// True once a program's opener was found to open another tar.
    is_of_another: AtomicBool,
    /// True once the end of a tar that a program's opener opens was checked.
    is_end_checked: AtomicBool,
    /// One bit for each part, set once it was compared.
    compared: OnceLock<Box<[AtomicU64]>>,
}

impl Trust {
    /// Compares the times of a tar with those of its sidecar and, if the tar may be newer, a few of its headers. Reads
    /// the end of a tar that is padded or joined.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`]: the headers are not those that the sidecar lists. [`ErrorKind::Damaged`]: the sidecar
    /// lists the first of joined tars alone. Returns an error if the tar cannot be read.
    pub(super) fn of_file(tar: &Path, index: &Index) -> Result<Trust> {
        let found = files::metadata(tar, "find the shard")?;
        let suspect = index.metadata().is_some_and(|sidecar| may_be_newer(&found, sidecar));
        // The headers of a compressed shard are in its frames.
        let is_plain = !index.is_compressed();
        if suspect && is_plain {
            let mut reader = TarReader::open(tar, Reading::Headers)?;
            if let Some(wrong) = probe::compare_rows(&mut reader, index)?.into_iter().next() {
                return Err(stale(wrong.into(), tar, index));
            }
        }
        if is_plain {
            check_joined(tar, index)?;
        }
        Ok(Trust { tar: Some(Identity::from(&found)), suspect, ..Trust::unknown() })
    }

    /// The trust in the sidecar of a tar that a program's opener opens, which may be the file at `path`. Opens nothing:
    /// [`Trust::learn_own`] finds out whether it is.
    pub(super) fn of_own(path: &Path, index: &Index) -> Trust {
        let found = files::metadata(path, "find the shard").ok();
        let found = found.filter(|found| found.len() == index.tar().length);
        match found {
            Some(tar) if index.metadata().is_some_and(|sidecar| !may_be_newer(&tar, sidecar)) => {
                Trust { tar: Some(Identity::from(&tar)), suspect: false, ..Trust::unknown() }
            }
            _ => Trust::unknown(),
        }
    }

    /// The trust in the sidecar of a tar in a store, whose URL is `name`. Reads the end of a tar that is padded or
    /// joined.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`]: the sidecar lists the first of joined tars alone. Returns an error if the tar cannot be
    /// read.
    pub(super) fn of_source(tar: &Arc<dyn Source>, name: &Path, index: &Index) -> Result<Trust> {
        let checked = behind::check_end(tar, name, index);
        // Sidecars of large data sets do not stay in memory.
        index.forget();
        checked.map_err(|e| e.with_path(name))?;
        Ok(Trust::unknown())
    }

    /// A sidecar that may describe an earlier tar.
    fn unknown() -> Trust {
        Trust {
            tar: None,
            suspect: true,
            is_of_another: AtomicBool::new(false),
            is_end_checked: AtomicBool::new(false),
            compared: OnceLock::new(),
        }
    }

    /// The tar when the sidecar was opened.
    pub(super) fn tar(&self) -> Option<Identity> {
        self.tar
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect || self.is_of_another.load(Ordering::Relaxed)
    }

    /// Learns what a program's opener has opened: its identity, and the source.
    ///
    /// # Errors
    /// As [`Trust::of_source`].
    pub(super) fn learn_own(
        &self,
        identity: Option<Identity>,
        tar: &Arc<dyn Source>,
        name: &Path,
        index: &Index,
    ) -> Result<()> {
        if identity.is_none_or(|identity| self.tar != Some(identity)) {
            self.is_of_another.store(true, Ordering::Relaxed);
        }
        if !self.is_end_checked.load(Ordering::Relaxed) {
            behind::check_end(tar, name, index).map_err(|e| e.with_path(name))?;
            self.is_end_checked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// True if part number `part` was compared with the sidecar.
    pub(super) fn has_compared(&self, part: u64) -> bool {
        let words = self.compared.get();
        let word = words.and_then(|words| words.get((part / 64) as usize));
        // Relaxed is enough: the bit guards nothing but repeated work.
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (part % 64) & 1 == 1)
    }

    /// Notes that part number `part` of `parts` is the one that the sidecar describes.
    pub(super) fn set_compared(&self, part: u64, parts: u64) {
        let words = self
            .compared
            .get_or_init(|| (0..parts.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        if let Some(word) = words.get((part / 64) as usize) {
            word.fetch_or(1 << (part % 64), Ordering::Relaxed);
        }
    }
}

/// Checks that the sidecar of a plain tar does not list the first of joined tars alone, as earlier versions made it.
///
/// # Errors
/// [`ErrorKind::Damaged`] with the place: more than zeros follows the end marker behind the last sample. Returns an
/// error if the tar cannot be read.
fn check_joined(tar: &Path, index: &Index) -> Result<()> {
    let checked = probe::check_end(index, tar);
    // Sidecars of large data sets do not stay in memory.
    index.forget();
    behind::only_joined(checked)
}

/// The error of a part that is not the one that the sidecar of the tar at `tar` describes, with the command that makes
/// the sidecar again.
pub(super) fn stale(found: Error, tar: &Path, index: &Index) -> Error {
    let text = message!(
        "{why}; the tar may have been changed after its sidecar was made: if the tar is right, make a new sidecar with \
         `{renewal}`";
        why = found.message(),
        renewal = index.renewal(tar)
    );
    // A damaged part stays one, which is read again from a store.
    let kind = match found.kind() {
        ErrorKind::Damaged => ErrorKind::Damaged,
        _ => ErrorKind::Stale,
    };
    let place = found.place();
    let error = Error::new(kind, text).with_path(place.path.as_deref().unwrap_or(tar));
    let error = place.byte.into_iter().fold(error, Error::with_byte);
    place.key.iter().fold(error, |error, key| error.with_key(key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_compared_by_itself() {
        let trust = Trust::unknown();
        assert!((0..130).all(|part| !trust.has_compared(part)));
        for part in [0, 63, 64, 129] {
            trust.set_compared(part, 130);
        }
        let compared: Vec<u64> = (0..140).filter(|&part| trust.has_compared(part)).collect();
        assert_eq!(compared, [0, 63, 64, 129]);
    }
}
