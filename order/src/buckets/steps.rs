//! `BucketSteps`: the batches of one rank in an epoch, one after the other.

use std::sync::Arc;

use super::groups::{Group, Groups};
use super::same::SameBucket;
use crate::job::split::Split;
use crate::job::steps::{Remainder, piece};
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
    group: Group,
    /// The last group that has samples: what a rank repeats that has none in the last step.
    last: Group,
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
            last: Group::default(),
        }
    }

    /// The number of steps, those before included. It is equal on all ranks, unless the remainder is [`Remainder::Uneven`].
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
                own = Some(self.group.clone());
            }
        }
        let padding = own.is_none();
        let group = own.unwrap_or_else(|| self.last.clone());
        let rows = match self.remainder {
            Remainder::Pad => self.buckets.rows(group.bucket) as usize,
            _ => group.draws.len(),
        };
        let rows = (0..rows).map(|row| BucketRow {
            draw: group.draws[row % group.draws.len()],
            padding: padding || row >= group.draws.len(),
        });
        BucketBatch { bucket: group.bucket, rows: rows.collect(), ..BucketBatch::default() }
    }

    /// The part of this rank in the next group that has one.
    fn own_piece(&mut self) -> BucketBatch {
        loop {
            let is_there = self.take();
            assert!(is_there, "the steps were counted");
            let draws = &self.group.draws;
            let length = draws.len() as u64;
            let full = self.buckets.rows(self.group.bucket);
            let range = match self.remainder {
                Remainder::Uneven => piece(length, self.rank, self.world),
                Remainder::Even => {
                    let each = length.div_ceil(self.world);
                    self.rank * each..(self.rank + 1) * each
                }
                Remainder::Drop | Remainder::Pad => self.rank * full..(self.rank + 1) * full,
            };
            if range.is_empty() {
                continue;
            }
            let rows = range.map(|row| BucketRow {
                draw: draws[(row % length) as usize],
                padding: row >= length,
            });
            let bucket = self.group.bucket;
            return BucketBatch { bucket, rows: rows.collect(), ..BucketBatch::default() };
        }
    }

    /// Reads the next group of the whole job, and counts it as delivered.
    fn take(&mut self) -> bool {
        if !self.groups.next_into(&mut self.group) {
            return false;
        }
        self.taken[self.group.bucket] += self.group.draws.len() as u64;
        if self.remainder != Remainder::Drop && self.same == SameBucket::Rank {
            self.last.clone_from(&self.group);
        }
        true
    }
}
