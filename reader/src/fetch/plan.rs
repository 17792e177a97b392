//! `ReadPlan`: the bytes that a batch needs, as runs of reads.
//!
//! Looks samples up in their sidecars, sorts them by their position on disk, and merges neighbors. Reads
//! no tar. An error of one sample is recorded and does not affect the others.

use std::ops::Range;

use tarflume_dataset::{Dataset, Shard, is_image};
use tarflume_formats::index::SampleRow;
use tarflume_jpeg::Excerpt;
use tarflume_types::{Error, Result};

use crate::fetch::draw::{Limits, RowDraw};
use crate::fetch::excerpt::{Candidate, PartExcerpt, PictureNeeds};
use crate::fetch::part_needs::PartNeeds;
use crate::fetch::parts::{PartRef, Read, Run};
use crate::fetch::place::place;

/// A sample to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Row in the batch.
    pub row: usize,
    /// Ordinal of the sample.
    pub ordinal: u64,
    /// Number of the shard.
    pub shard: usize,
    /// Number of the sample in the shard.
    pub sample: u64,
    /// The parts, as a range of [`ReadPlan::parts`]: one for each need, in that order; then what is read to be compared
    /// with the sidecar.
    pub parts: Range<usize>,
    /// True if its parts are compared with the sidecar before they are used, because the tar may be newer.
    pub(crate) is_suspect: bool,
    /// The key, as a range of the plan's keys.
    key: Range<usize>,
    /// The first wanted byte in the tar, which is the sort key.
    first: u64,
}

/// A sample that cannot be read, and why.
#[derive(Debug)]
pub struct UnreadableSample {
    /// Row in the batch.
    pub row: usize,
    /// Ordinal of the sample.
    pub ordinal: u64,
    /// The error, with path, byte and key as far as they are known.
    pub error: Error,
    /// True if an excerpt of it was read that could not be used: read whole, it may be good.
    pub excerpt: bool,
}

/// The reads of a batch. Reused for every batch.
#[derive(Debug, Default)]
pub struct ReadPlan {
    runs: Vec<Run>,
    reads: Vec<Read>,
    items: Vec<Item>,
    pub(super) parts: Vec<PartRef>,
    /// The keys of the samples, concatenated.
    keys: Vec<u8>,
    /// The entry points of the parts, concatenated.
    points: Vec<u8>,
    bad: Vec<UnreadableSample>,
    /// The sample that was looked up last.
    pub(super) found: SampleRow,
    /// Numbers of the parts of one item, in the order of the tar.
    order: Vec<usize>,
}

/// What the columns of a loader want of each sample.
#[derive(Clone, Copy)]
pub(crate) struct WantedParts<'a> {
    pub(crate) needs: &'a PartNeeds,
    /// Which regions of pictures they decode; `None` if whole parts are read.
    pub(crate) pictures: Option<&'a dyn PictureNeeds>,
}

impl<'a> WantedParts<'a> {
    /// Whole parts.
    pub(crate) fn whole(needs: &'a PartNeeds) -> WantedParts<'a> {
        WantedParts { needs, pictures: None }
    }
}

impl ReadPlan {
    /// An empty plan.
    pub fn new() -> ReadPlan {
        ReadPlan::default()
    }

    /// Clears the plan and plans these draws. A sample that cannot be looked up, or lacks a required
    /// part, is in [`ReadPlan::bad`] and in no run.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`]: an ordinal does not exist in the data set.
    pub fn fill(
        &mut self,
        dataset: &Dataset,
        draws: &[RowDraw],
        wanted: &PartNeeds,
        limits: Limits,
    ) -> Result<()> {
        self.fill_excerpts(dataset, draws, WantedParts::whole(wanted), limits)
    }

