//! The options of a scan, and the form of its problems.

use std::path::PathBuf;
use std::sync::Arc;

use globset::GlobSet;
use serde::{Deserialize, Serialize};
use tarflume_base::Problem;
use tarflume_formats::json::JsonRules;
use tarflume_formats::name;

use crate::filter::Filter;
use crate::names::exclude_list::Listed;
use crate::names::exts::{ExtMap, PartChoice, Require};
use crate::names::rules::{Action, NameRules, Rule};

/// The parts that may be empty: an empty caption or label file can have a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepEmpty {
    /// Those with these extensions in the shards.
    Listed(Vec<String>),
    /// All.
    All,
}

impl Default for KeepEmpty {
    fn default() -> KeepEmpty {
        KeepEmpty::Listed(Vec::new())
    }
}

impl KeepEmpty {
    /// Returns true if a part with this extension may be empty.
    pub(crate) fn keeps(&self, ext: &[u8]) -> bool {
        match self {
            KeepEmpty::All => true,
            KeepEmpty::Listed(exts) => exts.iter().any(|kept| kept.as_bytes() == ext),
        }
    }
}

/// The options of a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Packs what symbolic links point to.
    pub follow_links: bool,
    /// The map from source extensions to shard extensions.
    pub exts: ExtMap,
    /// Names images by their first bytes if their extension differs.
    pub by_content: bool,
    /// The parts that every sample must have.
    pub require: Require,
    /// The handling of names that readers disagree about.
    pub names: NameRules,
    /// Paths under a source folder that are left out.
    pub exclude: GlobSet,
    /// Keys whose samples are left out.
    pub listed: Arc<Listed>,
    /// Keys whose samples are packed; `None` for all. Of tars only.
    pub only: Option<Arc<Listed>>,
    /// Which texts are JSON.
    pub json: JsonRules,
    /// Conditions that every sample meets. Of tars only.
    pub filters: Vec<Filter>,
    /// The parts that are packed. Of tars only.
    pub parts: PartChoice,
    /// The parts that may be empty.
    pub empty: KeepEmpty,
    /// Joins the parts of a sample that are not neighbors. Of tars only.
    pub rejoins: bool,
    /// Paths under a source folder of files that are read as tables, and are no parts.
    pub joined: Vec<Vec<u8>>,
    /// Collects `metadata.csv`, `.jsonl` and `.parquet` that name files, instead of grouping them.
    pub metadata: bool,
}

impl ScanOptions {
    /// Returns how much of a file's name is key: up to the dot before the extension.
    ///
    /// If dots in the stem are allowed, that is WebDataset's first dot; otherwise the last, or the
    /// one before an extension with dots that is required by name (`seg.png`).
    pub fn stem_of(&self, file: &[u8]) -> usize {
        let mut dots = (1..file.len()).filter(|&i| file[i] == b'.');
        if self.names.action(Rule::Dot) == Action::Allow {
            return dots.next().unwrap_or(file.len());
        }
        let compound = dots.clone().find(|&dot| self.require.names(&name::lower(&file[dot + 1..])));
        compound.or(dots.next_back()).unwrap_or(file.len())
    }

    /// Returns true if a folder is left out with all that is in it: by its name, or by a glob of all in it (`x/**`).
    pub(crate) fn excludes_folder(&self, parent: &[u8], name: &[u8]) -> bool {
        self.excludes(parent, name) || self.excludes(parent, &[name, b"/"].concat())
    }

    /// Returns true if a file is left out: by a glob of its path.
    pub fn excludes(&self, folder: &[u8], name: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt;
        if self.exclude.is_empty() {
            return false;
        }
        let path = [folder, name].concat();
        self.exclude.is_match(std::ffi::OsStr::from_bytes(&path))
    }
}

/// A problem, and all files that it leaves out.
#[derive(Debug, Clone)]
pub struct ScanProblem {
    /// The problem.
    pub problem: Problem,
    /// The number of the source folder.
    pub root: u32,
    /// The files of the sample that is left out.
    pub files: Vec<PathBuf>,
    /// What a later step decides by, besides the kind; `None` if nothing.
    pub cause: Option<Cause>,
}

/// What made a problem of files, where a later step decides by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The files of a sample lack this part, which is required.
    Lacks(String),
    /// A link that is not followed.
    Link,
}

impl ScanProblem {
    /// Creates a problem of the source folder with the number `root`.
    pub fn new(problem: Problem, root: u32, files: Vec<PathBuf>) -> ScanProblem {
        ScanProblem { problem, root, files, cause: None }
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, cause: Option<Cause>) -> ScanProblem {
        self.cause = cause;
        self
    }

    /// Returns false for a notice, which changes no exit code.
    pub fn is_fault(&self) -> bool {
        !self.problem.kind.is_notice()
    }
}
