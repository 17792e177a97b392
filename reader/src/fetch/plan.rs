//! `Plan`: which bytes a batch needs, as runs of reads.
//!
//! Looks samples up in their sidecars, sorts them as they stand on disk, and merges neighbors. Reads
//! no tar. What is wrong with one sample is noted and leaves the others alone.

use std::ops::Range;

use tarflume_formats::index::Found;

use crate::dataset::Dataset;
use crate::dataset::shard::Shard;
use crate::error::{Error, Result};
use crate::fetch::wanted::Wanted;

/// A sample that is wanted: which place of the batch it will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Its place in the batch.
    pub slot: usize,
    /// Its ordinal.
    pub ordinal: u64,
}

/// How reads are merged, and how much else a plan may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Two ranges with at most so many bytes between them are read as one. On a cold disk a hole
    /// costs less than a second read up to somewhere between 64 and 128 KiB (`examples/sources.rs`);
    /// of a map, holes are not touched at all.
    pub gap: u64,
    /// A run has at most so many bytes; a sample larger than that is a run of its own.
    pub run: u64,
    /// A plan holds at most so many bytes of entry points; parts beyond that go without, which costs
    /// their decoder time and nothing else.
    pub entry_points: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { gap: 64 << 10, run: 1 << 20, entry_points: 1 << 20 }
    }
}

/// Neighboring samples of one shard, to be read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The shard.
    pub shard: usize,
    /// Its samples, in [`Plan::items`].
    pub items: Range<usize>,
    /// Its reads, in [`Plan::reads`]: several where a sample's wanted parts stand apart.
    pub reads: Range<usize>,
    /// Bytes of all its reads: what its buffer must hold.
    pub bytes: u64,
}

/// A range of the tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Its first byte in the tar.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where it stands in the run's buffer.
    pub within: u64,
}

/// A sample that will be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its place in the batch.
    pub slot: usize,
    /// Its ordinal.
    pub ordinal: u64,
    /// Its shard.
    pub shard: usize,
    /// Its row there.
    pub row: u64,
    /// Its parts, in [`Plan::parts`]: one for each need, in their order.
    pub parts: Range<usize>,
    /// Its key, in the plan's keys.
    key: Range<usize>,
    /// The first byte that is wanted of it.
    first: u64,
}

/// A part that will be read, or the absence of one that is not required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartRef {
    /// Its extension's number, for [`Wanted::ext`]; `None`: the sample does not have it.
    pub ext: Option<u32>,
    /// Its first byte in the tar.
    pub at: u64,
    /// Bytes.
    pub length: u64,
    /// How many pixels it has, if that is wanted and the sidecar says it: of the only image of a sample.
    pub pixels: Option<u64>,
    /// crc32c of its data, if the sidecar has it.
    pub checksum: Option<u32>,
    /// Where it stands in its run's buffer.
    pub within: u64,
    /// Its entry points, in the plan's: the first byte and their number.
    points: (usize, usize),
}

/// A sample that can't be had, and why.
#[derive(Debug)]
pub struct Bad {
    /// Its place in the batch.
    pub slot: usize,
    /// Its ordinal.
    pub ordinal: u64,
    /// Why: with path, byte and key as far as they are known.
    pub error: Error,
}

/// The reads of a batch. Made once and filled again for every batch.
#[derive(Debug, Default)]
pub struct Plan {
    runs: Vec<Run>,
    reads: Vec<Read>,
    items: Vec<Item>,
    parts: Vec<PartRef>,
    /// The samples' keys, one after the other.
    keys: Vec<u8>,
    /// The parts' entry points, one after the other.
    points: Vec<u8>,
    bad: Vec<Bad>,
    /// The sample that was looked up last.
    found: Found,
    /// Numbers of an item's parts, as they stand in the tar.
    order: Vec<usize>,
}

impl Plan {
    /// An empty plan.
    pub fn new() -> Plan {
        Plan::default()
    }

