//! `Known`: the samples of the data set that gets more samples, found by the names that rows have.
//!
//! A data set has keys and no names of files. A row's name is reduced to the key that a file of this
//! name gets, or to the last component of the key, and compared with the keys. A key that was
//! shortened because it is long is not found this way.

use std::borrow::Cow;

use rayon::slice::ParallelSliceMut;
use tarflume_base::Failure;
use tarflume_base::collide::{self, exact_hash};
use tarflume_formats::index::Sample;
use tarflume_scan::Scan;
use tarflume_scan::names::rules::{Action, Rule, Verdict, distinguished};
use tarflume_scan::options::ScanOptions;
use tarflume_scan::pair::Side;
use tarflume_scan::samples::list::FoundSample;

use super::names::on::Habits;
use super::options::On;
use crate::present::{Met, Present};
use crate::sorter::{Sorted, Sorter};

/// The samples of a data set.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Their keys.
    pub present: &'a Present,
    /// The options of the scan, which give keys to names.
    pub options: &'a ScanOptions,
    /// The first side of pairs, whose folder or pattern is in paths and not in keys.
    pub side: Option<&'a Side>,
}

/// One of the passes over ranges of hashes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// Its number, from 0.
    pub(super) number: u64,
    /// The number of passes.
    pub(super) passes: u64,
}

impl Pass {
    /// Returns true if this pass is that of a hash.
    pub(super) fn has(self, hash: u64) -> bool {
        collide::pass_of(hash, self.passes) == self.number
    }
}

/// The samples of the data set that have a name.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    /// Their number, counted up to 2.
    pub(super) count: usize,
    /// The key of the first.
    pub(super) key: &'a [u8],
}

impl<'a> Known<'a> {
    /// Returns the forms of names that the data set and the found files suggest.
    pub(super) fn habits(known: Option<Known<'_>>, scan: &Scan) -> Habits {
        let mut others: Vec<Vec<u8>> = Vec::new();
        if let Some(known) = known {
            let exts = known.present.exts().flat_map(|ext| known.options.exts.sources(ext));
            others.extend(exts.flat_map(cases));
        }
        if !scan.sources.is_empty() {
            // A member of an archive may have the extension of its part in any case.
            let exts = scan.exts.iter().map(|ext| ext.source.as_str());
            let jpeg = scan.exts.iter().any(|ext| ext.source == "jpg").then_some("jpeg");
            others.extend(exts.chain(jpeg).flat_map(cases));
        }
        Habits::new(&scan.exts, others.into_iter())
    }

    /// Returns the key, or its last component, and the extension in the shard of a file with this name.
    fn reduced(&self, on: On, name: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
        let under = match self.side {
            Some(side) if on == On::Path => side.under(name),
            Some(side) if on != On::Key => Cow::Borrowed(side.of_file(name, on.is_of_files())),
            _ => Cow::Borrowed(name),
        };
        let name = &*under;
        let last = name.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        if on == On::Key || (on != On::Path && last > 0) {
            return (name.to_vec(), None);
        }
        let (folders, file) = name.split_at(last);
        let is_bare = self.side.is_some_and(Side::has_pattern);
        let has_extension = on.is_of_files() && !is_bare;
        let dot = if has_extension { self.options.stem_of(file) } else { file.len() };
        let mut key = Vec::with_capacity(name.len());
        for folder in folders.split_inclusive(|&b| b == b'/') {
            key.extend(self.component(folder.strip_suffix(b"/").unwrap_or(folder), false));
            key.push(b'/');
        }
        key.extend(self.component(&file[..dot], true));
        let ext = file.get(dot + 1..).map(|ext| self.extension(ext));
        (key, if is_bare { Some(Vec::new()) } else { ext })
    }

    fn component(&self, name: &[u8], dots: bool) -> Vec<u8> {
        match self.options.names.judge(name, dots) {
            Verdict::Becomes(new) => new,
            _ => name.to_vec(),
        }
    }

    fn extension(&self, ext: &[u8]) -> Vec<u8> {
        let shard = self.options.exts.apply(ext);
        match self.options.names.judge_ext(&shard) {
            Verdict::Becomes(new) => new,
            _ => shard,
        }
    }

