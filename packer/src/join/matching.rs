//! Pairs rows with samples by name: a merge of sorted rows with ranges of the samples' hashes.

use std::collections::HashSet;

use rayon::slice::ParallelSliceMut;
use tarflume_formats::varint;

use super::options::On;
use super::places::{Listed, Place, again, quoted};
use super::source::JoinRow;
use crate::choice::Choice;
use crate::collide;
use crate::failure::Failure;
use crate::problem::ProblemKind;
use crate::scan::Scan;
use crate::scan::list::{FoundSample, Spot};
use crate::sorter::{Sorted, Sorter};
use crate::stop::Stop;
use crate::units;

/// Hashes of samples that a pass holds, 16 bytes each; more if there are very many samples.
const PASS: u64 = 2 << 20;
/// Names of rows without sample that are kept to find the name that matches.
const KEPT: usize = 1000;

/// Returns the number by which rows and samples are sorted.
pub(super) fn hash(name: &[u8]) -> u64 {
    collide::exact_hash(name)
}

/// Appends name and JSON of a row to its record, after its place.
pub(super) fn put_row(row: &JoinRow, out: &mut Vec<u8>) {
    varint::put_bytes(out, &row.name);
    out.extend_from_slice(&row.json);
}

/// Decodes the name and the JSON of a record's rest.
fn take_row(rest: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    let name = varint::take_bytes(rest, &mut at).unwrap_or_default(); // written by `put_row`
    (name, &rest[at..])
}

/// What a row means for a sample.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    /// It is the sample's JSON.
    Row(&'a [u8]),
    /// It has other samples, too.
    Several,
}

/// Decodes a record of [`Matches::found`].
pub(super) fn verdict(record: &[u8]) -> (Place, Verdict<'_>) {
    match record.split_first() {
        Some((0, rest)) => {
            let (place, json) = Place::take(rest);
            (place, Verdict::Row(json))
        }
        _ => (Place::take(record.get(1..).unwrap_or_default()).0, Verdict::Several),
    }
}

/// The pairs that were found.
#[derive(Debug)]
pub(super) struct Matches {
    /// Records for samples by the ids of their spots.
    pub(super) found: Sorter,
    /// Samples that one row matches.
    pub(super) samples: u64,
    /// Rows without sample.
    pub(super) orphans: Listed,
    /// Rows with the name of an earlier row.
    pub(super) repeated: Listed,
    /// Names of the first rows without sample.
    names: Vec<Vec<u8>>,
    scratch: Scratch,
}

/// Memory for one row's samples.
#[derive(Debug, Default)]
struct Scratch {
    sample: FoundSample,
    name: Vec<u8>,
    spots: Vec<u64>,
    record: Vec<u8>,
}

/// Finds the samples of all rows.
///
/// # Errors
/// Returns an error for a failure of the machine, and after a request to stop.
pub(super) fn matches(
    scan: &Scan,
    rows: &mut Sorted,
    on: On,
    stop: &Stop,
) -> Result<Matches, Failure> {
    let mut matches = Matches {
        found: Sorter::new(),
        samples: 0,
        orphans: Listed::new(ProblemKind::OrphanRow),
        repeated: Listed::new(ProblemKind::RepeatedRow),
        names: Vec::new(),
        scratch: Scratch::default(),
    };
    let names = count_names(scan, on);
    let passes = names.div_ceil(PASS.max(names / 8)).max(1);
    let (mut hashes, mut group) = (Vec::new(), Group::default());
    for pass in 0..passes {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        collect(scan, on, (pass, passes), &mut hashes);
        let mut at = 0;
        while let Some(hash) = rows.peek()? {
            if collide::pass_of(hash, passes) != pass {
                break;
            }
            group.read(rows, hash, &mut matches.repeated)?;
            at += hashes[at..].iter().take_while(|found| found.0 < hash).count();
            let same = hashes[at..].iter().take_while(|found| found.0 == hash);
            let same: &[(u64, u64)] = &hashes[at..at + same.count()];
            for record in &group.records[..group.count] {
                matches.pair(scan, on, record, same)?;
            }
        }
    }
    Ok(matches)
}

fn count_names(scan: &Scan, on: On) -> u64 {
    if !on.is_of_files() {
        return scan.samples.len();
    }
    let mut names = 0;
    scan.samples.visit(|_, sample| {
        names += sample.parts.len() as u64;
        true
    });
    names
}

