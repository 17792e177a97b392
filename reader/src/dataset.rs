//! `Dataset`: shards opened together, and which sample stands where.
//!
//! With a manifest, opening reads that one file: sidecars are opened when they are first used, so a
//! million samples open in a millisecond, and a rank that has only its own shards on its disk can
//! open the data set, too. Without one, the head of every sidecar is read for its count. Which sample
//! comes when is not decided here.

pub(crate) mod braces;
pub(crate) mod check;
pub(crate) mod exclude;
mod fingerprint;
pub(crate) mod get;
pub(crate) mod pattern;
pub(crate) mod sample;
pub(crate) mod select;
pub(crate) mod shard;
pub(crate) mod sidecars;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tarflume_formats::dataset::{KeySearch, read_manifest};
use tarflume_formats::name;
use tarflume_formats::publish::folder_of;

use crate::dataset::pattern::{Listed, Shards};
use crate::dataset::shard::{Facts, Shard};
use crate::dataset::sidecars::{MAPPED_SIDECARS, to_be_read};
use crate::error::{Error, ErrorKind, Result};
use crate::order::Fingerprint;
use crate::source::open::{Open, SourceKind};
use crate::source::shelf::Shelf;

/// How a data set opens its tars unless something else is asked for: as maps, because
/// [`Dataset::get`] then lends views and copies nothing. A loader sets [`SourceKind::File`] instead, see
/// `LoaderBuilder::source`. Measured (`examples/sources.rs`): a map is the faster way where pages are in
/// memory, and as fast as `pread` where they come from a disk, if what will be wanted is advised ahead;
/// without that, page faults at random places are far slower.
pub(crate) const DEFAULT_SOURCE: SourceKind = SourceKind::Mapped;

/// A data set: samples by ordinal, from one shard or thousands. A clone is a pointer; all threads
/// may use it at once. Unless asked for otherwise, tars and small sidecars are mapped, so processes of one machine share their
/// memory; of large sidecars ([`Dataset::with_mapped_sidecars`]) nothing stays in memory.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let dataset = Dataset::open(shards)?;
/// assert_eq!((dataset.len(), dataset.shards().len()), (16, 2));
/// let sample = dataset.get(3)?;
/// assert_eq!(sample.part("txt").unwrap().as_slice(), b"photo 3");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Dataset(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shards: Vec<Shard>,
    counts: Vec<u64>,
    /// The first ordinal of each shard, and the number of samples.
    starts: Vec<u64>,
    /// Parts by extension, if every shard was listed in a manifest.
    extensions: Option<BTreeMap<String, u64>>,
    ways: Ways,
    fingerprint: OnceLock<Fingerprint>,
    search: KeySearch,
}

/// How its files are opened.
#[derive(Debug, Clone)]
struct Ways {
    opener: Arc<dyn Open>,
    /// Tars that may stand open.
    cap: usize,
    /// Bytes that its sidecars may have together if they are mapped.
    mapped_sidecars: u64,
}

impl Default for Ways {
    fn default() -> Ways {
        let (opener, cap) = (Arc::new(DEFAULT_SOURCE), Shelf::default_cap());
        Ways { opener, cap, mapped_sidecars: MAPPED_SIDECARS }
    }
}

impl Dataset {
    /// Opens a data set: a folder (its `dataset.json`, or else all its tars by name), a manifest, a
    /// tar, a glob (`shards/*.tar`), braces (`shards/{000..765}.tar`), several of these with `::`
    /// between them, or a list. A name that exists is taken literally. Samples are numbered in the
    /// order in which the shards are named.
    ///
    /// # Errors
    /// The names stand for nothing, or for a shard that is not there; a manifest is damaged; a tar
    /// without manifest has no sidecar, or a stale or damaged one.
    pub fn open(shards: impl Into<Shards>) -> Result<Dataset> {
        let mut facts = Vec::new();
        let mut extensions = Some(BTreeMap::new());
        for listed in shards.into().resolve()? {
            match listed {
                Listed::Manifest(path) => {
                    let manifest = read_manifest(&path)?;
                    let folder: Arc<Path> = folder_of(&path).into();
                    add(&mut extensions, &manifest.extensions);
                    let shards = manifest.shards.into_iter();
                    facts.extend(shards.map(|entry| Arc::new(Facts::listed(&folder, entry))));
                }
                Listed::Tar(path) => {
                    facts.push(Arc::new(Facts::alone(path)?));
                    extensions = None;
                }
            }
        }
        Dataset::of(facts, extensions, Ways::default())
    }

    /// The samples of several data sets, one after the other. They are read as the first is.
    ///
    /// # Errors
    /// The list is empty.
    pub fn concat(datasets: &[Dataset]) -> Result<Dataset> {
        let first = datasets.first().ok_or_else(|| Error::usage("there is no data set to join"))?;
        let mut extensions = Some(BTreeMap::new());
        for dataset in datasets {
            match &dataset.0.extensions {
                Some(counts) => add(&mut extensions, counts),
                None => extensions = None,
            }
        }
        let shards = datasets.iter().flat_map(|dataset| dataset.shards());
        let facts = shards.map(|shard| shard.facts().clone()).collect();
        Dataset::of(facts, extensions, first.0.ways.clone())
    }

    fn of(
        facts: Vec<Arc<Facts>>,
        extensions: Option<BTreeMap<String, u64>>,
        ways: Ways,
    ) -> Result<Dataset> {
        let mut starts = vec![0u64];
        for shard in &facts {
            let start = starts.last().and_then(|start| start.checked_add(shard.samples()));
            starts.push(start.ok_or_else(|| {
                Error::new(ErrorKind::Limit, "the shards together have 2^64 samples or more")
            })?);
        }
        Ok(Dataset::counted(facts, starts, extensions, ways))
    }

