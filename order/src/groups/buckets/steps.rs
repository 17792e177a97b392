//! `BucketSteps`: the batches of one rank in an epoch, one after the other.

use std::sync::Arc;

use super::groups::{Group, Groups};
use super::same::SameBucket;
use crate::job::split::Split;
use crate::job::steps::Remainder;
use crate::samples::buckets::Buckets;
use crate::sequence::stream::Draw;

/// A row of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketRow {
    /// Its sample.
    pub draw: Draw,
    /// Whether the sample is delivered by another row, too.
    pub padding: bool,
}

/// A batch of one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketBatch {
    /// The number of the bucket.
    pub bucket: usize,
    /// Its rows.
    pub rows: Vec<BucketRow>,
    /// For each bucket, the samples of the epoch that the whole job has delivered after this step.
    pub taken: Arc<[u64]>,
}

/// The steps of a rank, made by [`BucketShare::steps`](crate::BucketShare::steps). Each batch costs a walk along the samples of
/// all ranks.
#[derive(Debug)]
pub struct BucketSteps {
    groups: Groups,
    rank: u64,
    world: u64,
    buckets: Buckets,
    remainder: Remainder,
    same: SameBucket,
    count: u64,
    step: u64,
    taken: Vec<u64>,
    /// The group that was read last. A rank repeats it that has none in the last step.
    group: Group,
}

impl BucketSteps {
    pub(super) fn new(
        groups: Groups,
        split: Split,
        buckets: &Buckets,
        remainder: Remainder,
        same: SameBucket,
        count: u64,
        taken: &[u64],
    ) -> BucketSteps {
        BucketSteps {
            groups,
            rank: split.rank(),
            world: split.world(),
            buckets: buckets.clone(),
            remainder,
            same,
            count,
            step: 0,
            taken: taken.to_vec(),
            group: Group::default(),
        }
    }

    /// The number of steps from the first one that this returns. It is equal on all ranks, unless the remainder is [`Remainder::Uneven`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of the next step, from 0.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The batch of the next step; `None` after the last one.
    pub fn next_batch(&mut self) -> Option<BucketBatch> {
        if self.step == self.count {
            return None;
        }
        let mut batch = match self.same {
            SameBucket::Rank => self.own_group(),
            SameBucket::Step => self.own_piece(),
        };
        self.step += 1;
        batch.taken = self.taken.as_slice().into();
        Some(batch)
    }

    /// The group of this rank among as many as there are ranks.
    fn own_group(&mut self) -> BucketBatch {
        let mut own = None;
        for rank in 0..self.world {
            if !self.take() {
                break;
            }
            if rank == self.rank {
                own = Some(self.whole_group(false));
            }
        }
        own.unwrap_or_else(|| self.whole_group(true))
    }

    /// The last group as a batch.
    fn whole_group(&self, padding: bool) -> BucketBatch {
        let Group { bucket, ref draws } = self.group;
        let rows = match self.remainder {
            Remainder::Pad => self.buckets.rows(bucket) as usize,
            Remainder::Drop | Remainder::Even | Remainder::Uneven => draws.len(),
        };
        let rows = (0..rows).map(|row| BucketRow {
            draw: draws[row % draws.len()],
            padding: padding || row >= draws.len(),
        });
        BucketBatch { bucket, rows: rows.collect(), ..BucketBatch::default() }
    }

    /// The part of this rank in the next group.
    fn own_piece(&mut self) -> BucketBatch {
        let is_there = self.take();
        assert!(is_there, "the steps were counted");
        let Group { bucket, ref draws } = self.group;
        let length = draws.len() as u64;
        let each = match self.remainder {
            Remainder::Even => length.div_ceil(self.world),
            Remainder::Drop | Remainder::Pad | Remainder::Uneven => self.buckets.rows(bucket),
        };
        let rows = (self.rank * each..(self.rank + 1) * each)
            .map(|row| BucketRow { draw: draws[(row % length) as usize], padding: row >= length });
        BucketBatch { bucket, rows: rows.collect(), ..BucketBatch::default() }
    }

    /// Reads the next group of the whole job, and counts it as delivered. Returns false, and keeps the last one, if there is none.
    fn take(&mut self) -> bool {
        let is_there = self.groups.next_into(&mut self.group);
        if is_there {
            self.taken[self.group.bucket] += self.group.draws.len() as u64;
        }
        is_there
    }
}
