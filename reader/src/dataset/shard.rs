//! `Shard`: one tar of a data set with its sidecar and its source, each opened on first use.
//!
//! Knows its own files only, not its position in the data set.

pub(crate) mod pictures;
pub(crate) mod proof;
pub(crate) mod proof_pass;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tarflume_formats::index::{ColumnSpec, SampleRow, Value};
use tarflume_formats::manifest::{ShardEntry, hex_digest};
use tarflume_formats::{Digest, Index, RecheckTimer, check_index, index_path, open_index};

use self::trust::Trust;
use crate::dataset::lone_tar::open_alone;
use crate::error::{Error, ErrorKind, Result};
use crate::remote::SidecarFolder;
use crate::source::Source;
use crate::source::cache::{CacheFile, SourceCache};
use crate::source::framed::{FramedSource, Sidecar};
use crate::source::identity::Identity;
use crate::source::open::Open;

/// One tar of a data set.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// for shard in Dataset::open(shards)?.shards() {
///     println!("{}: {} samples", shard.path().display(), shard.samples());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Shard {
    facts: Arc<ShardFacts>,
    sources: Arc<SourceCache>,
    /// Open sidecars, if sidecars are read and not mapped.
    sidecars: Option<Arc<SourceCache>>,
    number: usize,
}

/// The properties of a shard that do not depend on how it is read.
#[derive(Debug)]
pub(crate) struct ShardFacts {
    path: PathBuf,
    samples: u64,
    /// The manifest's folder and entry, if the shard is listed in one.
    listed: Option<(Arc<Path>, ShardEntry)>,
    /// Where the sidecar of a shard in a store is on this machine, and what brings it there.
    remote: Option<(PathBuf, Arc<dyn SidecarFolder>)>,
    /// What opens the tar, if it is neither a file nor an object of the store with the sidecar.
    opener: Option<Arc<dyn Open>>,
    /// A sidecar that was opened before, or is in memory alone.
    known_index: Option<Arc<Index>>,
    index: OnceLock<Arc<Index>>,
    /// Whether the sidecar may describe an earlier tar; set before `index`.
    trust: OnceLock<Trust>,
    /// Tells compressed shards of this process apart; set on first use.
    number: OnceLock<u64>,
    /// When to check again that a sidecar that is read, not mapped, is the file that was opened.
    recheck: RecheckTimer,
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
    fn is_compressed(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "zst")
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

    fn open_index(&self) -> Result<&Index> {
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

impl Shard {
    pub(crate) fn new(
        facts: Arc<ShardFacts>,
        sources: Arc<SourceCache>,
        sidecars: Option<Arc<SourceCache>>,
        number: usize,
    ) -> Shard {
        Shard { facts, sources, sidecars, number }
    }

    pub(crate) fn facts(&self) -> &Arc<ShardFacts> {
        &self.facts
    }

    /// The path of the tar.
    pub fn path(&self) -> &Path {
        &self.facts.path
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.facts.samples
    }

    /// Length of the tar in bytes, as the manifest states it, or else the sidecar.
    ///
    /// ```
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let dataset = tarflume::Dataset::open(shards)?;
    /// assert!(dataset.shard(0).bytes()? > 1024);
    /// # Ok::<(), tarflume::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Shard::index`], if there is no manifest.
    pub fn bytes(&self) -> Result<u64> {
        match &self.facts.listed {
            Some((_, entry)) => Ok(entry.bytes),
            None => Ok(self.index()?.tar().length),
        }
    }

    /// Length of the sidecar in bytes.
    pub fn sidecar_bytes(&self) -> u64 {
        self.facts.sidecar_bytes()
    }

    /// The sidecar. The first call opens it and compares it with the tar's length and the manifest.
    ///
    /// # Errors
    /// Returns an error if the sidecar is missing, damaged or stale, or the tar is missing. The next
    /// call tries again.
    pub fn index(&self) -> Result<&Index> {
        self.facts.open_index()
    }

    /// Copies what the sidecar contains about a row.
    ///
    /// # Errors
    /// As [`Shard::index`]. [`ErrorKind::Stale`]: the row does not exist, or the sidecar is a different
    /// file from the one that was opened.
    pub(crate) fn look_up(&self, row: u64, into: &mut SampleRow) -> Result<()> {
        let index = self.index()?;
        let found = match &self.sidecars {
            None => index.look_up(row, into)?,
            Some(sidecars) => {
                let opened = index.metadata().map(Identity::from);
                let file = sidecars.get_known(self.number, opened)?;
                let found = index.look_up_by(row, |at, bytes| file.read_at(at, bytes), into)?;
                self.check_sidecar(&*file)?;
                found
            }
        };
        if found {
            return Ok(());
        }
        let text = format!("the sidecar has no row {row}, but the manifest counts it");
        Err(Error::new(ErrorKind::Stale, text))
    }

    /// The number of a typed column in the sidecar.
    ///
    /// # Errors
    /// As [`Shard::index`], and if the sidecar lacks the column.
    pub(crate) fn column(&self, spec: &ColumnSpec) -> Result<usize> {
        let column = self.index()?.columns()?.iter().position(|column| column.spec() == spec);
        column.ok_or_else(|| lacks(spec))
    }

    /// The value of the sample in row `row` in a typed column; `None` if it has none. A text is copied into `text`.
    ///
    /// # Errors
    /// As [`Shard::look_up`], and if the sidecar lacks the column.
    pub(crate) fn value<'t>(
        &self,
        spec: &ColumnSpec,
        row: u64,
        text: &'t mut Vec<u8>,
    ) -> Result<Option<Value<'t>>> {
        let (index, column) = (self.index()?, self.column(spec)?);
        let Some(sidecars) = &self.sidecars else { return Ok(index.value(column, row, text)?) };
        let opened = index.metadata().map(Identity::from);
        let file = sidecars.get_known(self.number, opened)?;
        let value = index.value_by(column, row, |at, into| file.read_at(at, into), text)?;
        self.check_sidecar(&*file)?;
        Ok(value)
    }

