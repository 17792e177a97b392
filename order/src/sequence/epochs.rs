//! The order of a loader: an endless stream of samples, cut into epochs.
//!
//! Depends on (data sets, selection, shuffle, seed, weights) and nothing else: not on ranks, batch
//! size, threads or prefetch.

use std::ops::Range;
use std::sync::Arc;

use super::parts::{Cursor, Parts};
use super::stream::Stream;
use crate::error::{Advice, Error, Result};
use crate::mixture::deal::Deal;
use crate::mixture::schedule::{Schedule, Weights, gcd};
use crate::samples::contents::{Contents, MAX_SAMPLES};
use crate::samples::fingerprint::Fingerprint;
use crate::samples::list::Grouped;
use crate::samples::selection::Selection;
use crate::shuffle::Shuffle;

/// The sample at each position of each epoch. Clones share everything.
///
/// ```
/// use std::sync::Arc;
/// use tarflume_order::{Contents, Fingerprint, Order, Selection, Shuffle};
///
/// # fn main() -> tarflume_order::Result<()> {
/// let of = |name: &str, samples| -> tarflume_order::Result<Order> {
///     let contents = Contents::new(Fingerprint::of("data", [name]), [samples])?;
///     Order::new(Arc::new(contents), Selection::all(samples), Shuffle::Full { seed: 42 })
/// };
/// // Ordinals of dogs begin with 1,000. Every prefix has 70 % cats, to within one sample.
/// let order = Order::mixture([(of("cats", 1000)?, 70), (of("dogs", 500)?, 30)])?;
/// let cats = order.cursor(0, 0)?.take(100).filter(|draw| draw.ordinal < 1000).count();
/// assert_eq!(cats, 70);
/// # Ok(())
/// # }
/// ```
///
/// The stream is pass after pass over the selected samples; epoch e is stream positions
/// `e * n .. (e + 1) * n` with n its length, which is one pass unless set. Of a mixture, n is the
/// sum of the data sets' selected samples unless set: its smaller ones with large weights come
/// several times in it; others do not reach their end, and the next epoch continues there.
#[derive(Debug, Clone)]
pub struct Order {
    parts: Parts,
    epoch: u64,
}

impl Order {
    /// The selected samples of one data set.
    ///
    /// # Errors
    /// Nothing is selected, or the selection is of another data set.
    pub fn new(contents: Arc<Contents>, selection: Selection, shuffle: Shuffle) -> Result<Order> {
        Ok(Order::of(Parts::new(vec![Stream::new(contents, selection, shuffle)?], None)))
    }

    /// Several data sets, each with its weight: of any n samples from the start or from a change of
    /// weights, each gives its share, less than one sample more or less. An ordinal counts through
    /// the data sets in the given order; epoch lengths set before are forgotten.
    ///
    /// # Errors
    /// A part is a mixture; weights that are all 0 or add up to too much; too many samples.
    pub fn mixture(parts: impl IntoIterator<Item = (Order, u64)>) -> Result<Order> {
        let mut streams = Vec::new();
        let mut weights = Vec::new();
        let mut offset = 0_u64;
        for (part, weight) in parts {
            let stream = match part.parts.streams() {
                [stream] if part.parts.schedule().is_none() => stream,
                _ => {
                    return Err(Error::usage(
                        "a mixture and an order by classes can't be part of a mixture; give all data \
                     sets with their weights to one",
                    ));
                }
            };
            streams.push(stream.with(stream.selection.clone(), offset)?);
            weights.push(weight);
            offset = (offset.checked_add(stream.contents.samples()))
                .filter(|&sum| sum <= MAX_SAMPLES)
                .ok_or_else(|| Error::usage("the mixture has more samples than can be counted"))?;
        }
        if streams.is_empty() {
            return Err(Error::usage("a mixture of no data sets: give one or more"));
        }
        Ok(Order::of(Parts::new(streams, Some(Schedule::new(weights)?))))
    }

