//! `Sampler`: from the builder's options to an `Order`: which samples an epoch has, and in which order. No I/O.

use std::sync::Arc;

use tarflume_dataset::{Dataset, Subset};
use tarflume_formats::message;
use tarflume_formats::message::Phrase;
use tarflume_types::{Error, Result};

use crate::loader::arrays::rows::ArrayRows;
use crate::loader::config::weights::Weights;
use crate::order::{Contents, Order, Selection, Shuffle};

/// How long an epoch is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EpochLength {
    Passes(u64),
    Samples(u64),
}

/// The options that determine the order.
pub(crate) struct Sampler<'a> {
    pub(crate) dataset: &'a Dataset,
    /// In place of the data set.
    pub(crate) arrays: Option<&'a ArrayRows>,
    pub(crate) mixed: &'a [(Dataset, u64)],
    pub(crate) reweighed: Vec<(u64, u64, Vec<u64>)>,
    pub(crate) left_out: Vec<u64>,
    pub(crate) selected: Option<Subset>,
    pub(crate) weights: Option<Weights>,
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
    pub(crate) shuffle: Shuffle,
    pub(crate) epoch: EpochLength,
}

impl Sampler<'_> {
    /// The order.
    ///
    /// # Errors
    /// No sample is left, or the mixture is impossible.
    pub(crate) fn order(self) -> Result<Order> {
        let mut order = match self.mixed {
            [] => {
                let samples = Chosen { left_out: self.left_out, selected: self.selected, first: 0 };
                let contents = match self.arrays {
                    Some(arrays) => arrays.contents()?,
                    None => contents_of(self.dataset)?,
                };
                let (contents, selection) = samples.of(contents, self.skip, self.take)?;
                match &self.weights {
                    Some(weights) => {
                        weights.order(self.dataset, contents, &selection, self.shuffle)?
                    }
                    None => Order::new(contents, selection, self.shuffle)?,
                }
            }
            _ if self.weights.is_some() => {
                let text = "weights of classes or samples are for one data set; a mixture has a \
                            weight for each data set";
                return Err(Error::usage(text));
            }
            _ if self.skip > 0 || self.take.is_some() => {
                let text = message!(
                    "take and skip don't say of which data set of a mixture; use {select}";
                    select = Phrase::Select
                );
                return Err(Error::usage(text));
            }
            mixed => {
                let mut orders = Vec::new();
                let mut first = 0;
                for (dataset, weight) in mixed {
                    let range = first..first + dataset.len();
                    let own = self.left_out.iter().filter(|o| range.contains(o)).map(|o| o - first);
                    let left_out = own.collect();
                    let samples = Chosen { left_out, selected: self.selected.clone(), first };
                    let (contents, selection) = samples.of(contents_of(dataset)?, 0, None)?;
                    orders.push((Order::new(contents, selection, self.shuffle)?, *weight));
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

/// What an order must know of a data set.
fn contents_of(dataset: &Dataset) -> Result<Contents> {
    Ok(Contents::new(dataset.fingerprint()?, dataset.counts().iter().copied())?)
}

/// The samples that take part, before `skip` and `take`.
struct Chosen {
    left_out: Vec<u64>,
    selected: Option<Subset>,
    /// The ordinal of the data set's first sample in `selected`.
    first: u64,
}

impl Chosen {
    fn of(
        self,
        contents: Contents,
        skip: u64,
        take: Option<u64>,
    ) -> Result<(Arc<Contents>, Selection)> {
        let contents = Arc::new(contents);
        let mut selection = Selection::leave_out(contents.samples(), self.left_out)?;
        if let Some(subset) = self.selected {
            let chosen = Selection::filter(contents.samples(), |ordinal| {
                subset.contains(self.first + ordinal)
            })?;
            selection = if selection.is_all() { chosen } else { selection.and(&chosen)? };
        }
        if skip > 0 {
            selection = selection.skip(skip)?;
        }
        if let Some(take) = take {
            selection = selection.take(take)?;
        }
        Ok((contents, selection))
    }
}
