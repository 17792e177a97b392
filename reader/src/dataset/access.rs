//! `FileAccess`: how the files of a data set are opened.

use std::sync::Arc;

use crate::dataset::sidecars::MAPPED_SIDECARS;
use crate::source::by_url::OpenByUrl;
use crate::source::cache::SourceCache;
use crate::source::open::{Open, SourceKind};

/// How a data set opens its tars by default: mapped, because [`Dataset::get`] then returns views and
/// copies nothing. A loader sets [`SourceKind::File`] instead, see `LoaderBuilder::source`. Measured
/// (`examples/sources.rs`): a map is faster if the pages are in memory, and as fast as `pread` from a
/// disk if the needed ranges are advised ahead. Without that advice, page faults at random places are far
/// slower.
const DEFAULT_SOURCE: SourceKind = SourceKind::Mapped;

/// How the files of a data set are opened.
#[derive(Debug, Clone)]
pub(super) struct FileAccess {
    pub(super) opener: Arc<dyn Open>,
    /// The URLs of stores, and what opens the shards below them.
    pub(super) remotes: Vec<(String, Arc<dyn Open>)>,
    /// Maximum number of open tars.
    pub(super) cap: usize,
    /// Maximum total size in bytes of mapped sidecars.
    pub(super) mapped_sidecars: u64,
}

impl Default for FileAccess {
    fn default() -> FileAccess {
        let (opener, cap) = (Arc::new(DEFAULT_SOURCE), SourceCache::default_cap());
        FileAccess { opener, remotes: Vec::new(), cap, mapped_sidecars: MAPPED_SIDECARS }
    }
}

impl FileAccess {
    /// What opens the shards.
    pub(super) fn opener(&self) -> Arc<dyn Open> {
        match self.remotes.is_empty() {
            true => self.opener.clone(),
            false => Arc::new(OpenByUrl::new(self.opener.clone(), self.remotes.clone())),
        }
    }

    /// Adds the stores of another data set.
    pub(super) fn and(mut self, other: &FileAccess) -> FileAccess {
        self.remotes.extend(other.remotes.iter().cloned());
        self
    }
}