    /// The selected samples of one data set by class: `classes` has the class of each sample, `weights` the weight
    /// of each class. Each round, as many positions as the weights add up to, draws a class as often as its weight;
    /// the seed of the shuffle decides where. Each class has its own passes, so samples of a small class with a
    /// large weight come several times in an epoch. An epoch has as many samples as the classes together.
    ///
    /// Takes 4 bytes of memory for each selected sample.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tarflume_order::{Contents, Fingerprint, Order, Selection, Shuffle};
    ///
    /// # fn main() -> tarflume_order::Result<()> {
    /// let contents = Arc::new(Contents::new(Fingerprint::of("data", ["v1"]), [100])?);
    /// let classes: Vec<i64> = (0..100).map(|n| i64::from(n >= 90)).collect(); // 90 of class 0, 10 of class 1
    /// let shuffle = Shuffle::Full { seed: 42 };
    /// let order = Order::by_class(contents, &Selection::all(100), &classes, [(0, 1), (1, 1)], shuffle)?;
    /// let rare = order.cursor(0, 0)?.filter(|draw| draw.ordinal >= 90).count();
    /// assert_eq!(rare, 50);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `classes` has another length than the data set; a selected sample is of a class without a weight; a class with
    /// a weight has no selected sample; weights that are all 0 or add up to too much.
    pub fn by_class(
        contents: Arc<Contents>,
        selection: &Selection,
        classes: &[i64],
        weights: impl IntoIterator<Item = (i64, u64)>,
        shuffle: Shuffle,
    ) -> Result<Order> {
        let grouped = grouped(selection, classes, "class")?;
        let mut left: std::collections::BTreeMap<i64, u64> = weights.into_iter().collect();
        let mut shares = Vec::new();
        for (class, _) in &grouped.groups {
            shares.push(left.remove(class).ok_or_else(|| {
                Error::usage(format!(
                    "class {class} has no weight; give it one, or 0 to leave its samples out"
                ))
            })?);
        }
        if let Some((class, weight)) = left.into_iter().find(|(_, weight)| *weight > 0) {
            return Err(Error::usage(format!(
                "class {class} has weight {weight}, but no selected sample has this class"
            )));
        }
        let print = grouped.fingerprint(shares.iter().map(|&share| share as i64));
        let seed = (shuffle != Shuffle::None).then(|| shuffle.seed());
        let samples = contents.samples();
        let mut streams = Vec::new();
        for (number, (class, _)) in grouped.groups.iter().enumerate() {
            if shares[number] > 0 {
                let listed = Selection::listed(samples, grouped.listed(&[(number, 1)]));
                let stream = Stream::new(contents.clone(), listed, shuffle)?;
                streams.push(stream.of_class(*class as u64));
            }
        }
        shares.retain(|share| *share > 0);
        let deal = Deal::new(&shares, seed)?;
        Ok(Order::of(Parts::classes(streams, deal, print)))
    }

    /// The selected samples of one data set, each as often in a pass as its weight: `weights` has one for each sample
    /// of the data set. Weights are divided by what all have in common; 0 leaves a sample out.
    ///
    /// Takes 4 bytes of memory for each selected sample.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tarflume_order::{Contents, Fingerprint, Order, Selection, Shuffle};
    ///
    /// # fn main() -> tarflume_order::Result<()> {
    /// let contents = Arc::new(Contents::new(Fingerprint::of("data", ["v1"]), [4])?);
    /// let shuffle = Shuffle::Full { seed: 42 };
    /// let order = Order::by_weight(contents, &Selection::all(4), &[1, 0, 3, 1], shuffle)?;
    /// let mut epoch: Vec<u64> = order.cursor(0, 0)?.map(|draw| draw.ordinal).collect();
    /// epoch.sort();
    /// assert_eq!(epoch, [0, 2, 2, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `weights` has another length than the data set, or a weight is negative; all are 0; the shuffle is neither
    /// [`Shuffle::Full`] nor [`Shuffle::None`].
    pub fn by_weight(
        contents: Arc<Contents>,
        selection: &Selection,
        weights: &[i64],
        shuffle: Shuffle,
    ) -> Result<Order> {
        if !matches!(shuffle, Shuffle::Full { .. } | Shuffle::None) {
            return Err(Error::usage("weights of samples need ")
                .advise(Advice::FullShuffle)
                .and(": other shuffles mix neighbors, and copies of a sample are no neighbors"));
        }
        let grouped = grouped(selection, weights, "weight")?;
        if let Some((weight, _)) = grouped.groups.first().filter(|(weight, _)| *weight < 0) {
            return Err(Error::usage(format!(
                "a sample has weight {weight}; weights are 0 or more"
            )));
        }
        let common = grouped.groups.iter().map(|(weight, _)| *weight as u64).fold(0, gcd);
        if common == 0 {
            return Err(Error::usage(
                "the weights of all selected samples are 0; one must be above",
            ));
        }
        let times: Vec<(usize, u64)> = (grouped.groups.iter().enumerate())
            .map(|(number, (weight, _))| (number, *weight as u64 / common))
            .collect();
        let listed = grouped.listed(&times);
        if listed.len() > MAX_SAMPLES {
            return Err(Error::usage("the weights add up to more than can be counted; round them"));
        }
        let listed = Selection::listed(contents.samples(), listed);
        Order::new(contents, listed, shuffle)
    }

