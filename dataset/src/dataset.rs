//! `Dataset`: shards opened together, and the shard and row of each sample.
//!
//! With a manifest, opening reads only the manifest; each sidecar is opened on first use. A million
//! samples open in a millisecond, and a rank that has only its own shards on disk can open the data
//! set. Without a manifest, the header of every sidecar is read for its count. Does not decide the
//! order of samples.

mod fingerprint;
pub(crate) mod get;
mod lone_tar;
pub(crate) mod opening;
pub(crate) mod sample;
pub(crate) mod selection;
pub(crate) mod shard;
pub(crate) mod values;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use tarflume_formats::index::ColumnSpec;
use tarflume_formats::publish::folder_of;
use tarflume_formats::{ClassTable, ObjectTable};
use tarflume_formats::{IgnorePoison, KeySearch, name, read_manifest};
use tarflume_order::Fingerprint;
use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::opening::access::FileAccess;
use crate::dataset::opening::pattern::{ShardPath, Shards};
use crate::dataset::opening::sidecars::to_be_read;
use crate::dataset::shard::{Shard, ShardFacts};
use crate::remote::RemoteDataset;
#[cfg(feature = "remote")]
use crate::remote::Storage;
use crate::source::cache::{CacheFile, SourceCache};
use crate::source::fetch_stats::FetchStats;
use crate::source::open::{Open, SourceKind};

/// A data set: samples by ordinal, from one shard or thousands. A clone is a pointer. All threads may
/// use it concurrently. By default, tars and small sidecars are mapped, so the processes of one machine
/// share their memory; no part of sidecars of more than 256 MiB together stays in memory.
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
pub struct Dataset(Arc<DatasetFields>);

#[derive(Debug)]
struct DatasetFields {
    shards: Vec<Shard>,
    counts: Vec<u64>,
    /// The first ordinal of each shard, then the total number of samples.
    starts: Vec<u64>,
    about: DatasetFacts,
    access: FileAccess,
    fingerprint: OnceLock<Fingerprint>,
    search: KeySearch,
    numbers: KnownNumbers,
}

/// What manifests state about the samples.
#[derive(Debug, Clone, Default)]
struct DatasetFacts {
    /// Number of parts by extension, if every shard is listed in a manifest.
    extensions: Option<BTreeMap<String, u64>>,
    /// The classes, if all manifests have the same.
    classes: Option<Arc<ClassTable>>,
    /// What the numbers of objects mean, if all manifests have the same.
    objects: Option<Arc<ObjectTable>>,
    /// The typed columns that all sidecars have.
    columns: Vec<ColumnSpec>,
    /// Number of shards after each build, if there is one manifest.
    builds: Vec<usize>,
}
/// Numbers of all samples that were read before, by part; shared by data sets that open files in other ways.
type KnownNumbers = Arc<Mutex<HashMap<String, Arc<[i64]>>>>;

impl Dataset {
    /// Opens a data set: a folder (its `dataset.json`, or else all its tars by name), a manifest, a
    /// tar, a glob (`shards/*.tar`), braces (`shards/{000..765}.tar`), several of these joined by `::`,
    /// or a list. A name that exists is taken literally. Samples are numbered in the order in which
    /// the shards are named.
    ///
    /// With the feature `remote`, also the URL of a folder with `dataset.json` (`s3://`, `gs://`, `az://`,
    /// `https://`, `hf://datasets/OWNER/NAME@REVISION/PATH`), of some of its shards (braces in the last
    /// segment), or a list of URLs (a file that ends in `.urls`, for example of presigned ones).
    ///
    /// # Errors
    /// Returns an error if a name matches nothing or a named shard is missing, if a manifest is damaged,
    /// or if a tar without a manifest has no sidecar or a stale or damaged one.
    pub fn open(shards: impl Into<Shards>) -> Result<Dataset> {
        Dataset::open_by(shards.into(), &open_url)
    }

