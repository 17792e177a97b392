//! Pairs rows with samples by name: a merge of sorted rows with ranges of the samples' hashes.

pub(super) mod hint;

use rayon::slice::ParallelSliceMut;
use tarflume_base::{Failure, ProblemKind, Stop, collide};
use tarflume_formats::message;
use tarflume_formats::varint;
use tarflume_scan::Scan;
use tarflume_scan::samples::list::{FoundSample, Spot};

use super::known::{Known, Named, Pass};
use super::options::On;
use super::places::{Listed, Place, again, quoted};
use super::source::JoinRow;
use crate::sorter::{Sorted, Sorter};

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

/// Returns the name of a record's row.
pub(super) fn name_of(record: &[u8]) -> &[u8] {
    take_row(Place::take(record).1).0
}

/// Decodes a record of a row.
pub(super) fn row_of(record: &[u8]) -> JoinRow {
    let (place, rest) = Place::take(record);
    let (name, json) = take_row(rest);
    JoinRow { place, name: name.to_vec(), json: json.to_vec() }
}

/// Decodes the name and the JSON of a record's rest.
fn take_row(rest: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    let name = varint::take_bytes(rest, &mut at).expect("`put_row` has written this record");
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
        Some((_, rest)) => (Place::take(rest).0, Verdict::Several),
        None => unreachable!("a record of matches begins with its kind"),
    }
}

/// The pairs that were found.
#[derive(Debug)]
pub(super) struct Matches {
    /// Records for samples by the ids of their spots.
    pub(super) found: Sorter,
    /// Samples that one row matches.
    pub(super) samples: u64,
    /// Rows that name only samples of the data set that gets more.
    pub(super) known: u64,
    /// Rows without sample.
    pub(super) orphans: Listed,
    /// Rows with the name of an earlier row.
    pub(super) repeated: Listed,
    /// Names of some rows without sample, in the order of hashes.
    names: Vec<Vec<u8>>,
    /// The first row without sample that has a name, in the order of the tables.
    first: Option<(Place, Vec<u8>)>,
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

/// What rows are paired with: the samples of the scan, and those of the data set that gets more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    /// The scan.
    pub(super) scan: &'a Scan,
    /// The name that rows have.
    pub(super) on: On,
    /// The data set, if there is one.
    pub(super) known: Option<Known<'a>>,
}

/// Hashes of one pass, sorted: with spots of the scan, and with ordinals of the data set.
#[derive(Debug, Default)]
struct Hashes {
    found: Vec<(u64, u64)>,
    known: Vec<(u64, u64)>,
    /// What was passed of both.
    at: (usize, usize),
}

impl Hashes {
    /// Moves to `hash`, which grows from call to call, and returns its spots and ordinals.
    fn of(&mut self, hash: u64) -> [&[(u64, u64)]; 2] {
        fn of(hashes: &[(u64, u64)], at: &mut usize, hash: u64) -> std::ops::Range<usize> {
            *at += hashes[*at..].iter().take_while(|found| found.0 < hash).count();
            let same = hashes[*at..].iter().take_while(|found| found.0 == hash);
            *at..*at + same.count()
        }
        let found = of(&self.found, &mut self.at.0, hash);
        let known = of(&self.known, &mut self.at.1, hash);
        [&self.found[found], &self.known[known]]
    }
}

/// Finds the samples of all rows, which are sorted by [`Sides::hash`].
///
/// # Errors
/// Returns an error for a failure of the machine, and after a request to stop.
pub(super) fn matches(
    sides: Sides<'_>,
    rows: &mut Sorted,
    stop: &Stop,
) -> Result<Matches, Failure> {
    let mut matches = Matches {
        found: Sorter::new(),
        samples: 0,
        known: 0,
        orphans: Listed::new(ProblemKind::OrphanRow),
        repeated: Listed::new(ProblemKind::RepeatedRow),
        names: Vec::new(),
        first: None,
        scratch: Scratch::default(),
    };
    let names = sides.count_names();
    let passes = names.div_ceil(PASS.max(names / 8)).max(1);
    let mut hashes = Hashes::default();
    let mut group = Group::default();
    for pass in 0..passes {
        let pass = Pass { number: pass, passes };
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        sides.collect(pass, &mut hashes)?;
        while let Some(hash) = rows.peek()? {
            if !pass.has(hash) {
                break;
            }
            group.read(rows, hash)?;
            let same = hashes.of(hash);
            for number in 0..group.count {
                let is_repeated = group.is_repeated(number);
                let is_settled = matches.pair(sides, &group.records[number], is_repeated, same)?;
                group.report(number, is_settled, &mut matches.repeated);
            }
        }
    }
    Ok(matches)
}