    /// Checks that an open sidecar is the file that was opened. Checksums of blocks are verified only
    /// once, so a later write must be detected by the file's times.
    fn check_sidecar(&self, sidecar: &dyn Source) -> Result<()> {
        if self.facts.recheck.is_due() {
            sidecar.check()?;
            self.facts.recheck.restart();
        }
        Ok(())
    }

    /// Releases the mapped pages of the sidecar if sidecars are not to stay in memory. Call it after a
    /// full pass through [`Shard::index`].
    pub(crate) fn forget(&self) {
        if self.sidecars.is_some() {
            self.facts.forget();
        }
    }

    /// The bytes of the tar, from the cache of open shards.
    ///
    /// # Errors
    /// Returns an error if the tar cannot be opened, has a different length from the one in its sidecar,
    /// or is a different file from the one that was opened.
    pub fn source(&self) -> Result<Arc<dyn Source>> {
        // What the sidecar states was believed, or not, of this file.
        let opened = self.facts.trust.get().and_then(Trust::tar);
        let source = self.sources.get_known(self.number, opened)?;
        let expected = match (&self.facts.listed, self.facts.index.get()) {
            (Some((_, entry)), _) => entry.bytes,
            (None, Some(index)) => index.tar().length,
            (None, None) => return Ok(source),
        };
        if source.len() != expected {
            let text = format!(
                "the tar has {} bytes, but its sidecar describes one of {expected}; if the tar is \
                 right, make a new sidecar with `pack index --force`",
                source.len()
            );
            return Err(Error::new(ErrorKind::Stale, text).with_path(&self.facts.path));
        }
        if self.facts.opener.is_some()
            && let (Some(trust), Some(index)) = (self.facts.trust.get(), self.facts.index.get())
        {
            let identity = self.sources.identity(self.number);
            trust.learn_own(identity, &source, &self.facts.path, index)?;
        }
        if self.facts.is_compressed() {
            return Ok(Arc::new(FramedSource::new(source, self.facts.clone())?));
        }
        Ok(source)
    }
}

/// The error of a sidecar without the column that others have.
fn lacks(spec: &ColumnSpec) -> Error {
    let text = format!(
        "the sidecar has no column '{}' of type {}, which other shards have; make it with `pack index --columns {spec}`",
        spec.name,
        spec.kind.word()
    );
    Error::new(ErrorKind::Stale, text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tarflume_formats::{Durability, ShardWriter};

    use crate::dataset::Dataset;
    use crate::error::ErrorKind;

    use super::index_path;

    #[test]
    fn every_reader_notices_a_write_to_a_sidecar() {
        let folder = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(folder.path(), "a.tar").unwrap();
        shard.begin(b"a");
        shard.part(b"jpg", 1).unwrap();
        shard.commit(Some((8, 4))).unwrap();
        shard.finish().unwrap().publish(folder.path(), "a.tar", Durability::Cached).unwrap();
        let dataset = Dataset::open(folder.path()).unwrap().with_mapped_sidecars(0);
        let shard = dataset.shard(0);
        assert_eq!(shard.dimensions(0).unwrap(), Some((8, 4)));
        let file = std::fs::File::options().write(true).open(index_path(shard.path())).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        // A check is valid for less than this.
        std::thread::sleep(Duration::from_millis(20));
        let mut found = super::SampleRow::new();
        for error in [shard.dimensions(0).unwrap_err(), shard.look_up(0, &mut found).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        }
    }
}
