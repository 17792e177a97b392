//! `NewShards`: the shards that an epoch meets for the first time. They are opened many at once.

use crate::dataset::Dataset;
use crate::fetch::plan::Draw;

/// Which shards of a data set no sample was dealt from yet.
pub(crate) struct NewShards {
    seen: Vec<bool>,
    unseen: usize,
}

impl NewShards {
    /// All `shards` shards.
    pub(crate) fn new(shards: usize) -> NewShards {
        NewShards { seen: vec![false; shards], unseen: shards }
    }

    /// Opens those among the shards of `draws` that were not met before.
    pub(crate) fn open_ahead(&mut self, dataset: &Dataset, draws: &[Draw]) {
        if self.unseen == 0 {
            return;
        }
        let (mut fresh, mut last) = (Vec::new(), 0..0);
        for draw in draws {
            if last.contains(&draw.ordinal) {
                continue; // the shard of the draw before
            }
            let Some((shard, row)) = dataset.place(draw.ordinal) else { continue };
            let start = draw.ordinal - row;
            last = start..start + dataset.counts()[shard];
            if !std::mem::replace(&mut self.seen[shard], true) {
                fresh.push(shard);
            }
        }
        self.unseen -= fresh.len();
        dataset.open_ahead(&fresh);
    }
}
