//! `ShardFacts`: what is known of a shard without a decision on how it is read: its names, its sidecar, and what opens
//! its tar.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tarflume_formats::index::ColumnSpec;
use tarflume_formats::manifest::{ShardEntry, hex_digest};
use tarflume_formats::{Digest, Index, RecheckTimer, check_index, index_path, open_index};
use tarflume_types::{Error, ErrorKind, Result, left_out};

use super::trust::Trust;
use crate::dataset::lone_tar::open_alone;
use crate::remote::SidecarFolder;
use crate::source::cache::CacheFile;
use crate::source::framed::Sidecar;
use crate::source::open::Open;

/// The properties of a shard that do not depend on how it is read.
#[derive(Debug)]
pub(crate) struct ShardFacts {
    pub(super) path: PathBuf,
    pub(super) samples: u64,
    /// The manifest's folder and entry, if the shard is listed in one.
    pub(super) listed: Option<(Arc<Path>, ShardEntry)>,
    /// Where the sidecar of a shard in a store is on this machine, and what brings it there.
    pub(super) remote: Option<(PathBuf, Arc<dyn SidecarFolder>)>,
    /// What opens the tar, if it is neither a file nor an object of the store with the sidecar.
    pub(super) opener: Option<Arc<dyn Open>>,
    /// A sidecar that was opened before, or is in memory alone.
    pub(super) known_index: Option<Arc<Index>>,
    pub(super) index: OnceLock<Arc<Index>>,
    /// Whether the sidecar may describe an earlier tar; set before `index`.
    pub(super) trust: OnceLock<Trust>,
    /// Tells compressed shards of this process apart; set on first use.
    pub(super) number: OnceLock<u64>,
    /// When to check again that a sidecar that is read, not mapped, is the file that was opened.
    pub(super) recheck: RecheckTimer,
}

impl ShardFacts {
    /// A shard that a manifest in `folder` lists. Opens nothing.
    pub(crate) fn listed(folder: &Arc<Path>, entry: ShardEntry) -> ShardFacts {
        ShardFacts {
            path: folder.join(&entry.name),
            samples: entry.samples,
            listed: Some((folder.clone(), entry)),
            remote: None,
            opener: None,
            known_index: None,
            index: OnceLock::new(),
            trust: OnceLock::new(),
            number: OnceLock::new(),
            recheck: RecheckTimer::due(),
        }
    }

    /// A shard that a manifest at a URL lists. Opens nothing.
    ///
    /// # Errors
    /// Returns an error if the manifest has no digest of the sidecar.
    pub(crate) fn remote(
        url: &Path,
        entry: ShardEntry,
        sidecars: Arc<dyn SidecarFolder>,
    ) -> Result<ShardFacts> {
        let remote = Some((sidecars.path(&entry)?, sidecars));
        let facts = ShardFacts::listed(&Arc::from(url), entry);
        Ok(ShardFacts { remote, ..facts })
    }

    /// A shard that a manifest lists, whose sidecar is in memory.
    ///
    /// # Errors
    /// Returns an error if the sidecar is not that of the manifest.
    pub(crate) fn in_memory(
        folder: &Arc<Path>,
        entry: ShardEntry,
        index: Index,
    ) -> Result<ShardFacts> {
        let index = Arc::new(check_index(index, &entry)?);
        Ok(ShardFacts { known_index: Some(index), ..ShardFacts::listed(folder, entry) })
    }

    /// The tar, for a cache of open ones.
    pub(crate) fn tar_file(&self) -> CacheFile {
        CacheFile { path: self.path.clone(), opener: self.opener.clone() }
    }

    /// What opens the tar, if it is neither a file nor an object of the store with the sidecar.
    pub(crate) fn opener(&self) -> Option<&Arc<dyn Open>> {
        self.opener.as_ref()
    }

    /// The same shard, whose tar is opened by `opener`; by its path, if `opener` opens files.
    pub(crate) fn opened_by(self: &Arc<ShardFacts>, opener: &Arc<dyn Open>) -> Arc<ShardFacts> {
        let opener = Some(opener).filter(|opener| !opener.opens_files(&self.path));
        if opener.is_none() && self.opener.is_none() {
            return self.clone();
        }
        Arc::new(ShardFacts {
            path: self.path.clone(),
            samples: self.samples,
            listed: self.listed.clone(),
            remote: self.remote.clone(),
            opener: opener.cloned(),
            known_index: self.index.get().or(self.known_index.as_ref()).cloned(),
            index: OnceLock::new(),
            trust: OnceLock::new(),
            number: OnceLock::new(),
            recheck: RecheckTimer::due(),
        })
    }

    /// The path of the sidecar. Of a shard in a store, it may not exist yet. `None` if the sidecar is in memory.
    pub(crate) fn sidecar_path(&self) -> Option<PathBuf> {
        match (&self.remote, &self.known_index) {
            (Some((path, _)), _) => Some(path.clone()),
            (None, Some(index)) if index.metadata().is_none() => None,
            (None, _) => Some(index_path(&self.path)),
        }
    }