    fn of(parts: Parts) -> Order {
        Order { epoch: parts.samples(), parts }
    }

    /// Epochs of `samples` samples; they need not be whole passes.
    ///
    /// # Errors
    /// Zero, or more than can be counted.
    pub fn epoch_length(self, samples: u64) -> Result<Order> {
        if samples == 0 || samples > MAX_SAMPLES {
            return Err(Error::usage(format!("an epoch of {samples} samples is impossible")));
        }
        Ok(Order { epoch: samples, ..self })
    }

    /// Epochs of `times` passes.
    ///
    /// # Errors
    /// Zero times, or more than can be counted.
    pub fn repeat(self, times: u64) -> Result<Order> {
        let samples = self.samples().saturating_mul(times);
        self.epoch_length(samples)
    }

    /// Weights that hold from position `position` of epoch `epoch` on.
    ///
    /// # Errors
    /// No mixture, another number of weights, or an earlier position than that of the last change.
    pub fn reweigh(self, epoch: u64, position: u64, weights: Vec<u64>) -> Result<Order> {
        let from = self.epoch_range(epoch)?.start + position.min(self.epoch);
        self.with_weights(Weights { from, weights })
    }

    /// As [`Order::reweigh`], at a position of the stream.
    ///
    /// # Errors
    /// As [`Order::reweigh`].
    pub fn with_weights(mut self, weights: Weights) -> Result<Order> {
        self.parts.change(weights)?;
        Ok(self)
    }

    /// Samples of one pass: all that are selected.
    pub fn samples(&self) -> u64 {
        self.parts.samples()
    }

    /// Samples of one epoch.
    pub fn epoch_samples(&self) -> u64 {
        self.epoch
    }

    /// Samples of the data sets whether selected or not: what ordinals stay below.
    pub fn ordinals(&self) -> u64 {
        self.parts.ordinals()
    }

    /// Whether a sample takes part.
    pub fn takes(&self, ordinal: u64) -> bool {
        self.parts.streams().iter().any(|stream| {
            let own = ordinal.checked_sub(stream.offset);
            own.is_some_and(|own| own < stream.contents.samples() && stream.selection.contains(own))
        })
    }

    /// Starts at a position of an epoch; ends with the epoch.
    ///
    /// # Errors
    /// An epoch so late that its samples can't be counted.
    pub fn cursor(&self, epoch: u64, position: u64) -> Result<Cursor> {
        Ok(Cursor::new(self.parts.clone(), self.epoch_range(epoch)?, position))
    }

    /// The sample at one position of an epoch; `None` past its end. For many, a cursor is faster.
    ///
    /// # Errors
    /// As [`Order::cursor`].
    pub fn ordinal(&self, epoch: u64, position: u64) -> Result<Option<u64>> {
        Ok(self.cursor(epoch, position)?.next().map(|draw| draw.ordinal))
    }