    /// As [`Dataset::open`]; `storage` says how stores are reached.
    ///
    /// ```no_run
    /// use tarflume::{Dataset, Storage};
    ///
    /// let storage = Storage::new().option("profile", "lab")?;
    /// let dataset = Dataset::open_with("s3://bucket/photos", &storage)?;
    /// # Ok::<(), tarflume::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Dataset::open`], and the errors of the store.
    #[cfg(feature = "remote")]
    pub fn open_with(shards: impl Into<Shards>, storage: &Storage) -> Result<Dataset> {
        Dataset::open_by(shards.into(), &|url| RemoteDataset::open(url, storage))
    }

    fn open_by(
        shards: Shards,
        open_url: &dyn Fn(&str) -> Result<RemoteDataset>,
    ) -> Result<Dataset> {
        let mut facts = Vec::new();
        let mut access = FileAccess::default();
        let mut about: Option<DatasetFacts> = None;
        for listed in shards.resolve()? {
            let found = match listed {
                ShardPath::Manifest(path) => {
                    let manifest = read_manifest(&path)?;
                    let folder: Arc<Path> = folder_of(&path).into();
                    let found = DatasetFacts::of(&manifest);
                    let shards = manifest.shards.into_iter();
                    facts.extend(shards.map(|entry| Arc::new(ShardFacts::listed(&folder, entry))));
                    found
                }
                ShardPath::Tar(path) => {
                    let shard = ShardFacts::alone(path)?;
                    let columns = shard.typed_columns()?;
                    facts.push(Arc::new(shard));
                    DatasetFacts { columns, ..DatasetFacts::default() }
                }
                ShardPath::Url(url) => {
                    let remote = open_url(&url)?;
                    let found = DatasetFacts::of(&remote.manifest);
                    add_remote(remote, &mut facts, &mut access)?;
                    found
                }
                ShardPath::UrlPart(folder, names) => {
                    let mut remote = open_url(&folder)?;
                    remote.keep(&names)?;
                    let columns = DatasetFacts::of(&remote.manifest).columns;
                    add_remote(remote, &mut facts, &mut access)?;
                    DatasetFacts { columns, ..DatasetFacts::default() } // the rest is about all shards
                }
            };
            about = Some(about.map_or_else(|| found.clone(), |about| about.and(&found)));
        }
        Dataset::of(facts, about.unwrap_or_default(), access)
    }

    /// Concatenates data sets. The result opens files as the first data set does.
    ///
    /// # Errors
    /// Returns an error if the list is empty.
    pub fn concat(datasets: &[Dataset]) -> Result<Dataset> {
        let first =
            datasets.first().ok_or_else(|| Error::usage("the list of data sets is empty"))?;
        let others = datasets[1..].iter();
        let about = others.fold(first.0.about.clone(), |about, other| about.and(&other.0.about));
        let shards = datasets.iter().flat_map(|dataset| dataset.shards());
        let facts = shards.map(|shard| shard.facts().clone()).collect();
        let others = datasets[1..].iter();
        let access = first.0.access.clone();
        let access = others.fold(access, |access, other| access.and(&other.0.access));
        Dataset::of(facts, about, access)
    }

    /// A data set that has no shards, for a loader whose samples are in no shard.
    #[doc(hidden)]
    pub fn without_shards() -> Dataset {
        let about = DatasetFacts::default();
        let access = FileAccess::default();
        Dataset::counted(Vec::new(), vec![0], about, access, KnownNumbers::default())
    }

    fn of(facts: Vec<Arc<ShardFacts>>, about: DatasetFacts, access: FileAccess) -> Result<Dataset> {
        let mut starts = vec![0u64];
        for shard in &facts {
            shard.check_compression()?;
            let start = starts.last().and_then(|start| start.checked_add(shard.samples()));
            starts.push(start.ok_or_else(|| {
                Error::new(ErrorKind::Limit, "the shards together have 2^64 samples or more")
            })?);
        }
        Ok(Dataset::counted(facts, starts, about, access, KnownNumbers::default()))
    }