    /// As [`ReadPlan::fill`], for columns whose `pictures` are known: of JPEGs that they need parts of, excerpts are
    /// read.
    ///
    /// # Errors
    /// As [`ReadPlan::fill`].
    pub(crate) fn fill_excerpts(
        &mut self,
        dataset: &Dataset,
        draws: &[RowDraw],
        wanted: WantedParts<'_>,
        limits: Limits,
    ) -> Result<()> {
        self.clear();
        // Both numbers are known, and the plans of each epoch begin empty: growth by doubling would copy them.
        self.items.reserve(draws.len());
        self.parts.reserve(draws.len().saturating_mul(wanted.needs.len()));
        for &draw in draws {
            let (number, sample) = dataset.place_of(draw.ordinal)?;
            let parts = self.parts.len();
            let points = self.points.len();
            let shard = dataset.shard(number);
            let looked_up = shard.look_up(sample, &mut self.found);
            let taken = looked_up.and_then(|()| {
                self.choose(shard, sample, draw, wanted, limits)?;
                let suspect = self.add_proofs(shard, draw, wanted.needs, parts);
                self.take_in(draw, number, sample, parts, suspect);
                Ok(())
            });
            if let Err(error) = taken {
                // Drop what `choose` appended for this sample before it failed.
                self.parts.truncate(parts);
                self.points.truncate(points);
                let error = error.with_path(shard.path());
                let RowDraw { row, ordinal, .. } = draw;
                self.bad.push(UnreadableSample { row, ordinal, error, excerpt: false });
            }
        }
        // Order of the disk, not of the batch: neighbors become adjacent and can be merged. The
        // sample and the row make the order total, so the plan does not depend on the sort.
        self.items.sort_unstable_by_key(|item| (item.shard, item.first, item.sample, item.row));
        self.merge(limits);
        Ok(())
    }

    /// Removes the content and keeps the memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.reads.clear();
        self.items.clear();
        self.parts.clear();
        self.keys.clear();
        self.points.clear();
        self.bad.clear();
    }

    /// The runs, by shard and position.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The reads of all runs.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The samples of all runs, in the order of the disk.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The parts of all samples.
    pub fn parts(&self) -> &[PartRef] {
        &self.parts
    }

    /// The parts of a sample, one for each need.
    pub fn parts_of(&self, item: &Item) -> &[PartRef] {
        &self.parts[item.parts.clone()]
    }

    /// The key of a sample.
    pub fn key(&self, item: &Item) -> &[u8] {
        &self.keys[item.key.clone()]
    }

    /// The entry points of a part, if requested, present in the sidecar and within the limit.
    pub fn entry_points(&self, part: &PartRef) -> Option<&[u8]> {
        let (start, length) = part.points;
        (length > 0).then(|| &self.points[start..start + length])
    }

