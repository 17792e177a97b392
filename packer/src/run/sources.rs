//! Checks that the source folders are mounted. Without its mount every file of a source seems to be
//! missing, and samples that are only unreachable must not be left out.
//!
//! A missing mount leaves no folder, or an empty one. Missing files count as removed only if their
//! source is a non-empty folder and the shard has other samples.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Problem};
use tarflume_formats::files::{self, patiently};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::plan::PlannedSource;
use tarflume_formats::shown::ShowPath;

use crate::run::samples::refused::PartProblem;

/// Refuses roots that are missing: folders, and files that are sources themselves.
///
/// # Errors
/// Returns an error if one is missing or the operating system does not answer.
pub(super) fn check(roots: &[PathBuf], sources: &[PlannedSource]) -> Result<(), Failure> {
    for (number, root) in roots.iter().enumerate() {
        let is_file = sources.iter().any(|s| s.root as usize == number && s.path.is_empty());
        let found = if is_file { files::exists(root)? } else { files::is_folder(root)? };
        if !found {
            let what = if is_file { "file" } else { "folder" };
            return Err(missing(root, what, "does not exist"));
        }
    }
    Ok(())
}

/// The results of one shard's samples, as evidence whether their source is mounted.
#[derive(Debug, Default)]
pub(super) struct Absences {
    gone: u64,
    others: u64,
}

impl Absences {
    /// Counts a sample that was read.
    pub(super) fn read(&mut self) {
        self.others += 1;
    }

    /// Counts the `problems` of a sample of the source `root`, and returns them.
    ///
    /// # Errors
    /// Returns an error if a file of it is missing and the source is missing or empty, and if the
    /// operating system does not answer.
    pub(super) fn refused(
        &mut self,
        root: &Path,
        problems: Vec<PartProblem>,
    ) -> Result<Vec<Problem>, Failure> {
        let gone = problems.iter().filter(|found| found.is_gone).count();
        if gone > 0 && is_empty(root)? {
            return Err(missing(root, "folder", "is missing or empty"));
        }
        if gone < problems.len() {
            self.others += 1;
        } else {
            self.gone += 1;
        }
        Ok(problems.into_iter().map(|found| found.problem).collect())
    }

    /// Refuses a shard all of whose samples are missing.
    ///
    /// # Errors
    /// Returns an error if they are.
    pub(super) fn check(&self, shard: &str, roots: &[PathBuf]) -> Result<(), Failure> {
        if self.gone == 0 || self.others > 0 {
            return Ok(());
        }
        let roots: Vec<_> = roots.iter().map(|root| root.shown().to_string()).collect();
        Err(Failure::try_again(
            message!("{shard}: all samples of this shard are gone from {} on this machine; mount the source, or give \
                 {source}; if they were removed on purpose, plan again with {fresh}", roots.join(", "); source = Name::Source, fresh = Name::Fresh.on()),
        ))
    }
}

fn missing(root: &Path, what: &str, how: &str) -> Failure {
    Failure::try_again(message!(
        "the source {what} {how} on this machine; mount it, or give {source}";
        source = Name::Source
    ))
    .in_file(root)
}

/// Returns true for an empty folder and for a path that is not a folder.
fn is_empty(root: &Path) -> Result<bool, Failure> {
    use io::ErrorKind as K;
    match patiently(|| fs::read_dir(root)?.next().transpose()) {
        Ok(first) => Ok(first.is_none()),
        Err(e) if matches!(e.kind(), K::NotFound | K::NotADirectory) => Ok(true),
        // A folder that may be searched but not read can be a source of a plan.
        Err(e) if e.kind() == K::PermissionDenied => Ok(false),
        Err(e) => Err(Failure::io(e, "read the folder", root)),
    }
}
