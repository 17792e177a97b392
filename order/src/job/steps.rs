//! The steps of one epoch for one rank: which positions each batch takes.
//!
//! By position, batch k of the whole job is positions p + k·G .. p + (k+1)·G, with G = world · batch;
//! rank r takes the r-th piece of it. So batch k is the same set for every world that divides G.

use std::iter::FusedIterator;
use std::ops::Range;

use super::split::{By, Split};
use crate::error::{Advice, Error, Result};
use crate::words;

/// What happens to the samples that do not fill the last batch of the whole job. As text: `drop`, `pad`, `even`, `uneven`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Remainder {
    /// They are dropped: all steps are full, all ranks have the same number of steps.
    #[default]
    Drop,
    /// The batch is filled with positions from the epoch's beginning, marked as padding: all steps
    /// are full, all ranks have the same number of steps.
    Pad,
    /// All ranks get equal shares of them: the last batch is smaller, of the same size on all ranks.
    /// Where they do not divide, fewer rows than there are ranks repeat positions from the epoch's
    /// beginning, marked as padding. All ranks have the same number of steps and of rows.
    Even,
    /// They are dealt once: the last batch is smaller, by one row on some ranks, and a rank without
    /// rows has one step less.
    Uneven,
}

words!(Remainder, "the remainder", {
    Drop => "drop",
    Pad => "pad",
    Even => "even",
    Uneven => "uneven",
});

/// The steps of a rank from some position of an epoch to its end.
///
/// ```
/// use tarflume_order::{Remainder, Split, Steps};
///
/// // 1,000 samples, four ranks, batches of 100: two full batches of the whole job, and 200 samples left.
/// let steps = |remainder| Steps::by_position(1000, 0, 100, Split::new(1, 4)?, remainder);
/// assert_eq!(steps(Remainder::Drop)?.count(), 2);
/// assert_eq!(steps(Remainder::Pad)?.count(), 3);
/// let last: Vec<_> = steps(Remainder::Uneven)?.rows(2).collect();
/// assert_eq!((last.len(), last[0]), (50, (850, false))); // a position, and whether it is padding
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    split: Split,
    remainder: Remainder,
    /// Rows a rank.
    batch: u64,
    /// From a batch's first position to the next one's.
    stride: u64,
    /// Positions of the epoch; by shard, of this rank's own.
    epoch: u64,
    /// By shard, positions of the rank that has most of them.
    longest: u64,
    start: u64,
    count: u64,
    /// Where the whole job's epoch ends.
    end: u64,
}

impl Steps {
    /// The steps of a split by position: of an epoch of `epoch` samples from `start` on, `batch` rows on each rank.
    ///
    /// # Errors
    /// The batch is 0 or too large to count; the start is past the end; with [`Remainder::Drop`], no batch is full.
    pub fn by_position(
        epoch: u64,
        start: u64,
        batch: u64,
        split: Split,
        remainder: Remainder,
    ) -> Result<Steps> {
        let stride = stride(batch, split.world())?;
        check_start(start, epoch)?;
        let left = epoch - start;
        let count = match remainder {
            Remainder::Drop => left / stride,
            Remainder::Pad | Remainder::Even => left.div_ceil(stride),
            Remainder::Uneven => {
                let last = piece(left % stride, split.rank(), split.world());
                left / stride + u64::from(!last.is_empty())
            }
        };
        let steps = Steps {
            split,
            remainder,
            batch,
            stride,
            epoch,
            longest: epoch,
            start,
            count,
            end: epoch,
        };
        steps.not_all_dropped(epoch, stride)
    }

    /// The steps of a split by shard: `epochs` are the samples of each rank's epoch, `start` is the number that each has
    /// delivered.
    ///
    /// # Errors
    /// As [`Steps::by_position`].
    pub fn by_shard(
        epochs: &[u64],
        start: u64,
        batch: u64,
        split: Split,
        remainder: Remainder,
    ) -> Result<Steps> {
        stride(batch, split.world())?;
        let longest = epochs.iter().copied().max().unwrap_or(0);
        let least = epochs.iter().copied().min().unwrap_or(0);
        let Some(&epoch) = usize::try_from(split.rank()).ok().and_then(|r| epochs.get(r)) else {
            return Err(Error::usage(format!("no samples are known of rank {}", split.rank())));
        };
        check_start(start, longest)?;
        let count = match remainder {
            Remainder::Drop => least.saturating_sub(start) / batch,
            Remainder::Pad | Remainder::Even => (longest - start).div_ceil(batch),
            Remainder::Uneven => epoch.saturating_sub(start).div_ceil(batch),
        };
        let end = longest.saturating_mul(split.world());
        let steps =
            Steps { split, remainder, batch, stride: batch, epoch, longest, start, count, end };
        steps.not_all_dropped(least, batch)
    }