    /// Forgets what it held and plans these draws. A sample that can't be looked up, or lacks a part,
    /// is in [`Plan::bad`] and in no run.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`]: an ordinal is not in the data set.
    pub fn fill(
        &mut self,
        dataset: &Dataset,
        draws: &[Draw],
        wanted: &Wanted,
        limits: Limits,
    ) -> Result<()> {
        self.clear();
        for &draw in draws {
            let (number, row) = dataset.place_of(draw.ordinal)?;
            let (parts, points) = (self.parts.len(), self.points.len());
            let shard = dataset.shard(number);
            let looked_up = shard.look_up(row, &mut self.found);
            let taken = looked_up.and_then(|()| {
                self.choose(shard, row, wanted, limits)?;
                self.take_in(draw, (number, row), parts);
                Ok(())
            });
            if let Err(error) = taken {
                self.parts.truncate(parts);
                self.points.truncate(points);
                let error = error.with_path(shard.path());
                self.bad.push(Bad { slot: draw.slot, ordinal: draw.ordinal, error });
            }
        }
        self.items.sort_unstable_by_key(|item| (item.shard, item.first, item.row, item.slot));
        self.merge(limits);
        Ok(())
    }

    /// Forgets what it held; the memory stays.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.reads.clear();
        self.items.clear();
        self.parts.clear();
        self.keys.clear();
        self.points.clear();
        self.bad.clear();
    }

    /// The runs, by shard and place.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The reads of all runs.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The samples of all runs, as they stand on disk.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The parts of all samples.
    pub fn parts(&self) -> &[PartRef] {
        &self.parts
    }

    /// The parts of a sample: one for each need.
    pub fn parts_of(&self, item: &Item) -> &[PartRef] {
        &self.parts[item.parts.clone()]
    }

    /// The key of a sample.
    pub fn key(&self, item: &Item) -> &[u8] {
        &self.keys[item.key.clone()]
    }

    /// The entry points of a part, if they are wanted, its sidecar has them and the limits left room.
    pub fn entry_points(&self, part: &PartRef) -> Option<&[u8]> {
        let (start, length) = part.points;
        (length > 0).then(|| &self.points[start..start + length])
    }

    /// The samples that could not be planned.
    pub fn bad(&self) -> &[Bad] {
        &self.bad
    }

    /// Takes the samples that could not be planned.
    pub fn take_bad(&mut self) -> impl Iterator<Item = Bad> {
        self.bad.drain(..)
    }

    /// Chooses the parts of the sample that was looked up.
    fn choose(&mut self, shard: &Shard, row: u64, wanted: &Wanted, limits: Limits) -> Result<()> {
        let Plan { found: sample, parts, points, .. } = self;
        for need in 0..wanted.len() {
            let of_sample = |e: Error| e.with_byte(sample.first()).with_key(sample.shown_key());
            let Some((ext, part)) = wanted.choose(need, sample).map_err(of_sample)? else {
                let (ext, pixels, checksum, points) = (None, None, None, (0, 0));
                parts.push(PartRef { ext, at: 0, length: 0, pixels, checksum, within: 0, points });
                continue;
            };
            let (start, (at, length)) = (points.len(), (part.offset, part.length));
            let most = limits.entry_points.saturating_sub(start as u64);
            if wanted.wants_entry_points(need) && most > 0 {
                let copied = shard.entry_points(part.number, most, points);
                copied.map_err(|e| e.with_key(sample.shown_key()))?;
            }
            let pixels = match wanted.wants_pixels(need) && is_only_image(sample, part.number) {
                true => shard.pixels(row).map_err(of_sample)?,
                false => None,
            };
            let (ext, checksum, points) = (Some(ext), part.checksum, (start, points.len() - start));
            parts.push(PartRef { ext, at, length, pixels, checksum, within: 0, points });
        }
        Ok(())
    }

    /// Takes in the sample that was looked up, whose parts from number `start` on were chosen.
    fn take_in(&mut self, draw: Draw, (shard, row): (usize, u64), start: usize) {
        let Draw { slot, ordinal } = draw;
        let parts = start..self.parts.len();
        let there = self.parts[parts.clone()].iter().filter(|part| part.ext.is_some());
        let first = there.map(|part| part.at).min().unwrap_or(self.found.first());
        let key = self.keys.len();
        self.keys.extend_from_slice(self.found.key());
        let key = key..self.keys.len();
        self.items.push(Item { slot, ordinal, shard, row, parts, key, first });
    }

    /// Makes runs of the sorted items.
    fn merge(&mut self, limits: Limits) {
        for number in 0..self.items.len() {
            let shard = self.items[number].shard;
            if let Some(last) = self.runs.pop_if(|run| run.shard == shard) {
                if let Some(longer) = self.join(last.clone(), number, limits, true) {
                    self.runs.push(longer);
                    continue;
                }
                self.runs.push(last);
            }
            let reads = self.reads.len()..self.reads.len();
            let run = Run { shard, items: number..number, reads, bytes: 0 };
            let run = self.join(run, number, limits, false);
            self.runs.extend(run);
        }
    }

    /// The run with this item at its end. `None`, and all as before, if `within_limits` is asked for
    /// and it would become too long, or the item stands too far behind.
    fn join(&mut self, run: Run, item: usize, limits: Limits, within_limits: bool) -> Option<Run> {
        let Plan { items, parts, reads, order, .. } = self;
        let (before, last) = (reads.len(), reads.last().copied());
        order.clear();
        order.extend(items[item].parts.clone().filter(|&part| parts[part].length > 0));
        order.sort_unstable_by_key(|&part| parts[part].at);
        let mut joined = Run { items: run.items.start..item + 1, ..run };
        let mut apart = false;
        for (n, &part) in order.iter().enumerate() {
            let new = place(reads, &mut joined, &mut parts[part], limits.gap);
            apart |= n == 0 && new;
        }
        if within_limits && (apart || joined.bytes > limits.run) {
            reads.truncate(before);
            if let (Some(now), Some(last)) = (reads.last_mut(), last) {
                *now = last;
            }
            return None;
        }
        Some(joined)
    }
}