/// Collects hash and spot of the samples' names in a pass, sorted.
fn collect(scan: &Scan, on: On, (pass, passes): (u64, u64), hashes: &mut Vec<(u64, u64)>) {
    hashes.clear();
    let mut space = Vec::new();
    scan.samples.visit(|spot, sample| {
        on.each_name(sample, &scan.exts, &mut space, &mut |name| {
            let hash = hash(name);
            if collide::pass_of(hash, passes) == pass {
                hashes.push((hash, spot.id()));
            }
        });
        true
    });
    hashes.par_sort_unstable();
}

/// The rows with one hash, one for each name.
#[derive(Debug, Default)]
struct Group {
    records: Vec<Vec<u8>>,
    count: usize,
}

impl Group {
    fn read(&mut self, rows: &mut Sorted, hash: u64, repeated: &mut Listed) -> Result<(), Failure> {
        self.count = 0;
        while rows.peek()? == Some(hash) {
            let Some((_, record)) = rows.next()? else { break };
            let (place, rest) = Place::take(record);
            let (name, _) = take_row(rest);
            let same = |other: &&Vec<u8>| take_row(Place::take(other).1).0 == name;
            if let Some(first) = self.records[..self.count].iter().find(same) {
                let first = Place::take(first).0;
                repeated.push(place, || again(name, first));
                continue;
            }
            if self.count == self.records.len() {
                self.records.push(Vec::new());
            }
            self.records[self.count].clear();
            self.records[self.count].extend_from_slice(record);
            self.count += 1;
        }
        Ok(())
    }
}

impl Matches {
    /// Adds a row to the samples among `same` that have its name.
    fn pair(
        &mut self,
        scan: &Scan,
        on: On,
        record: &[u8],
        same: &[(u64, u64)],
    ) -> Result<(), Failure> {
        let (place, rest) = Place::take(record);
        let (name, json) = take_row(rest);
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { sample, name: space, spots, record } = &mut scratch;
        spots.clear();
        for &(_, id) in same {
            scan.samples.read(Spot::from_id(id), sample);
            let mut is_named = false;
            on.each_name(sample, &scan.exts, space, &mut |other| is_named |= other == name);
            if is_named && spots.last() != Some(&id) {
                spots.push(id);
            }
        }
        record.clear();
        record.push(u8::from(spots.len() > 1));
        place.put(record);
        match spots.as_slice() {
            [] => self.orphan(place, name),
            [_] => {
                self.samples += 1;
                record.extend_from_slice(json);
            }
            _ => {}
        }
        let pushed = spots.iter().try_for_each(|&id| self.found.push(id, record));
        self.scratch = scratch;
        pushed
    }

    fn orphan(&mut self, place: Place, name: &[u8]) {
        if self.names.len() < KEPT && !name.is_empty() {
            self.names.push(name.to_vec());
        }
        self.orphans.push(place, || match name.is_empty() {
            true => "it names no sample".into(),
            false => format!("no sample is named {}", quoted(name)),
        });
    }

    /// Returns the name of a row without sample.
    pub(super) fn first_name(&self) -> Option<&[u8]> {
        self.names.first().map(Vec::as_slice)
    }

    /// Returns advice about another name of samples that rows without sample have.
    pub(super) fn hint(&self, scan: &Scan, on: On) -> Option<String> {
        if self.names.is_empty() {
            return None;
        }
        let wanted: HashSet<&[u8]> = self.names.iter().map(Vec::as_slice).collect();
        let others = On::ALL.iter().copied().filter(|&other| other != on);
        let mut space = Vec::new();
        let counted = others.map(|other| {
            let mut found: HashSet<Vec<u8>> = HashSet::new();
            scan.samples.visit(|_, sample| {
                other.each_name(sample, &scan.exts, &mut space, &mut |name| {
                    if wanted.contains(name) && !found.contains(name) {
                        found.insert(name.to_vec());
                    }
                });
                found.len() < wanted.len()
            });
            (found.len(), other)
        });
        let (found, other) = counted.max_by_key(|(found, _)| *found).filter(|(n, _)| *n > 0)?;
        Some(format!(
            "on={} matches {} of the first {} such rows",
            other.word(),
            units::count(found as u64),
            units::count(wanted.len() as u64)
        ))
    }
}
