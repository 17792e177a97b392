//! `FileAccess`: how the files of a data set are opened.

use std::sync::Arc;

use crate::dataset::opening::sidecars::MAPPED_SIDECARS;
use crate::dataset::shard::ShardFacts;
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
pub(in crate::dataset) struct FileAccess {
    /// What opens local files.
    pub(in crate::dataset) files: Arc<dyn Open>,
    /// Openers of the program, which shards know by themselves.
    pub(in crate::dataset) own: Vec<Arc<dyn Open>>,
    /// The URLs of stores, and what opens the shards below them.
    pub(in crate::dataset) remotes: Vec<(String, Arc<dyn Open>)>,
    /// Maximum number of open tars.
    pub(in crate::dataset) cap: usize,
    /// Maximum total size in bytes of mapped sidecars.
    pub(in crate::dataset) mapped_sidecars: u64,
}

impl Default for FileAccess {
    fn default() -> FileAccess {
        FileAccess {
            files: Arc::new(DEFAULT_SOURCE),
            own: Vec::new(),
            remotes: Vec::new(),
            cap: SourceCache::default_cap(),
            mapped_sidecars: MAPPED_SIDECARS,
        }
    }
}

impl FileAccess {
    /// What opens the shards.
    pub(in crate::dataset) fn opener(&self) -> Arc<dyn Open> {
        if self.remotes.is_empty() && self.own.is_empty() {
            self.files.clone()
        } else {
            let remotes = self.remotes.clone();
            let own = self.own.clone();
            Arc::new(OpenByUrl::new(self.files.clone(), remotes, own))
        }
    }

    /// The same with `opener` for the tars `facts`, of which it opens some as files or none.
    pub(in crate::dataset) fn by(
        &self,
        opener: &Arc<dyn Open>,
        facts: &[Arc<ShardFacts>],
    ) -> FileAccess {
        let is_for_files = facts.iter().any(|shard| shard.opener().is_none());
        let files = if is_for_files { opener } else { &self.files };
        let own = if is_for_files { Vec::new() } else { vec![opener.clone()] };
        FileAccess { files: files.clone(), own, remotes: Vec::new(), ..self.clone() }
    }

    /// Adds the stores and openers of another data set.
    pub(in crate::dataset) fn and(mut self, other: &FileAccess) -> FileAccess {
        self.remotes.extend(other.remotes.iter().cloned());
        for opener in &other.own {
            if !self.own.iter().any(|known| Arc::ptr_eq(known, opener)) {
                self.own.push(opener.clone());
            }
        }
        self
    }
}