    /// The seed that augmentations take; of a mixture, made of all its seeds. 0 without a shuffle.
    pub fn seed(&self) -> u64 {
        match self.parts.streams() {
            [stream, ..] if self.parts.of_one_data_set() => stream.shuffle.seed(),
            streams => {
                let seeds = streams.iter().map(|stream| stream.shuffle.seed().to_le_bytes());
                let print = Fingerprint::of("tarflume seeds", seeds);
                let [a, b, c, d, e, f, g, h, ..] = *print.bytes();
                u64::from_le_bytes([a, b, c, d, e, f, g, h])
            }
        }
    }

    /// All that determines the order, its version included.
    pub fn fingerprint(&self) -> Fingerprint {
        let parts = self.parts.fingerprint();
        Fingerprint::of("tarflume epochs", [&parts.bytes()[..], &self.epoch.to_le_bytes()])
    }

    /// The data set, or those of a mixture, whatever is selected.
    pub fn data(&self) -> Fingerprint {
        self.parts.data()
    }

    /// What is selected.
    pub fn selection(&self) -> Fingerprint {
        self.parts.selection()
    }

    /// The shuffle in words, such as `full, seed 42`.
    pub fn shuffle(&self) -> String {
        self.parts.shuffle()
    }

    /// The weights of a mixture and from where on they hold; nothing for one data set.
    pub fn weights(&self) -> Vec<Weights> {
        self.parts.schedule().into_iter().flat_map(Schedule::changes).cloned().collect()
    }

    /// Stream positions of an epoch.
    pub(crate) fn epoch_range(&self, epoch: u64) -> Result<Range<u64>> {
        let end = epoch.checked_add(1).and_then(|next| next.checked_mul(self.epoch));
        let end = end.filter(|&end| end <= MAX_SAMPLES * 2).ok_or_else(|| {
            let samples = self.epoch;
            Error::usage(format!("epoch {epoch} of {samples} samples each can't be counted"))
        })?;
        Ok(end - self.epoch..end)
    }

    /// The number of passes of an epoch, if each epoch has whole passes of one data set.
    pub(crate) fn whole_passes(&self) -> Option<u64> {
        let [stream] = self.parts.streams() else { return None };
        self.epoch.is_multiple_of(stream.len()).then(|| self.epoch / stream.len())
    }

    /// The ordinals of a pass over one data set, in ascending order.
    pub(crate) fn pass_ordinals(&self) -> impl Iterator<Item = u64> {
        self.parts.streams().iter().flat_map(|stream| stream.selection.runs().flatten())
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The same streams with other samples selected and epochs of `epoch` samples, as one of `world`
    /// ranks has them that go through the whole order together: weights change where all have
    /// drawn as much.
    pub(crate) fn narrowed(
        &self,
        selections: Vec<Selection>,
        epoch: u64,
        world: u64,
    ) -> Result<Order> {
        let streams = self.parts.streams().iter().zip(selections);
        let streams = streams.map(|(stream, selection)| stream.with(selection, stream.offset));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        if self.parts.is_dealt() {
            let parts = self.parts.with_classes(streams);
            return Order { parts, epoch }.epoch_length(epoch);
        }
        let schedule = self.parts.schedule().map(|schedule| {
            schedule.moved(|from| {
                let number = from / self.epoch;
                let position = from % self.epoch;
                number * epoch + position.div_ceil(world).min(epoch)
            })
        });
        let parts = Parts::new(streams, schedule.transpose()?);
        Order { parts, epoch }.epoch_length(epoch)
    }
}

/// The selected samples of a data set by the number that each has.
fn grouped(selection: &Selection, numbers: &[i64], what: &str) -> Result<Grouped> {
    let samples = selection.samples();
    if numbers.len() as u64 != samples {
        let given = numbers.len();
        return Err(Error::usage(format!(
            "{given} numbers for a data set of {samples} samples; give the {what} of each"
        )));
    }
    Grouped::new(samples, || selection.runs(), |ordinal| numbers[ordinal as usize])
}
