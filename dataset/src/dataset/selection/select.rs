//! Selects samples by a rule, or to leave out by a list of keys, from sidecars. Reads of a tar only what must be compared.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;
use tarflume_formats::shown::Quoted;
use tarflume_formats::{KeyList, index};
use tarflume_types::{Error, Result};

use crate::dataset::Dataset;
use crate::dataset::selection::exclude::Exclude;
use crate::dataset::shard::Shard;
use crate::dataset::shard::proof_pass::{ProofNeeds, ProofPass};

/// The facts about a sample that its sidecar contains.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let dataset = Dataset::open(shards)?;
/// let sevens = dataset.filter(|facts| facts.key().ends_with(b"7"))?; // the ordinals of these samples
/// let loader = tarflume::Loader::builder(shards).select(sevens).bytes("txt").build()?;
/// assert_eq!(loader.steps()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct SampleFacts<'a> {
    ordinal: u64,
    sample: index::Sample<'a>,
    proofs: &'a FactProofs,
}

/// Compares the pictures whose sizes a rule asks for, if the tar may have been changed after its sidecar was made.
#[derive(Debug)]
struct FactProofs {
    pass: RefCell<ProofPass>,
    failed: RefCell<Option<Error>>,
}

impl FactProofs {
    fn new(shard: &Shard) -> FactProofs {
        let needs = ProofNeeds { pictures: true, ..ProofNeeds::default() };
        FactProofs { pass: RefCell::new(ProofPass::new(shard, needs)), failed: RefCell::default() }
    }

    /// True if the size of the picture in row `row` is that of the tar. Otherwise the error is kept.
    fn has_size(&self, row: u64) -> bool {
        let proved = self.pass.borrow_mut().prove(row, true);
        match proved {
            Ok(()) => true,
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                false
            }
        }
    }
}

impl fmt::Debug for SampleFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SampleFacts");
        shown.field("ordinal", &self.ordinal).field("key", &Quoted(self.sample.key)).finish()
    }
}

impl<'a> SampleFacts<'a> {
    /// The ordinal in the data set.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// The key.
    pub fn key(&self) -> &'a [u8] {
        self.sample.key
    }

    /// Width and height of the first image in pixels, if the sidecar has them. If the tar may have been changed after its
    /// sidecar was made, the images of the sample are read and compared first; a difference is the error of
    /// [`Dataset::filter`].
    pub fn dimensions(&self) -> Option<(u32, u32)> {
        let size = self.sample.dimensions?;
        self.proofs.has_size(self.sample.row).then_some(size)
    }

    /// Extension and length in bytes of each part.
    pub fn parts(&self) -> impl Iterator<Item = (&'a [u8], u64)> + use<'a> {
        self.sample.parts().flatten().map(|part| (part.ext, part.length))
    }

    /// Bytes of the part with this extension.
    pub fn length(&self, ext: &str) -> Option<u64> {
        let mut parts = self.parts();
        parts.find(|(have, _)| have.eq_ignore_ascii_case(ext.as_bytes())).map(|part| part.1)
    }
}

/// Result of applying an exclude list to a data set.
///
/// ```
/// use tarflume::{Dataset, Exclude};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let list = Exclude::keys(["photo/001"]);
/// let excluded = Dataset::open(shards)?.exclude(&list)?;
/// assert_eq!((excluded.ordinals, excluded.first_absent), (vec![1], None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// Ordinals to leave out, ascending.
    pub ordinals: Vec<u64>,
    /// Number of lines whose sample is not in the data set.
    pub absent: u64,
    /// The key of the first such line.
    pub first_absent: Option<String>,
}

impl Dataset {
    /// Returns the ordinals, ascending, of the samples for which `keep` returns true, as
    /// `LoaderBuilder::select` takes them. Reads every sidecar, about 100 ns for
    /// each sample, and of tars what [`SampleFacts::dimensions`] must compare.
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be opened or is damaged, or does not describe a picture whose size was asked
    /// for.
    pub fn filter(&self, mut keep: impl FnMut(&SampleFacts<'_>) -> bool) -> Result<Vec<u64>> {
        let mut kept = Vec::new();
        self.each(|facts| {
            // A damaged part list must not let `keep` decide from some of the parts.
            facts.sample.parts().try_for_each(|part| part.map(|_| ()))?;
            if keep(facts) {
                kept.push(facts.ordinal);
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// Returns the ordinals of all samples in `list`. A line without a shard excludes every sample that
    /// has its key.
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be opened or is damaged.
    pub fn exclude(&self, list: &Exclude) -> Result<Excluded> {
        let list = list.list();
        let mut found = vec![false; list.lines().len()];
        let mut ordinals = Vec::new();
        // Comparing every key takes about 50 ns a key, a search in one shard about 2 us: a ratio of 40.
        let searches = (list.lines().len() as u64).saturating_mul(self.shards().len() as u64);
        if searches.saturating_mul(40) <= self.len() {
            self.search_all(list, &mut found, &mut ordinals)?;
        } else {
            self.filter_all(list, &mut found, &mut ordinals)?;
        }
        ordinals.sort_unstable();
        ordinals.dedup();
        let mut absent = list.lines().iter().zip(&found).filter(|(_, found)| !**found);
        let first_absent = absent.next().map(|(line, _)| tarflume_formats::name::shown(&line.key));
        let absent = absent.count() as u64 + u64::from(first_absent.is_some());
        Ok(Excluded { ordinals, absent, first_absent })
    }

    fn search_all(
        &self,
        list: &KeyList,
        found: &mut [bool],
        ordinals: &mut Vec<u64>,
    ) -> Result<()> {
        for (number, shard) in self.shards().iter().enumerate() {
            for (line, found) in list.lines().iter().zip(&mut *found) {
                if !line.may_be_in(shard.path()) {
                    continue;
                }
                let index = shard.index()?;
                let mut place = index.first_by_key(&line.key)?;
                while place < index.samples() {
                    let row = index.by_key(place)?;
                    let same = index.key(row)? == &*line.key;
                    index.intact()?;
                    if !same {
                        break;
                    }
                    *found = true;
                    ordinals.push(self.starts()[number] + row);
                    place += 1;
                }
            }
            shard.forget();
        }
        Ok(())
    }

    fn filter_all(
        &self,
        list: &KeyList,
        found: &mut [bool],
        ordinals: &mut Vec<u64>,
    ) -> Result<()> {
        let lines = list.by_key();
        self.each(|facts| {
            let Some(numbers) = lines.get(facts.key()) else { return Ok(()) };
            let Some((shard, _)) = self.place(facts.ordinal) else { return Ok(()) };
            for &number in numbers {
                if list.lines()[number].may_be_in(self.shard(shard).path()) {
                    found[number] = true;
                    ordinals.push(facts.ordinal);
                }
            }
            Ok(())
        })
    }

    /// Calls `visit` for every sample.
    pub(in crate::dataset) fn each(
        &self,
        mut visit: impl FnMut(&SampleFacts<'_>) -> Result<()>,
    ) -> Result<()> {
        for (shard, start) in self.shards().iter().zip(self.starts()) {
            let index = shard.index()?;
            let proofs = FactProofs::new(shard);
            for sample in index.iter() {
                let sample = sample.map_err(Error::from)?;
                let ordinal = start + sample.row;
                visit(&SampleFacts { ordinal, sample, proofs: &proofs })?;
                if let Some(error) = proofs.failed.take() {
                    return Err(error);
                }
            }
            index.intact()?; // `visit` read mapped bytes, which are zeros if the file was truncated
            shard.forget();
        }
        Ok(())
    }
}