    /// Returns the number by which rows, found samples and those of the data set are sorted.
    pub(super) fn hash(&self, on: On, name: &[u8]) -> u64 {
        match on {
            On::Key => exact_hash(name),
            on => exact_hash(&self.reduced(on, name).0),
        }
    }

    /// Sorts records by [`Known::hash`]; `name` returns the name of one.
    ///
    /// # Errors
    /// Returns an error for a failure of the machine.
    pub(super) fn sorted(
        &self,
        mut rows: Sorted,
        on: On,
        name: impl Fn(&[u8]) -> &[u8],
    ) -> Result<Sorted, Failure> {
        if on == On::Key {
            return Ok(rows);
        }
        let mut sorter = Sorter::new();
        while let Some((_, record)) = rows.next()? {
            sorter.push(self.hash(on, name(record)), record)?;
        }
        drop(rows);
        sorter.finish()
    }

    /// Collects hash and ordinal of the data set's samples in a pass, sorted.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn collect(
        &self,
        on: On,
        pass: Pass,
        hashes: &mut Vec<(u64, u64)>,
    ) -> Result<(), Failure> {
        hashes.clear();
        let mut ordinal = 0;
        self.present.each_key(|key| {
            let hash = exact_hash(part(on, key));
            if pass.has(hash) {
                hashes.push((hash, ordinal));
            }
            ordinal += 1;
        })?;
        hashes.par_sort_unstable();
        Ok(())
    }

    /// Returns the samples among `same`, hashes with ordinals, that have this name. If the scan has
    /// none, an earlier build may have renamed the sample.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn named(
        &self,
        on: On,
        name: &[u8],
        same: &[(u64, u64)],
        is_gone: bool,
    ) -> Result<Named<'a>, Failure> {
        let mut named = Named::default();
        let may_be_renamed = is_gone && self.may_be_renamed(on);
        if same.is_empty() && !may_be_renamed {
            return Ok(named);
        }
        let (wanted, ext) = self.reduced(on, name);
        for &(_, ordinal) in same {
            let Some(sample) = self.present.sample(ordinal)? else { continue };
            if part(on, sample.key) != wanted || !self.has_part(on, &sample, ext.as_deref())? {
                continue;
            }
            named.count += 1;
            if named.count > 1 {
                return Ok(named);
            }
            named.key = sample.key;
        }
        if named.count == 0
            && may_be_renamed
            && let Met::Same(ordinal) =
                self.present.met(&distinguished(&wanted), &self.options.names)?
            && let Some(sample) = self.present.sample(ordinal)?
        {
            named = Named { count: 1, key: sample.key };
        }
        Ok(named)
    }

    /// Returns true if keys were renamed that differed from others only in case.
    fn may_be_renamed(&self, on: On) -> bool {
        let replaced = self.options.names.action(Rule::Case) == Action::Replace;
        replaced && matches!(on, On::Key | On::Path)
    }

    /// Returns true if a sample has the file that a name with this extension names.
    fn has_part(&self, on: On, sample: &Sample<'_>, ext: Option<&[u8]>) -> Result<bool, Failure> {
        Ok(match ext {
            _ if !on.is_of_files() => true,
            None => false,
            // The part has another extension than the file.
            Some(_) if self.options.by_content || self.side.is_some() => true,
            Some(ext) => sample.part(ext)?.is_some(),
        })
    }

    /// Returns true if the data set has this sample.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn has(&self, sample: &FoundSample) -> Result<bool, Failure> {
        let met = self.present.met(&sample.key, &self.options.names)?;
        Ok(matches!(met, Met::Same(_)))
    }
}

/// Returns an extension as it is and in upper case.
fn cases(ext: &str) -> [Vec<u8>; 2] {
    [ext.as_bytes().to_vec(), ext.to_ascii_uppercase().into_bytes()]
}

/// Returns the part of a key that names of this kind have.
fn part(on: On, key: &[u8]) -> &[u8] {
    match on {
        On::Key | On::Path => key,
        On::Stem | On::Basename => {
            &key[key.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1)..]
        }
    }
}
