//! The naive loader: an epoch as a list, split into batches of the whole job, split into ranks.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use tarflume_order::{
    Contents, Fingerprint, Order, Pass, Remainder, Selection, Shuffle, Split, Steps,
};

/// Rows of one step: position, and whether it is padding.
pub(crate) type Rows = Vec<(u64, bool)>;

/// A data set of shards with `counts` samples.
pub(crate) fn contents(name: &str, counts: &[u64]) -> Arc<Contents> {
    let numbers = counts.iter().map(|n| n.to_string());
    let print = Fingerprint::of(name, numbers);
    Arc::new(Contents::new(print, counts.iter().copied()).unwrap())
}

/// All of a data set.
pub(crate) fn order(counts: &[u64], shuffle: Shuffle) -> Order {
    let contents = contents("oracle", counts);
    let all = Selection::all(contents.samples());
    Order::new(contents, all, shuffle).unwrap()
}

/// The first `samples` of the stream: pass after pass.
pub(crate) fn stream(
    counts: &[u64],
    kept: &[u64],
    shuffle: Shuffle,
    samples: u64,
) -> Vec<(u64, u64)> {
    let mut starts = vec![0];
    let mut end = 0;
    for count in counts {
        end += count;
        let before = kept.iter().filter(|&&ordinal| ordinal < end).count() as u64;
        if before > starts[starts.len() - 1] {
            starts.push(before);
        }
    }
    let starts: Arc<[u64]> = starts.into();
    let passes = (0..).flat_map(|pass| {
        let indexes = Pass::new(starts.clone(), shuffle, pass).cursor(0);
        indexes.map(move |index| (index, pass))
    });
    passes.map(|(index, pass)| (kept[index as usize], pass)).take(samples as usize).collect()
}

/// What rank `rank` of `world` gets of `positions`, which end with the epoch, step by step.
pub(crate) fn steps(
    positions: Range<u64>,
    batch: u64,
    rank: u64,
    world: u64,
    remainder: Remainder,
) -> Vec<Rows> {
    let epoch = positions.end;
    let mut positions: Rows = positions.map(|position| (position, false)).collect();
    let whole = (batch * world) as usize;
    if remainder == Remainder::Drop {
        positions.truncate(positions.len() / whole * whole);
    }
    let mut padding = (0..epoch).cycle().map(|position| (position, true));
    let equal = match remainder {
        Remainder::Pad => whole,
        Remainder::Even => world as usize,
        _ => 1,
    };
    while !positions.len().is_multiple_of(equal) {
        positions.push(padding.next().unwrap());
    }
    let piece = |batch: &[(u64, bool)]| {
        let sizes = (0..world).map(|r| (batch.len() as u64 + world - 1 - r) / world);
        let sizes: Vec<_> = sizes.collect();
        let first = sizes[..rank as usize].iter().sum::<u64>() as usize;
        batch[first..first + sizes[rank as usize] as usize].to_vec()
    };
    positions.chunks(whole).map(piece).filter(|rows| !rows.is_empty()).collect()
}

/// All steps of `steps`, as lists.
pub(crate) fn listed(steps: &Steps) -> Vec<Rows> {
    (0..steps.count()).map(|step| steps.rows(step).collect()).collect()
}

/// One split by position.
pub(crate) fn split(rank: u64, world: u64) -> Split {
    Split::new(rank, world).unwrap()
}

/// Any shuffle, small.
pub(crate) fn shuffles() -> impl Strategy<Value = Shuffle> {
    let seed = 0..1000_u64;
    prop_oneof![
        Just(Shuffle::None),
        seed.clone().prop_map(|seed| Shuffle::Shards { seed }),
        (1..40_u64, seed.clone()).prop_map(|(size, seed)| Shuffle::Buffer { size, seed }),
        (1..9_u64, 1..9_u64, seed.clone()).prop_map(|(block, window, seed)| Shuffle::Blocks {
            block,
            window,
            seed
        }),
        seed.prop_map(|seed| Shuffle::Full { seed }),
    ]
}

/// Uneven shards, some of them empty, with at least one sample.
pub(crate) fn counts() -> impl Strategy<Value = Vec<u64>> {
    let count = prop_oneof![Just(0), 1..5_u64, 1..60_u64];
    prop::collection::vec(count, 1..12).prop_filter("one sample", |c| c.iter().sum::<u64>() > 0)
}

/// Any remainder.
pub(crate) fn remainders() -> impl Strategy<Value = Remainder> {
    let all = [Remainder::Drop, Remainder::Pad, Remainder::Even, Remainder::Uneven];
    prop::sample::select(all.to_vec())
}