    /// A shard without a manifest. Opens its sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is missing, damaged, or belongs to another tar.
    pub(crate) fn alone(path: PathBuf) -> Result<ShardFacts> {
        let index = open_alone(&path)?;
        let trust = OnceLock::from(Trust::of_file(&path, &index)?);
        Ok(ShardFacts {
            path,
            samples: index.samples(),
            listed: None,
            remote: None,
            opener: None,
            known_index: None,
            index: OnceLock::from(Arc::new(index)),
            trust,
            number: OnceLock::new(),
            recheck: RecheckTimer::due(),
        })
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// True if the file holds the tar as frames of zstd, by its name.
    pub(super) fn is_compressed(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "zst")
    }

    /// Checks that this program can read the tar.
    ///
    /// # Errors
    /// Returns an error for a compressed shard in a program without the feature `zstd`.
    pub(crate) fn check_compression(&self) -> Result<()> {
        if cfg!(feature = "zstd") || !self.is_compressed() {
            return Ok(());
        }
        Err(left_out(ErrorKind::Usage, "zstd, which compressed this shard", "zstd")
            .with_path(&self.path))
    }

    /// The typed columns of the sidecar.
    ///
    /// # Errors
    /// As [`Shard::index`].
    pub(crate) fn typed_columns(&self) -> Result<Vec<ColumnSpec>> {
        let columns = self.open_index()?.columns()?;
        Ok(columns.iter().map(|column| column.spec().clone()).collect())
    }

    /// The split that the manifest names, if any.
    pub(crate) fn split(&self) -> Option<&str> {
        self.listed.as_ref().and_then(|(_, entry)| entry.split.as_deref())
    }

    /// The folder of the manifest that lists the shard, if one does.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.listed.as_ref().map(|(folder, _)| &**folder)
    }

    /// Size of the tar in bytes, if a manifest lists it.
    pub(crate) fn listed_bytes(&self) -> Option<u64> {
        self.listed.as_ref().map(|(_, entry)| entry.bytes)
    }

    /// Size of the sidecar in bytes. Opens nothing.
    pub(crate) fn sidecar_bytes(&self) -> u64 {
        let listed = self.listed.as_ref().map(|(_, entry)| entry.index_bytes);
        listed.or_else(|| self.index.get().map(|index| index.length())).unwrap_or(0)
    }

    /// Releases the resident pages of the sidecar, if it is open.
    pub(crate) fn forget(&self) {
        if let Some(index) = self.index.get() {
            index.forget();
        }
    }

    pub(super) fn open_index(&self) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = self.find_index()?;
        let trust = self.first_trust(&index)?;
        self.trust.get_or_init(|| trust);
        Ok(self.index.get_or_init(|| index))
    }

    /// The sidecar, compared with the manifest and, if the tar is a file, with its length.
    fn find_index(&self) -> Result<Arc<Index>> {
        if let Some(known) = &self.known_index {
            return Ok(known.clone());
        }
        let index = match (&self.listed, &self.remote) {
            (Some((_, entry)), Some((_, sidecars))) => {
                self.listed_index(&sidecars.fetch(entry)?, entry)?
            }
            (Some((_, entry)), None) if self.opener.is_some() => {
                self.listed_index(&index_path(&self.path), entry)?
            }
            (Some((folder, entry)), None) => open_index(folder, entry)?,
            (None, _) => open_alone(&self.path)?,
        };
        Ok(Arc::new(index))
    }

    fn listed_index(&self, path: &Path, entry: &ShardEntry) -> Result<Index> {
        let checked = check_index(Index::open(path)?, entry);
        checked.map_err(|e| Error::from(e).with_path(&self.path))
    }

    /// The trust in a sidecar of which nothing was compared yet.
    fn first_trust(&self, index: &Index) -> Result<Trust> {
        match (&self.opener, &self.listed, &self.remote) {
            (Some(_), ..) => Ok(Trust::of_own(&self.path, index)),
            (None, Some((_, entry)), Some((_, sidecars))) => {
                Trust::of_source(&sidecars.tar(entry)?, &self.path, index)
            }
            _ => Trust::of_file(&self.path, index),
        }
    }

    /// The length of the tar in bytes, and a digest of its content: its own, or that of its sidecar.
    pub(crate) fn content(&self) -> Result<(u64, ShardContent)> {
        if let Some((_, entry)) = &self.listed {
            let content = match entry.digest()? {
                Some(digest) => ShardContent::Tar(digest),
                None => ShardContent::Sidecar(hex_digest(&entry.index_blake3)?),
            };
            return Ok((entry.bytes, content));
        }
        let index = self.open_index()?;
        let content = match index.tar().digest {
            Some(digest) => ShardContent::Tar(digest),
            None => {
                let digest = index.digest();
                index.intact()?;
                ShardContent::Sidecar(digest)
            }
        };
        Ok((index.tar().length, content))
    }
}

impl Sidecar for ShardFacts {
    fn index(&self) -> Result<&Index> {
        self.open_index()
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        *self.number.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The digest that identifies the content of a shard.
pub(crate) enum ShardContent {
    Tar(Digest),
    Sidecar(Digest),
}