impl Sides<'_> {
    /// Returns the number by which rows and samples are sorted.
    fn hash(&self, name: &[u8]) -> u64 {
        self.known.map_or_else(|| hash(name), |known| known.hash(self.on, name))
    }

    fn count_names(&self) -> u64 {
        let known = self.known.map_or(0, |known| known.present.samples());
        if !self.on.is_of_files() {
            return known.max(self.scan.samples.len());
        }
        let mut names = 0;
        self.scan.samples.visit(|_, sample| {
            names += sample.parts.len() as u64;
            true
        });
        known.max(names)
    }

    /// Collects the hashes of a pass.
    fn collect(&self, pass: Pass, hashes: &mut Hashes) -> Result<(), Failure> {
        hashes.at = (0, 0);
        hashes.found.clear();
        let mut space = Vec::new();
        self.scan.samples.visit(|spot, sample| {
            self.on.each_name(sample, &self.scan.exts, &mut space, &mut |name| {
                let hash = self.hash(name);
                if pass.has(hash) {
                    hashes.found.push((hash, spot.id()));
                }
            });
            true
        });
        hashes.found.par_sort_unstable();
        match self.known {
            Some(known) => known.collect(self.on, pass, &mut hashes.known),
            None => Ok(()),
        }
    }

    /// Collects the spots among `same`, in order, whose samples have this name.
    fn spots(&self, name: &[u8], same: &[(u64, u64)], scratch: &mut Scratch) {
        let Scratch { sample, name: space, spots, .. } = scratch;
        spots.clear();
        for &(_, id) in same {
            self.scan.samples.read(Spot::from_id(id), sample);
            let mut is_named = false;
            self.on
                .each_name(sample, &self.scan.exts, space, &mut |other| is_named |= other == name);
            if is_named && spots.last() != Some(&id) {
                spots.push(id);
            }
        }
    }

    /// Returns true if the data set has all samples at these spots.
    fn has_all(&self, spots: &[u64], sample: &mut FoundSample) -> Result<bool, Failure> {
        let Some(known) = self.known else { return Ok(false) };
        for &id in spots {
            self.scan.samples.read(Spot::from_id(id), sample);
            if !known.has(sample)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The rows with one hash, one for each name.
#[derive(Debug, Default)]
struct Group {
    records: Vec<Vec<u8>>,
    count: usize,
    /// The places of other rows with the name of a record, by its number.
    repeats: Vec<(usize, Place)>,
}

impl Group {
    fn read(&mut self, rows: &mut Sorted, hash: u64) -> Result<(), Failure> {
        self.count = 0;
        self.repeats.clear();
        while rows.peek()? == Some(hash) {
            let Some((_, record)) = rows.next()? else { break };
            let name = name_of(record);
            if let Some(first) =
                self.records[..self.count].iter().position(|other| name_of(other) == name)
            {
                self.repeats.push((first, Place::take(record).0));
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

    fn is_repeated(&self, number: usize) -> bool {
        self.repeats.iter().any(|(first, _)| *first == number)
    }

    /// Reports the other rows with the name of a record, unless the data set has its samples.
    fn report(&self, number: usize, is_settled: bool, repeated: &mut Listed) {
        if is_settled {
            return;
        }
        let record = &self.records[number];
        for &(_, place) in self.repeats.iter().filter(|(first, _)| *first == number) {
            repeated.push(place, || again(name_of(record), Place::take(record).0).into());
        }
    }
}

impl Matches {
    /// Adds a row to the samples among `found` that have its name, unless other samples of the data
    /// set, some of `known`, have it, too. With `is_repeated`, returns true if the data set has all
    /// samples with this name.
    fn pair(
        &mut self,
        sides: Sides<'_>,
        row: &[u8],
        is_repeated: bool,
        [found, known]: [&[(u64, u64)]; 2],
    ) -> Result<bool, Failure> {
        let (place, rest) = Place::take(row);
        let (name, json) = take_row(rest);
        let mut scratch = std::mem::take(&mut self.scratch);
        sides.spots(name, found, &mut scratch);
        let Scratch { sample, spots, record, .. } = &mut scratch;
        let named = match sides.known {
            Some(data) => data.named(sides.on, name, known, spots.is_empty())?,
            None => Named::default(),
        };
        let mut several = spots.len() > 1 || named.count > 1;
        if let (&[spot], 1) = (spots.as_slice(), named.count) {
            sides.scan.samples.read(Spot::from_id(spot), sample);
            several = sample.key != named.key;
        }
        record.clear();
        record.push(u8::from(several));
        place.put(record);
        match spots.as_slice() {
            [] if named.count > 0 => self.known += 1,
            [] => self.orphan(place, name),
            [_] if !several => {
                self.samples += 1;
                record.extend_from_slice(json);
            }
            _ => {}
        }
        spots.iter().try_for_each(|&id| self.found.push(id, record))?;
        let is_settled = is_repeated && named.count > 0 && sides.has_all(spots, sample)?;
        self.scratch = scratch;
        Ok(is_settled)
    }

    fn orphan(&mut self, place: Place, name: &[u8]) {
        if self.names.len() < KEPT && !name.is_empty() {
            self.names.push(name.to_vec());
        }
        let order = (place.table, place.row);
        let is_first =
            self.first.as_ref().is_none_or(|(first, _)| order < (first.table, first.row));
        if is_first && !name.is_empty() {
            self.first = Some((place, name.to_vec()));
        }
        self.orphans.push(place, || {
            if name.is_empty() {
                "it names no sample".into()
            } else {
                message!("no sample is named {}", quoted(name))
            }
        });
    }

    /// Returns the place and the name of the first row without sample.
    pub(super) fn first(&self) -> Option<(Place, &[u8])> {
        self.first.as_ref().map(|(place, name)| (*place, name.as_slice()))
    }
}