    fn counted(
        facts: Vec<Arc<ShardFacts>>,
        starts: Vec<u64>,
        about: DatasetFacts,
        access: FileAccess,
        numbers: KnownNumbers,
    ) -> Dataset {
        let counts = facts.iter().map(|shard| shard.samples()).collect();
        let files: Vec<CacheFile> = facts.iter().map(|shard| shard.tar_file()).collect();
        let sources = Arc::new(SourceCache::new(access.opener(), files, access.cap));
        let sidecars = to_be_read(&facts, access.mapped_sidecars).map(Arc::new);
        let shards = facts
            .into_iter()
            .enumerate()
            .map(|(number, facts)| Shard::new(facts, sources.clone(), sidecars.clone(), number))
            .collect();
        let fingerprint = OnceLock::new();
        let search = KeySearch::default();
        Dataset(Arc::new(DatasetFields {
            shards,
            counts,
            starts,
            about,
            access,
            fingerprint,
            search,
            numbers,
        }))
    }

    fn with_access(&self, access: FileAccess) -> Dataset {
        let facts = self.shards().iter().map(|shard| shard.facts().clone()).collect();
        self.with_facts(facts, access)
    }

    fn with_facts(&self, facts: Vec<Arc<ShardFacts>>, access: FileAccess) -> Dataset {
        let DatasetFields { starts, about, numbers, .. } = &*self.0;
        Dataset::counted(facts, starts.clone(), about.clone(), access, numbers.clone())
    }

    /// The numbers of a part that were read before.
    pub(crate) fn known_numbers(&self, part: &str) -> Option<Arc<[i64]>> {
        self.0.numbers.lock().ignore_poison().get(part).cloned()
    }

    pub(crate) fn keep_numbers(&self, part: &str, numbers: &Arc<[i64]>) {
        self.0.numbers.lock().ignore_poison().insert(part.to_string(), numbers.clone());
    }

    /// The same data set, whose tars on local disks are opened as `kind`, but not those that an opener of the program
    /// opens. Open sidecars stay open.
    #[must_use]
    pub fn with_source(&self, kind: SourceKind) -> Dataset {
        self.with_access(FileAccess { files: kind.opener(), ..self.0.access.clone() })
    }

    /// The same data set, whose tars are opened by `opener`, those in stores, too. The tars need not exist as files:
    /// `opener` tells their lengths. [`Dataset::from_bytes`] needs no files at all.
    #[must_use]
    pub fn with_opener(&self, opener: Arc<dyn Open>) -> Dataset {
        let facts: Vec<Arc<ShardFacts>> =
            self.shards().iter().map(|shard| shard.facts().opened_by(&opener)).collect();
        let access = self.0.access.by(&opener, &facts);
        self.with_facts(facts, access)
    }

    /// True if bytes of shards come over a network.
    pub fn is_remote(&self) -> bool {
        self.0.access.opener().is_remote()
    }

    /// How many bytes may be advised before they are read; `None` if there is no limit.
    /// Mean bytes of a sample in the tars; `None` if no manifest tells.
    #[doc(hidden)]
    pub fn mean_sample_bytes(&self) -> Option<u64> {
        let sum =
            self.shards().iter().map(|shard| shard.facts().listed_bytes()).sum::<Option<u64>>()?;
        sum.checked_div(self.len())
    }

    /// Bytes that the source keeps ahead of its readers; `None` for files that the kernel reads ahead.
    #[doc(hidden)]
    pub fn readahead(&self) -> Option<u64> {
        self.0.access.opener().readahead()
    }

    /// The largest hole in a JPEG that is read; `None` if the loader decides.
    #[doc(hidden)]
    pub fn hole(&self) -> Option<u64> {
        self.0.access.opener().hole()
    }

    /// Counters of the requests to stores, since the data set was opened; `None` if it is in none.
    pub fn fetch_stats(&self) -> Option<FetchStats> {
        self.0.access.opener().fetch_stats()
    }

    /// Tells the openers that what was advised before will not be read.
    #[doc(hidden)]
    pub fn begin_epoch(&self) {
        self.0.access.opener().begin_epoch();
    }

    /// The same data set with at most `tars` open tars, not counting those in use.
    #[must_use]
    pub fn with_open_tars(&self, tars: usize) -> Dataset {
        self.with_access(FileAccess { cap: tars, ..self.0.access.clone() })
    }

