//! `NewShards`: the shards that an epoch has not opened yet. They are opened at the same time.

use tarflume_dataset::Dataset;

use crate::fetch::draw::RowDraw;

/// The shards of a data set from which no sample was drawn yet.
pub(crate) struct NewShards {
    seen: Vec<bool>,
    unseen: usize,
}

impl NewShards {
    /// All `shards` shards.
    pub(crate) fn new(shards: usize) -> NewShards {
        NewShards { seen: vec![false; shards], unseen: shards }
    }

    /// Opens those among the shards of `draws` that are new.
    pub(crate) fn open_ahead(&mut self, dataset: &Dataset, draws: &[RowDraw]) {
        if self.unseen == 0 {
            return;
        }
        let mut new = Vec::new();
        let mut last = 0..0;
        for draw in draws {
            if last.contains(&draw.ordinal) {
                continue; // the shard of the draw before
            }
            let Some((shard, row)) = dataset.place(draw.ordinal) else { continue };
            let start = draw.ordinal - row;
            last = start..start + dataset.counts()[shard];
            if !std::mem::replace(&mut self.seen[shard], true) {
                new.push(shard);
            }
        }
        self.unseen -= new.len();
        dataset.open_ahead(&new);
    }

    /// The number of shards that were opened, and the bytes of their sidecars.
    pub(crate) fn opened(&self, dataset: &Dataset) -> (usize, u64) {
        let opened = dataset.shards().iter().zip(&self.seen).filter(|(_, seen)| **seen);
        opened
            .fold((0, 0), |(shards, bytes), (shard, _)| (shards + 1, bytes + shard.sidecar_bytes()))
    }
}
