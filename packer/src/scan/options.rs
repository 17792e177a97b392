//! What is scanned for, and the form in which a scan tells what is wrong.

use std::path::PathBuf;

use globset::GlobSet;

use super::exclude_list::Listed;
use super::exts::{ExtMap, Require};
use super::rules::NameRules;
use crate::problem::Problem;

/// What is scanned for.
#[derive(Debug, Default)]
pub struct ScanOptions {
    /// Packs what symbolic links point to.
    pub follow_links: bool,
    /// How extensions are renamed.
    pub exts: ExtMap,
    /// Names images by their first bytes, where their extension says something else.
    pub by_content: bool,
    /// What every sample must have.
    pub require: Require,
    /// What is done about names that readers disagree about.
    pub names: NameRules,
    /// Paths under a source folder that are left out.
    pub exclude: GlobSet,
    /// Keys whose samples are left out.
    pub listed: Listed,
}

impl ScanOptions {
    pub(super) fn excludes(&self, folder: &[u8], name: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt;
        if self.exclude.is_empty() {
            return false;
        }
        let path = [folder, name].concat();
        self.exclude.is_match(std::ffi::OsStr::from_bytes(&path))
    }
}

/// A problem, and all the files that are left out because of it.
#[derive(Debug, Clone)]
pub struct ScanProblem {
    /// The problem.
    pub problem: Problem,
    /// Which source folder.
    pub root: u32,
    /// The files of the sample that it spoils.
    pub files: Vec<PathBuf>,
}

impl ScanProblem {
    /// False for a notice, which changes no exit code.
    pub fn is_fault(&self) -> bool {
        !self.problem.kind.is_notice()
    }
}
