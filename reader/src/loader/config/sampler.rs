//! Which samples take part, and in which order: from the builder's words to an `Order`. No I/O.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::order::{Contents, Order, Selection, Shuffle};

/// How long an epoch is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EpochLength {
    Passes(u64),
    Samples(u64),
}

/// Which samples take part, and how.
pub(crate) struct Sampler<'a> {
    pub(crate) dataset: &'a Dataset,
    pub(crate) mixed: &'a [(Dataset, u64)],
    pub(crate) reweighed: Vec<(u64, u64, Vec<u64>)>,
    pub(crate) left_out: Vec<u64>,
    pub(crate) range: (u64, Option<u64>),
    pub(crate) shuffle: Shuffle,
    pub(crate) epoch: EpochLength,
}

impl Sampler<'_> {
    /// The order that is meant.
    ///
    /// # Errors
    /// Nothing is left; a mixture that can't be dealt.
    pub(crate) fn order(self) -> Result<Order> {
        let mut order = match self.mixed {
            [] => one(self.dataset, self.left_out, self.range, self.shuffle)?,
            _ if self.range != (0, None) => {
                let text = "take and skip don't say of which data set of a mixture; use filter";
                return Err(Error::usage(text));
            }
            mixed => {
                let mut orders = Vec::new();
                let mut first = 0;
                for (dataset, weight) in mixed {
                    let range = first..first + dataset.len();
                    let own = self.left_out.iter().filter(|o| range.contains(o)).map(|o| o - first);
                    let own = own.collect();
                    orders.push((one(dataset, own, (0, None), self.shuffle)?, *weight));
                    first = range.end;
                }
                Order::mixture(orders)?
            }
        };
        order = match self.epoch {
            EpochLength::Passes(1) => order,
            EpochLength::Passes(passes) => order.repeat(passes)?,
            EpochLength::Samples(samples) => order.epoch_length(samples)?,
        };
        for (epoch, position, weights) in self.reweighed {
            order = order.reweigh(epoch, position, weights)?;
        }
        Ok(order)
    }
}

fn one(
    dataset: &Dataset,
    left_out: Vec<u64>,
    (skip, take): (u64, Option<u64>),
    shuffle: Shuffle,
) -> Result<Order> {
    let contents =
        Arc::new(Contents::new(dataset.fingerprint()?, dataset.counts().iter().copied())?);
    let mut selection = Selection::leave_out(contents.samples(), left_out)?;
    if skip > 0 {
        selection = selection.skip(skip)?;
    }
    if let Some(take) = take {
        selection = selection.take(take)?;
    }
    Ok(Order::new(contents, selection, shuffle)?)
}