    /// The same data set, whose sidecars are mapped if their total size is at most `bytes`, and read
    /// row by row otherwise. The default is 256 MiB.
    #[must_use]
    pub fn with_mapped_sidecars(&self, bytes: u64) -> Dataset {
        self.with_access(FileAccess { mapped_sidecars: bytes, ..self.0.access.clone() })
    }

    /// Number of samples.
    #[inline]
    pub fn len(&self) -> u64 {
        self.0.starts.last().copied().unwrap_or(0)
    }

    /// True if the data set has no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shards, in the order of their ordinals.
    #[inline]
    pub fn shards(&self) -> &[Shard] {
        &self.0.shards
    }

    /// Returns shard `number`.
    ///
    /// # Panics
    /// Panics if the shard does not exist.
    #[inline]
    pub fn shard(&self, number: usize) -> &Shard {
        &self.0.shards[number]
    }

    /// Number of samples of each shard.
    #[inline]
    pub fn counts(&self) -> &[u64] {
        &self.0.counts
    }

    /// The first ordinal of each shard, then the total number of samples.
    #[inline]
    pub fn starts(&self) -> &[u64] {
        &self.0.starts
    }

    /// Shard and row of the sample with this ordinal; `None` if the ordinal is too large.
    #[inline]
    pub fn place(&self, ordinal: u64) -> Option<(usize, u64)> {
        if ordinal >= self.len() {
            return None;
        }
        let shard = self.0.starts.partition_point(|&start| start <= ordinal) - 1;
        Some((shard, ordinal - self.0.starts[shard]))
    }

    /// The ordinal of row `row` of shard `shard`; `None` if it does not exist.
    pub fn ordinal(&self, shard: usize, row: u64) -> Option<u64> {
        let count = self.0.counts.get(shard)?;
        (row < *count).then(|| self.0.starts[shard] + row)
    }

    /// The identity of the data set's content; see [`Fingerprint`].
    ///
    /// # Errors
    /// Returns an error if a sidecar that must be read cannot be read.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        if let Some(known) = self.0.fingerprint.get() {
            return Ok(*known);
        }
        let computed = fingerprint::of(self.shards().iter().map(|shard| &**shard.facts()))?;
        Ok(*self.0.fingerprint.get_or_init(|| computed))
    }

    /// Number of parts by extension, in all shards: from the manifest, or else from all sidecars (two
    /// bytes are read for each part).
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be opened or is damaged.
    pub fn extensions(&self) -> Result<BTreeMap<String, u64>> {
        if let Some(known) = &self.0.about.extensions {
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

    /// Shard and row of the first sample with this key. A binary search over the shards if keys ascend
    /// from shard to shard, otherwise a binary search in each shard.
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be opened or is damaged.
    pub fn find(&self, key: &[u8]) -> Result<Option<(usize, u64)>> {
        let searched = RefCell::new(Vec::new());
        let found = self.0.search.find(key, self.shards().len(), |number| {
            searched.borrow_mut().push(number);
            self.shard(number).index()
        });
        searched.take().into_iter().for_each(|number| self.shard(number).forget());
        found
    }
}

/// Adds the shards of a data set in a store, and what opens them.
fn add_remote(
    remote: RemoteDataset,
    facts: &mut Vec<Arc<ShardFacts>>,
    access: &mut FileAccess,
) -> Result<()> {
    let RemoteDataset { manifest, url, sidecars, opener, .. } = remote;
    for entry in manifest.shards {
        let shard = ShardFacts::remote(Path::new(&url), entry, sidecars.clone())?;
        facts.push(Arc::new(shard));
    }
    access.remotes.push((url, opener));
    Ok(())
}

/// Opens a data set in a store, with the options of the environment.
fn open_url(url: &str) -> Result<RemoteDataset> {
    #[cfg(feature = "remote")]
    return RemoteDataset::open(url, &Storage::new());
    #[cfg(not(feature = "remote"))]
    Err(crate::remote::name::not_built(url))
}