    fn not_all_dropped(self, samples: u64, needed: u64) -> Result<Steps> {
        let all_dropped = self.start == 0 && samples > 0 && self.count == 0;
        if !all_dropped || self.remainder != Remainder::Drop {
            return Ok(self);
        }
        let batch = self.batch;
        let world = self.split.world();
        Err(match self.split.by() {
            By::Position => Error::usage(format!(
                "an epoch of {samples} samples is less than one batch of the whole job, {needed} \
                 ({world} ranks of {batch}), and all would be dropped; make the batch smaller, or \
                 pad"
            )),
            By::Shard => Error::usage(format!(
                "one rank's shards have {samples} samples, less than its batch of {needed}, and \
                 all would be dropped; make the batch smaller, pad, or "
            ))
            .advise(Advice::SplitByPosition),
        })
    }

    /// Number of steps of this rank.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Rows of a full batch of this rank.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The rows of step `step`; no rows past the last step.
    pub fn rows(&self, step: u64) -> Rows {
        if step >= self.count {
            return self.between(0, 0);
        }
        let (rank, world) = match self.split.by() {
            By::Position => (self.split.rank(), self.split.world()),
            By::Shard => (0, 1),
        };
        let first = self.start + step * self.stride;
        let left = self.epoch.saturating_sub(first);
        if self.remainder == Remainder::Uneven && left < self.stride {
            let piece = piece(left, rank, world);
            return self.between(first + piece.start, first + piece.end);
        }
        let each = match self.remainder {
            Remainder::Even => (self.longest - first).div_ceil(world).min(self.batch),
            _ => self.batch,
        };
        let first = first + rank * each;
        self.between(first, first + each)
    }

    fn between(&self, next: u64, end: u64) -> Rows {
        Rows { next, end, epoch: self.epoch }
    }

    /// The position that a state saved after step `step` has: samples of the epoch that the whole
    /// job has delivered, padding not counted. By shard, a rank that has finished its own samples counts as many as the
    /// others.
    pub fn position_after(&self, step: u64) -> u64 {
        let rows = step.saturating_add(1).saturating_mul(self.stride);
        let delivered = self.start.saturating_add(rows);
        match self.split.by() {
            By::Position => delivered.min(self.end),
            By::Shard => delivered.saturating_mul(self.split.world()).min(self.end),
        }
    }

    /// The positions that these steps deliver, padding not counted: by position, of all ranks
    /// together; by shard, of this rank's own epoch.
    pub fn covered(&self) -> Range<u64> {
        let start = self.start.min(self.epoch);
        match (self.remainder, self.split.by()) {
            (Remainder::Uneven, By::Position) => start..self.epoch,
            _ => start..(self.start + self.count * self.stride).clamp(start, self.epoch),
        }
    }
}

/// Rows of the whole job's batch.
fn stride(batch: u64, world: u64) -> Result<u64> {
    let stride = batch.checked_mul(world).filter(|&rows| rows > 0 && rows < 1 << 62);
    stride.ok_or_else(|| {
        Error::usage(format!("a batch of {batch} rows on each of {world} ranks is impossible"))
    })
}

fn check_start(start: u64, epoch: u64) -> Result<()> {
    if start > epoch {
        return Err(Error::usage(format!(
            "position {start} is past the end of the epoch, which has {epoch} samples"
        )));
    }
    Ok(())
}

/// Piece `rank` of `rows` rows cut for `world` ranks; the first ones have a row more.
fn piece(rows: u64, rank: u64, world: u64) -> Range<u64> {
    let each = rows / world;
    let more = rows % world;
    let start = rank * each + rank.min(more);
    start..start + each + u64::from(rank < more)
}

/// The rows of a step: positions in the epoch, and whether each is padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    next: u64,
    end: u64,
    epoch: u64,
}

impl Iterator for Rows {
    /// Position, and true if the row is padding.
    type Item = (u64, bool);

    fn next(&mut self) -> Option<(u64, bool)> {
        let at = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some((at % self.epoch, at >= self.epoch))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl FusedIterator for Rows {}

impl ExactSizeIterator for Rows {}
