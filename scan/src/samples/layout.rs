//! `Layout`: what a scan knows of the folders and files that hold its samples, beside the samples.

use std::path::PathBuf;

use crate::source::{part_path, shown_path};

/// The places of samples.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Bytes of a path under the root that belong to the source, not to the sample: of paired folders, the first
    /// one and its slash. Classes and splits are in the folders behind them.
    pub(crate) side: usize,
    /// The split of the samples of each root, by the root's number; empty if no root has one.
    pub splits: Vec<Option<String>>,
    /// The file of each root, by the root's number; empty if the roots are folders of samples.
    pub files: Vec<PathBuf>,
    /// Folders without any file, in their order.
    pub empty: Vec<EmptyFolder>,
}

/// A folder in which nothing is but hidden files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyFolder {
    /// The number of its root.
    pub root: u32,
    /// Its path under the root, with a slash at the end.
    pub path: Vec<u8>,
}

impl EmptyFolder {
    /// Returns its path for messages.
    pub fn shown(&self, roots: &[PathBuf]) -> String {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        shown_path(&part_path(&roots[self.root as usize], path, b""))
    }
}
