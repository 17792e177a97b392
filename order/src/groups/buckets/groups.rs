//! `Groups`: samples of one bucket that are delivered together, as they are found along the order.

use std::sync::Arc;

use crate::samples::buckets::Buckets;
use crate::sequence::parts::Cursor;
use crate::sequence::stream::Draw;

/// Samples of one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) bucket: usize,
    pub(super) draws: Vec<Draw>,
}

/// An iterator over the groups of an epoch: goes along the order, puts each sample into the list of its bucket, and returns a
/// list as soon as it is full. Lists that are not full at the end come last, in the order of buckets.
///
/// Memory: one list for each bucket.
#[derive(Debug)]
pub(super) struct Groups {
    buckets: Buckets,
    cursor: Cursor,
    /// Batches of a group.
    batches: u64,
    /// For each bucket, samples at its beginning that were delivered before.
    passed: Arc<[u64]>,
    /// For each bucket, samples that were seen.
    seen: Vec<u64>,
    pending: Vec<Vec<Draw>>,
    /// The next bucket whose list is returned although it is not full; `None` before the end of the order, or without these.
    rest: Option<usize>,
    keep_rest: bool,
}

impl Groups {
    /// `cursor` is at the beginning of the epoch. Lists that are not full are left out unless `keep_rest`.
    pub(super) fn new(
        buckets: &Buckets,
        cursor: Cursor,
        batches: u64,
        passed: Arc<[u64]>,
        keep_rest: bool,
    ) -> Groups {
        let count = buckets.count();
        Groups {
            buckets: buckets.clone(),
            cursor,
            batches,
            passed,
            seen: vec![0; count],
            pending: vec![Vec::new(); count],
            rest: None,
            keep_rest,
        }
    }

    /// Reads the next group into `group`, whose memory is used again. Returns false, and leaves it, after the last one.
    pub(super) fn next_into(&mut self, group: &mut Group) -> bool {
        if self.rest.is_none() && self.next_full(group) {
            return true;
        }
        let from = self.rest.unwrap_or(0);
        let left = (from..self.pending.len()).find(|&bucket| !self.pending[bucket].is_empty());
        let bucket = left.filter(|_| self.keep_rest);
        self.rest = Some(bucket.map_or(self.pending.len(), |bucket| bucket + 1));
        let Some(bucket) = bucket else { return false };
        self.give(bucket, group);
        true
    }

    fn next_full(&mut self, group: &mut Group) -> bool {
        while let Some(draw) = self.cursor.next() {
            let bucket = self.buckets.bucket(draw.ordinal);
            self.seen[bucket] += 1;
            if self.seen[bucket] <= self.passed[bucket] {
                continue;
            }
            self.pending[bucket].push(draw);
            if self.pending[bucket].len() as u64 == self.buckets.rows(bucket) * self.batches {
                self.give(bucket, group);
                return true;
            }
        }
        false
    }

    fn give(&mut self, bucket: usize, group: &mut Group) {
        group.bucket = bucket;
        group.draws.clear();
        std::mem::swap(&mut group.draws, &mut self.pending[bucket]);
    }
}
