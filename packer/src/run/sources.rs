//! Are the source folders there? Without its mount every file of a source seems to be gone, and samples
//! that are only out of reach must not be left out.
//!
//! A mount that is missing leaves no folder, or an empty one. Files that are gone are believed to be gone
//! only where neither is found and a shard has other samples.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tarflume_formats::files::{self, patiently};
use tarflume_formats::shown::ShowPath;

use super::part::GONE;
use crate::failure::Failure;
use crate::problem::Problem;

/// Refuses to read from sources of which one is not a folder.
///
/// # Errors
/// One is not there; the operating system's refusal to say.
pub(super) fn check(roots: &[PathBuf]) -> Result<(), Failure> {
    for root in roots {
        if !files::is_folder(root)? {
            return Err(missing(root, "is not there"));
        }
    }
    Ok(())
}

/// What became of the samples of one shard, as far as it says whether their source is there.
#[derive(Debug, Default)]
pub(super) struct Absences {
    gone: u64,
    others: u64,
}

impl Absences {
    /// A sample was read.
    pub(super) fn read(&mut self) {
        self.others += 1;
    }

    /// A sample of the source `root` has `problems`.
    ///
    /// # Errors
    /// A file of it is gone, and the source is not there or empty; the operating system's refusal to say.
    pub(super) fn refused(&mut self, root: &Path, problems: &[Problem]) -> Result<(), Failure> {
        let gone = problems.iter().filter(|problem| problem.reason == GONE).count();
        if gone > 0 && is_empty(root)? {
            return Err(missing(root, "is not there, or is empty,"));
        }
        if gone < problems.len() {
            self.others += 1;
        } else {
            self.gone += 1;
        }
        Ok(())
    }

    /// Refuses to believe that all samples of a shard are gone.
    ///
    /// # Errors
    /// They are.
    pub(super) fn check(&self, shard: &str, roots: &[PathBuf]) -> Result<(), Failure> {
        if self.gone == 0 || self.others > 0 {
            return Ok(());
        }
        let roots: Vec<_> = roots.iter().map(|root| root.shown().to_string()).collect();
        Err(Failure::try_again(format!(
            "{shard}: all samples of this shard are gone from {} on this machine; mount the source, or \
             give --source; if they were removed on purpose, plan again with --fresh",
            roots.join(", ")
        )))
    }
}

fn missing(root: &Path, how: &str) -> Failure {
    Failure::try_again(format!(
        "{}: the source folder {how} on this machine; mount it, or give --source",
        root.shown()
    ))
}

/// True for a folder that has no entry, and where no folder is.
fn is_empty(root: &Path) -> Result<bool, Failure> {
    use io::ErrorKind as K;
    match patiently(|| fs::read_dir(root)?.next().transpose()) {
        Ok(first) => Ok(first.is_none()),
        Err(e) if matches!(e.kind(), K::NotFound | K::NotADirectory) => Ok(true),
        // A folder that may be entered and not read can be a source of a plan.
        Err(e) if e.kind() == K::PermissionDenied => Ok(false),
        Err(e) => Err(Failure::io(e, "read the folder", root)),
    }
}