    fn counted(
        facts: Vec<Arc<Facts>>,
        starts: Vec<u64>,
        extensions: Option<BTreeMap<String, u64>>,
        ways: Ways,
    ) -> Dataset {
        let counts = facts.iter().map(|shard| shard.samples()).collect();
        let paths: Vec<PathBuf> = facts.iter().map(|shard| shard.path().to_path_buf()).collect();
        let shelf = Arc::new(Shelf::new(ways.opener.clone(), paths, ways.cap));
        let shelves = (shelf, to_be_read(&facts, ways.mapped_sidecars).map(Arc::new));
        let shard = |(number, facts)| Shard::new(facts, shelves.clone(), number);
        let shards = facts.into_iter().enumerate().map(shard).collect();
        let (fingerprint, search) = (OnceLock::new(), KeySearch::default());
        let inner = Inner { shards, counts, starts, extensions, ways, fingerprint, search };
        Dataset(Arc::new(inner))
    }

    fn again(&self, ways: Ways) -> Dataset {
        let facts = self.shards().iter().map(|shard| shard.facts().clone()).collect();
        let Inner { starts, extensions, .. } = &*self.0;
        Dataset::counted(facts, starts.clone(), extensions.clone(), ways)
    }

    /// The same data set, its tars read in another way; sidecars that are open stay so.
    #[must_use]
    pub fn with_source(&self, kind: SourceKind) -> Dataset {
        self.with_opener(Arc::new(kind))
    }

    /// The same data set, its tars opened by `opener`.
    #[must_use]
    pub fn with_opener(&self, opener: Arc<dyn Open>) -> Dataset {
        self.again(Ways { opener, ..self.0.ways.clone() })
    }

    /// The same data set, of which at most `tars` tars stand open at once (those in use come on top).
    #[must_use]
    pub fn with_open_tars(&self, tars: usize) -> Dataset {
        self.again(Ways { cap: tars, ..self.0.ways.clone() })
    }

    /// The same data set, whose sidecars are mapped if they have at most so many bytes together, and
    /// otherwise read row by row. The default is 256 MiB.
    #[must_use]
    pub fn with_mapped_sidecars(&self, bytes: u64) -> Dataset {
        self.again(Ways { mapped_sidecars: bytes, ..self.0.ways.clone() })
    }

    /// Samples.
    pub fn len(&self) -> u64 {
        self.0.starts.last().copied().unwrap_or(0)
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shards, in the order of ordinals.
    pub fn shards(&self) -> &[Shard] {
        &self.0.shards
    }

    /// Shard `number`.
    ///
    /// # Panics
    /// There is no such shard.
    pub fn shard(&self, number: usize) -> &Shard {
        &self.0.shards[number]
    }

    /// Samples of each shard.
    pub fn counts(&self) -> &[u64] {
        &self.0.counts
    }

    /// The first ordinal of each shard, and behind them the number of samples.
    pub fn starts(&self) -> &[u64] {
        &self.0.starts
    }

    /// Shard and row of the sample with this ordinal; `None` past the end.
    pub fn place(&self, ordinal: u64) -> Option<(usize, u64)> {
        if ordinal >= self.len() {
            return None;
        }
        let shard = self.0.starts.partition_point(|&start| start <= ordinal) - 1;
        Some((shard, ordinal - self.0.starts[shard]))
    }

    /// The ordinal of the sample in this row of this shard.
    pub fn ordinal(&self, shard: usize, row: u64) -> Option<u64> {
        let count = self.0.counts.get(shard)?;
        (row < *count).then(|| self.0.starts[shard] + row)
    }

    /// Names the data set; see [`Fingerprint`].
    ///
    /// # Errors
    /// A sidecar that has to be read for it can't be.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        if let Some(known) = self.0.fingerprint.get() {
            return Ok(*known);
        }
        let made = fingerprint::of(self.shards().iter().map(|shard| &**shard.facts()))?;
        Ok(*self.0.fingerprint.get_or_init(|| made))
    }

    /// Parts by extension, in all shards: from the manifest, or else from all sidecars (two bytes a
    /// part are read then).
    ///
    /// # Errors
    /// A sidecar that can't be opened, or is damaged.
    pub fn extensions(&self) -> Result<BTreeMap<String, u64>> {
        if let Some(known) = &self.0.extensions {
            return Ok(known.clone());
        }
        let mut sum = BTreeMap::new();
        for shard in self.shards() {
            for (ext, count) in shard.index()?.ext_counts()? {
                *sum.entry(name::shown(&ext)).or_insert(0) += count;
            }
            shard.forget();
        }
        Ok(sum)
    }

    /// Shard and row of the first sample with this key: a binary search over the shards if keys rise
    /// from shard to shard, and in each of them if not.
    ///
    /// # Errors
    /// A sidecar that can't be opened, or is damaged.
    pub fn find(&self, key: &[u8]) -> Result<Option<(usize, u64)>> {
        let asked = RefCell::new(Vec::new());
        let found = self.0.search.find(key, self.shards().len(), |number| {
            asked.borrow_mut().push(number);
            self.shard(number).index()
        });
        asked.take().into_iter().for_each(|number| self.shard(number).forget());
        found
    }
}

/// Adds counts, as long as they are known.
fn add(sum: &mut Option<BTreeMap<String, u64>>, counts: &BTreeMap<String, u64>) {
    for (ext, count) in counts {
        if let Some(sum) = sum {
            let entry = sum.entry(ext.clone()).or_insert(0);
            *entry = entry.saturating_add(*count);
        }
    }
}