/// Extensions of images, whose sizes a sidecar may have.
const IMAGES: [&[u8]; 8] = [b"jpg", b"jpeg", b"png", b"webp", b"gif", b"bmp", b"tif", b"tiff"];

/// True if part `number` is the only image of its sample. A sidecar has the size of the first image whose
/// header could be read: of several, nobody knows which one that was.
fn is_only_image(sample: &Found, number: u64) -> bool {
    let is_image = |ext: &[u8]| {
        let last = ext.rsplit(|&byte| byte == b'.').next().unwrap_or(ext);
        IMAGES.iter().any(|image| last.eq_ignore_ascii_case(image))
    };
    let mut images = sample.parts().filter(|part| is_image(part.ext));
    images.next().is_some_and(|part| part.number == number) && images.next().is_none()
}

/// Finds room for a part in the reads of a run: in one that has it, at the end of the last one, or in
/// a new one. True if that is a new one.
fn place(reads: &mut Vec<Read>, run: &mut Run, part: &mut PartRef, gap: u64) -> bool {
    let end = part.at + part.length; // both were found to lie inside the tar
    let mine = &mut reads[run.reads.start..];
    let holds = |read: &&Read| read.start <= part.at && end <= read.start + read.length;
    if let Some(read) = mine.iter().rev().find(holds) {
        part.within = read.within + (part.at - read.start);
        return false;
    }
    if let Some(last) = mine.last_mut() {
        let near = (last.start + last.length).saturating_add(gap);
        if last.start <= part.at && part.at <= near {
            let longer = end - last.start - last.length;
            last.length += longer;
            run.bytes += longer;
            part.within = last.within + (part.at - last.start);
            return false;
        }
    }
    part.within = run.bytes;
    reads.push(Read { start: part.at, length: part.length, within: run.bytes });
    run.bytes += part.length;
    run.reads.end = reads.len();
    true
}