    /// The rows of a JPEG that are read, if not all are.
    pub(crate) fn excerpt(&self, part: &PartRef) -> Option<Excerpt<'_>> {
        let PartExcerpt { rows, strips: (start, length), .. } = part.excerpt?;
        Some(Excerpt { strips: self.points.get(start..start + length)?, rows })
    }

    /// The samples that could not be planned.
    pub fn bad(&self) -> &[UnreadableSample] {
        &self.bad
    }

    /// Removes and returns the samples that could not be planned.
    pub fn take_bad(&mut self) -> impl Iterator<Item = UnreadableSample> {
        self.bad.drain(..)
    }

    /// Selects the parts of the sample in `found` and appends them to `parts`.
    fn choose(
        &mut self,
        shard: &Shard,
        row: u64,
        draw: RowDraw,
        WantedParts { needs: wanted, pictures }: WantedParts<'_>,
        limits: Limits,
    ) -> Result<()> {
        let ReadPlan { found: sample, parts, points, .. } = self;
        for need in 0..wanted.len() {
            let chosen = wanted.choose(need, sample).map_err(|e| of_sample(e, sample))?;
            let Some((ext, part)) = chosen else {
                parts.push(PartRef::absent());
                continue;
            };
            let at = part.offset;
            let length = part.length;
            let start = points.len();
            let only_image = is_only_image(sample, part.number);
            // Of files, a part that must be compared is read whole.
            let is_whole = !shard.is_remote() && shard.must_compare(part.number);
            let pictures =
                pictures.filter(|_| wanted.takes_excerpts(need) && only_image && !is_whole);
            let candidate = Candidate { shard, row, part: &part, need, draw };
            let (points, excerpt) = if wanted.wants_entry_points(need) {
                candidate
                    .look_up(pictures, limits, points)
                    .map_err(|e| e.with_key(sample.shown_key()))?
            } else {
                (0, None)
            };
            let pixels =
                if wanted.wants_pixels(need) && is_only_picture(sample, part.number, wanted) {
                    let size = shard.dimensions(row).map_err(|e| of_sample(e, sample))?;
                    size.map(|(width, height)| u64::from(width) * u64::from(height))
                } else {
                    None
                };
            let ext = Some(ext);
            let checksum = part.checksum;
            let points = (start, points);
            let length = excerpt.map_or(length, |excerpt| excerpt.end);
            parts.push(PartRef {
                ext,
                at,
                length,
                excerpt,
                pixels,
                number: part.number,
                header: None,
                checksum,
                within: 0,
                points,
            });
        }
        Ok(())
    }

    /// Appends an item for the sample in `found`, whose parts begin at number `start`.
    fn take_in(
        &mut self,
        draw: RowDraw,
        shard: usize,
        sample: u64,
        start: usize,
        is_suspect: bool,
    ) {
        let RowDraw { row, ordinal, .. } = draw;
        let parts = start..self.parts.len();
        let present = self.parts[parts.clone()].iter().filter(|part| part.ext.is_some());
        let first = present.map(|part| part.at).min().unwrap_or(self.found.first());
        let key = self.keys.len();
        self.keys.extend_from_slice(self.found.key());
        self.items.push(Item {
            row,
            ordinal,
            shard,
            sample,
            parts,
            is_suspect,
            key: key..self.keys.len(),
            first,
        });
    }

    /// Groups the sorted items into runs. An item joins the last run of its shard if that keeps the run
    /// within the limits, and otherwise starts a run.
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
            // A run of one item is accepted whatever its size.
            let reads = self.reads.len()..self.reads.len();
            let run = Run { shard, items: number..number, reads, bytes: 0, reach: limits.gap };
            let run = self.join(run, number, limits, false);
            self.runs.extend(run);
        }
    }

    /// Returns the run with this item appended. If `within_limits` is set and the run would become too
    /// long, or the item begins too far after it, restores `reads` and returns `None`. Offsets in
    /// `parts` need no restoring: the next call for the item overwrites them.
    fn join(&mut self, run: Run, item: usize, limits: Limits, within_limits: bool) -> Option<Run> {
        let ReadPlan { items, parts, reads, order, .. } = self;
        let before = reads.len();
        let last = reads.last().copied();
        order.clear();
        order.extend(items[item].parts.clone().filter(|&part| parts[part].length > 0));
        order.sort_unstable_by_key(|&part| parts[part].at);
        let mut joined = Run { items: run.items.start..item + 1, ..run };
        let mut apart = false;
        // Only the first part decides: a gap between parts of one sample is read with two reads, while
        // a gap before the sample starts a run, which another thread can take.
        for (n, &part) in order.iter().enumerate() {
            let new = place(reads, &mut joined, &mut parts[part], limits);
            apart |= n == 0 && new;
        }
        if within_limits && (apart || joined.bytes > limits.run) {
            reads.truncate(before);
            // `place` may have extended the last read that was there before.
            if let (Some(now), Some(last)) = (reads.last_mut(), last) {
                *now = last;
            }
            return None;
        }
        Some(joined)
    }
}

/// True if part `number` is the only image of its sample. A sidecar has the dimensions of the first image
/// whose header could be read; with several images, it is unknown which one that was.
fn is_only_image(sample: &SampleRow, number: u64) -> bool {
    let mut images = sample.parts().filter(|part| is_image(part.ext));
    images.next().is_some_and(|part| part.number == number) && images.next().is_none()
}

/// True if all other images of the sample are masks of part `number`: they have its size, or the sample is bad.
fn is_only_picture(sample: &SampleRow, number: u64, wanted: &PartNeeds) -> bool {
    let images = sample.parts().filter(|part| is_image(part.ext));
    let mut pictures = images.filter(|part| part.number == number || !wanted.is_mask(part.ext));
    pictures.next().is_some_and(|part| part.number == number) && pictures.next().is_none()
}

/// An error about a sample: with its place.
fn of_sample(error: Error, sample: &SampleRow) -> Error {
    error.with_byte(sample.first()).with_key(sample.shown_key())
}
