//! `Samples`: the samples that lists can name, and `Index`, which finds them by name.

use std::collections::{HashMap, HashSet};

use rayon::slice::ParallelSliceMut;
use tarflume_base::collide;
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::samples::list::{FoundSample, Spot};

use super::form::Form;

/// The samples that lists can name, by number.
pub(super) struct Samples<'a> {
    pub(super) scan: &'a Scan,
    renamed: &'a HashMap<Spot, Vec<u8>>,
    pub(super) spots: Vec<Spot>,
}

impl<'a> Samples<'a> {
    /// Collects the samples that are not dropped.
    pub(super) fn of(
        scan: &'a Scan,
        dropped: &HashSet<Spot>,
        renamed: &'a HashMap<Spot, Vec<u8>>,
    ) -> Samples<'a> {
        let mut spots = Vec::new();
        scan.samples.visit(|spot, _| {
            if !dropped.contains(&spot) {
                spots.push(spot);
            }
            true
        });
        Samples { scan, renamed, spots }
    }

    /// Calls `each` with the names of a sample: its key, and the path of its files without extension.
    fn each_name(&self, spot: Spot, sample: &FoundSample, each: &mut dyn FnMut(&[u8])) {
        each(&sample.key);
        if sample.source != sample.key {
            each(&sample.source);
        }
        if let Some(key) = self.renamed.get(&spot) {
            each(key);
        }
    }

    /// Collects the hashes of all names.
    pub(super) fn index(&self, form: Form) -> Index<'_> {
        let mut hashes = Vec::with_capacity(self.spots.len());
        let mut sample = FoundSample::default();
        for (number, &spot) in self.spots.iter().enumerate() {
            self.scan.samples.read(spot, &mut sample);
            self.each_name(spot, &sample, &mut |name| {
                if let Some(name) = form.of_sample(name) {
                    hashes.push((collide::exact_hash(name), number as u32));
                }
            });
        }
        hashes.par_sort_unstable();
        hashes.dedup();
        Index { samples: self, form, hashes }
    }
}

/// Finds samples by their names in one form.
pub(super) struct Index<'a> {
    samples: &'a Samples<'a>,
    form: Form,
    /// The hash of each name with the number of the sample, sorted. A machine's memory has fewer than 2^32 samples.
    hashes: Vec<(u64, u32)>,
}

impl Index<'_> {
    /// Returns the number of the sample with this name.
    ///
    /// # Errors
    /// Returns the keys of two samples with this name.
    pub(super) fn find(&self, wanted: &[u8]) -> Result<Option<usize>, [String; 2]> {
        let hash = collide::exact_hash(wanted);
        let from = self.hashes.partition_point(|(other, _)| *other < hash);
        let mut sample = FoundSample::default();
        let mut found: Option<(usize, Vec<u8>)> = None;
        for &(_, number) in self.hashes[from..].iter().take_while(|(other, _)| *other == hash) {
            let spot = self.samples.spots[number as usize];
            self.samples.scan.samples.read(spot, &mut sample);
            let mut is_named = false;
            self.samples.each_name(spot, &sample, &mut |name| {
                is_named |= self.form.of_sample(name) == Some(wanted);
            });
            match found {
                _ if !is_named => {}
                Some((_, other)) => return Err([name::shown(&other), name::shown(&sample.key)]),
                None => found = Some((number as usize, sample.key.clone())),
            }
        }
        Ok(found.map(|(number, _)| number))
    }
}
