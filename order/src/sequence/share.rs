//! The order of one rank: the whole order if it is split by position, one over its own shards if it is split by shard.

use super::epochs::Order;
use super::stream::Stream;
use crate::error::{Advice, Error, Result};
use crate::job::split::{By, Split};
use crate::job::steps::{Remainder, Steps};
use crate::samples::selection::Selection;

/// A rank's share of an order.
///
/// ```
/// use std::sync::Arc;
/// use tarflume_order::{Contents, Fingerprint, Order, Remainder, Selection, Share, Shuffle, Split};
///
/// # fn main() -> tarflume_order::Result<()> {
/// let contents = Contents::new(Fingerprint::of("data", ["v1"]), [100; 8])?;
/// let order = Order::new(Arc::new(contents), Selection::all(800), Shuffle::Full { seed: 42 })?;
/// let share = Share::new(&order, Split::new(1, 4)?.by_shard())?;
/// assert_eq!(share.order().samples(), 200); // the samples of shards 1 and 5
/// assert_eq!(share.steps(0, 50, Remainder::Drop)?.count(), 4);
/// # Ok(())
/// # }
/// ```
///
/// By shard, each rank has its own stream over its shards' selected samples; ordinals stay those of
/// the whole data set. Its epoch is as many passes as the whole order's; an epoch of other length,
/// and a mixture's, is distributed evenly.
#[derive(Debug, Clone)]
pub struct Share {
    split: Split,
    order: Order,
    /// By shard: the samples of each rank's epoch.
    epochs: Vec<u64>,
}

impl Share {
    /// The share of `split` in `order`.
    ///
    /// # Errors
    /// By shard: fewer shards than ranks, or a rank without a selected sample.
    pub fn new(order: &Order, split: Split) -> Result<Share> {
        if split.by() == By::Position {
            return Ok(Share { split, order: order.clone(), epochs: Vec::new() });
        }
        let world = split.world();
        let streams = order.parts().streams();
        if streams.iter().any(|stream| stream.selection.repeats()) {
            let text = "with weights of samples, ranks can't have shards of their own; ";
            return Err(Error::usage(text).advise(Advice::SplitByPosition));
        }
        let owned = streams.iter().map(|stream| owned(stream, world));
        let owned = owned.collect::<Result<Vec<_>>>()?;
        let whole = order.epoch_samples();
        let epochs: Vec<u64> = match &owned[..] {
            [owned] if whole.is_multiple_of(order.samples()) => {
                owned.iter().map(|n| n * (whole / order.samples())).collect()
            }
            _ => (0..world).map(|r| whole / world + u64::from(r < whole % world)).collect(),
        };
        let own = streams.iter().map(|stream| own_shards(stream, split)).collect::<Result<_>>()?;
        let own = order.narrowed(own, epochs[split.rank() as usize], world)?;
        Ok(Share { split, order: own, epochs })
    }

    /// The order whose positions [`Steps::rows`] gives.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The rank of this share.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The steps from `position` on, which counts samples that the whole job has delivered.
    ///
    /// # Errors
    /// As [`Steps::by_position`]; by shard also a position that another world left.
    pub fn steps(&self, position: u64, batch: u64, remainder: Remainder) -> Result<Steps> {
        let split = self.split;
        if split.by() == By::Position {
            let epoch = self.order.epoch_samples();
            return Steps::by_position(epoch, position, batch, split, remainder);
        }
        let world = split.world();
        if !position.is_multiple_of(world) {
            let text = format!(
                "position {position} is no multiple of {world} ranks: by shard, a job goes on with \
                 the number of ranks it had; "
            );
            return Err(Error::usage(text).advise(Advice::SplitByPosition).and(" to change it"));
        }
        Steps::by_shard(&self.epochs, position / world, batch, split, remainder)
    }
}

/// Selected samples of each rank's shards.
fn owned(stream: &Stream, world: u64) -> Result<Vec<u64>> {
    let shards = stream.contents.shards();
    if (shards as u64) < world {
        let text = format!("{shards} shards can't be dealt to {world} ranks; ");
        return Err(Error::usage(text).advise(Advice::SplitByPosition));
    }
    let mut owned = vec![0; world as usize];
    let indexes =
        stream.contents.starts().iter().map(|&start| stream.selection.indexes_before(start));
    let indexes: Vec<u64> = indexes.collect();
    for (shard, ends) in indexes.windows(2).enumerate() {
        owned[shard % world as usize] += ends[1] - ends[0];
    }
    match owned.iter().position(|&samples| samples == 0) {
        Some(rank) => {
            let text = format!("the shards of rank {rank} of {world} have no selected sample; ");
            Err(Error::usage(text).advise(Advice::SplitByPosition))
        }
        None => Ok(owned),
    }
}

fn own_shards(stream: &Stream, split: Split) -> Result<Selection> {
    let starts = stream.contents.starts().windows(2).enumerate();
    let mine = starts.filter(|(shard, _)| *shard as u64 % split.world() == split.rank());
    let ranges = mine.map(|(_, ends)| ends[0]..ends[1]);
    stream.selection.and(&Selection::ranges(stream.contents.samples(), ranges)?)
}
