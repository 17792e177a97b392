//! `GroupSteps`: the batches of buckets or of packs on one rank, one after the other.

use std::sync::Arc;

use crate::order::{BucketSteps, Draw, PackBatch, PackSteps};

/// A row of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupRow {
    pub(crate) draw: Draw,
    pub(crate) padding: bool,
    /// The number of its pack in the batch; 0 without packs.
    pub(crate) pack: u32,
}

/// The rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct GroupRows {
    pub(crate) rows: Vec<GroupRow>,
    /// The number of packs, if samples are packed.
    pub(crate) packs: Option<u32>,
    /// For each bucket, the samples of the epoch that the whole job has delivered after this batch.
    pub(crate) taken: Option<Arc<[u64]>>,
    /// Samples of the epoch that the whole job has delivered after this batch.
    pub(crate) after: u64,
}

/// The batches of one rank in an epoch.
#[derive(Debug)]
pub(crate) enum GroupSteps {
    Buckets(Box<BucketSteps>),
    Packs(Box<PackedSteps>),
}

/// The packs of one rank in an epoch, and the batch that they are read into.
#[derive(Debug)]
pub(crate) struct PackedSteps {
    steps: PackSteps,
    batch: PackBatch,
}

impl From<BucketSteps> for GroupSteps {
    fn from(steps: BucketSteps) -> GroupSteps {
        GroupSteps::Buckets(Box::new(steps))
    }
}

impl From<PackSteps> for GroupSteps {
    fn from(steps: PackSteps) -> GroupSteps {
        GroupSteps::Packs(Box::new(PackedSteps { steps, batch: PackBatch::default() }))
    }
}

impl GroupSteps {
    /// The number of steps.
    pub(crate) fn count(&self) -> u64 {
        match self {
            GroupSteps::Buckets(steps) => steps.count(),
            GroupSteps::Packs(own) => own.steps.count(),
        }
    }

    /// Fills `into` with the rows of the next batch. Returns false after the last one.
    pub(crate) fn next_into(&mut self, into: &mut GroupRows) -> bool {
        into.rows.clear();
        match self {
            GroupSteps::Buckets(steps) => {
                let Some(batch) = steps.next_batch() else { return false };
                let rows = batch.rows.iter();
                let rows =
                    rows.map(|row| GroupRow { draw: row.draw, padding: row.padding, pack: 0 });
                into.rows.extend(rows);
                into.after = batch.taken.iter().sum();
                into.taken = Some(batch.taken);
            }
            GroupSteps::Packs(own) => {
                let PackedSteps { steps, batch } = &mut **own;
                if !steps.next_into(batch) {
                    return false;
                }
                let rows = batch.rows.iter();
                let rows = rows.map(|row| GroupRow {
                    draw: row.draw,
                    padding: row.padding,
                    pack: row.pack,
                });
                into.rows.extend(rows);
                into.after = batch.position;
                into.packs = Some(batch.packs);
            }
        }
        true
    }
}
