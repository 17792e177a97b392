//! Where an epoch stopped: a few integers, and what they are integers of, as JSON.
//!
//! World, batch size, threads and prefetch are not in it: they may change. What determines the order
//! is, so that a state of another data set or shuffle is refused by name.

use std::fmt;
use std::result::Result as StdResult;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Advice, Error, ErrorKind, Result};
use crate::job::split::{By, Split};
use crate::mixture::schedule::Weights;
use crate::random::mix::ORDER_VERSION;
use crate::samples::buckets::Buckets;
use crate::samples::fingerprint::Fingerprint;
use crate::samples::lengths::Lengths;
use crate::sequence::epochs::Order;

/// The value of the field `format`.
pub(crate) const FORMAT: &str = "tarflume-state";
/// The version that this crate reads and writes.
pub(crate) const VERSION: u64 = 1;

/// A place in the order, from which a job continues. `Display` writes JSON in one line, `parse` reads it.
///
/// ```
/// # use std::sync::Arc;
/// # use tarflume_order::{Contents, Fingerprint, LoaderState, Order, Selection, Shuffle, Split};
/// # fn main() -> tarflume_order::Result<()> {
/// # let contents = Contents::new(Fingerprint::of("data", ["v1"]), [100])?;
/// let order = Order::new(Arc::new(contents), Selection::all(100), Shuffle::Full { seed: 42 })?;
/// let saved = LoaderState::new(&order, Split::alone(), 3, 64).to_string();
///
/// // Later, with two ranks: the state belongs to this order, and the job continues at sample 64 of epoch 3.
/// let state: LoaderState = saved.parse()?;
/// let order = state.resume(&order, Split::new(0, 2)?)?;
/// let next = order.ordinal(state.epoch(), state.position())?;
/// assert!(next.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderState {
    #[serde(deserialize_with = "known_format")]
    format: String,
    #[serde(deserialize_with = "known_version")]
    version: u64,
    /// `ORDER_VERSION` of the program that wrote it.
    order: u32,
    /// The data set, or those of a mixture.
    fingerprint: Fingerprint,
    /// What is selected of it.
    selection: Fingerprint,
    /// In words, with the seed.
    shuffle: String,
    /// Samples of an epoch.
    epoch_samples: u64,
    epoch: u64,
    /// Samples of the epoch that the whole job has delivered.
    position: u64,
    /// Of a mixture: its weights, and from where on they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weights: Vec<Weights>,
    /// By shard only: the number of ranks, which must stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    world: Option<u64>,
    /// Of batches by buckets: how much of each was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buckets: Option<BucketState>,
    /// Of packs: the lengths of samples and the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packs: Option<Fingerprint>,
}

/// What was delivered of each bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BucketState {
    /// The bucket of each sample.
    fingerprint: Fingerprint,
    /// Samples of each bucket in the order of the epoch.
    taken: Vec<u64>,
}

impl LoaderState {
    /// The state after `position` samples of `epoch` were delivered by the whole job; `order` is
    /// that of the whole data set, also by shard.
    pub fn new(order: &Order, split: Split, epoch: u64, position: u64) -> LoaderState {
        LoaderState {
            format: FORMAT.into(),
            version: VERSION,
            order: ORDER_VERSION,
            fingerprint: order.data(),
            selection: order.selection(),
            shuffle: order.shuffle(),
            epoch_samples: order.epoch_samples(),
            epoch,
            position,
            weights: order.weights(),
            world: (split.by() == By::Shard).then_some(split.world()),
            buckets: None,
            packs: None,
        }
    }

    /// The state of a job whose batches are of one bucket each. `taken` has the samples of each bucket that it has delivered;
    /// they add up to the position.
    #[must_use]
    pub fn with_buckets(mut self, buckets: &Buckets, taken: &[u64]) -> LoaderState {
        let fingerprint = buckets.fingerprint();
        self.buckets = Some(BucketState { fingerprint, taken: taken.to_vec() });
        self
    }

    /// The samples of each bucket that the job has delivered. Buckets may have other rows than they had.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`]: the state is within an epoch and was saved without buckets, or with others, or it is damaged.
    pub fn taken(&self, buckets: &Buckets) -> Result<Vec<u64>> {
        let Some(state) = &self.buckets else {
            if self.position > 0 {
                return Err(stale(
                    "the state was saved without buckets, within an epoch; go on without buckets until \
                     its end, or start without the state",
                ));
            }
            return Ok(vec![0; buckets.count()]);
        };
        if state.fingerprint != buckets.fingerprint() {
            return Err(stale(
                "the state was saved with other buckets: samples were in other ones; give the same \
                 buckets, or start without the state",
            ));
        }
        let sum = state.taken.iter().try_fold(0_u64, |sum, &taken| sum.checked_add(taken));
        if state.taken.len() != buckets.count() || sum != Some(self.position) {
            return Err(stale(
                "the state's numbers of samples in buckets do not add up to its position: the state \
                 is damaged",
            ));
        }
        Ok(state.taken.clone())
    }

    /// The state of a job whose samples are packed.
    #[must_use]
    pub fn with_packs(mut self, lengths: &Lengths) -> LoaderState {
        self.packs = Some(lengths.fingerprint());
        self
    }

    /// As [`LoaderState::resume`], for a job whose samples are packed. The number of packs of a batch may change.
    ///
    /// # Errors
    /// As [`LoaderState::resume`]; the state is within an epoch that was not packed, or with other lengths or limits.
    pub fn resume_packs(&self, order: &Order, split: Split, lengths: &Lengths) -> Result<Order> {
        if self.position > 0 && self.packs != Some(lengths.fingerprint()) {
            let text = match self.packs {
                Some(_) => {
                    "the state was saved with other packs: the lengths of samples or the limits were others"
                }
                None => "the state was saved without packs, within an epoch",
            };
            return Err(stale(format!("{text}; give the same, or start without the state")));
        }
        self.resume_order(order, split)
    }

    /// The epoch to continue.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Samples of the epoch that the whole job has delivered.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The order to continue with: `order` with the changes of weights that the state contains.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`]: it is of another data set, selection, shuffle, seed, epoch length, order
    /// version or number of ranks; or its position is past the epoch's end.
    pub fn resume(&self, order: &Order, split: Split) -> Result<Order> {
        if self.buckets.as_ref().is_some_and(|_| self.position > 0) {
            return Err(stale(
                "the state was saved with buckets, within an epoch; give the same buckets, or start \
                 without the state",
            ));
        }
        self.resume_buckets(order, split)
    }

    /// As [`LoaderState::resume`], for a job whose batches are of one bucket each: [`LoaderState::taken`] has its position.
    ///
    /// # Errors
    /// As [`LoaderState::resume`].
    pub fn resume_buckets(&self, order: &Order, split: Split) -> Result<Order> {
        if self.packs.is_some() && self.position > 0 {
            return Err(stale(
                "the state was saved with packs, within an epoch; give the same packs, or start without the state",
            ));
        }
        self.resume_order(order, split)
    }

    fn resume_order(&self, order: &Order, split: Split) -> Result<Order> {
        self.check_versions()?;
        self.check_data(order)?;
        self.check_split(split)?;
        self.check_position(order, split)?;
        let known = order.weights();
        if !self.weights.starts_with(&known) {
            return Err(stale(format!(
                "the state's mixture has the weights {}, the loader's {}; build the loader with \
                 the weights it had, and change them after resuming",
                in_words(&self.weights),
                in_words(&known)
            )));
        }
        let later = self.weights.iter().skip(known.len()).cloned();
        later.into_iter().try_fold(order.clone(), |order, weights| order.with_weights(weights))
    }

    /// Checks that a loader with `order` can continue from this state.
    ///
    /// # Errors
    /// As [`LoaderState::resume`].
    pub fn check(&self, order: &Order, split: Split) -> Result<()> {
        self.resume(order, split).map(|_| ())
    }

    fn check_versions(&self) -> Result<()> {
        let theirs = self.order;
        let ours = ORDER_VERSION;
        if theirs != ours {
            return Err(stale(format!(
                "the state was saved with order version {theirs}, this program has {ours}, which \
                 deals samples otherwise; resume with the older program, or start a new epoch"
            )));
        }
        Ok(())
    }

    fn check_data(&self, order: &Order) -> Result<()> {
        if self.fingerprint != order.data() {
            return Err(stale(format!(
                "the state was saved on another data set ({}..) than this one ({}..); open the \
                 data set it was saved on, or start without the state",
                short(self.fingerprint),
                short(order.data())
            )));
        }
        if self.selection != order.selection() {
            return Err(stale(
                "the state was saved with other samples selected; give the same select, take, skip, \
                 filters, exclude lists, classes and weights, or start without the state",
            ));
        }
        if self.shuffle != order.shuffle() {
            return Err(stale(format!(
                "the state was saved with the shuffle '{}', this loader has '{}'; give the same \
                 shuffle and seed, or start without the state",
                self.shuffle,
                order.shuffle()
            )));
        }
        if self.epoch_samples != order.epoch_samples() {
            return Err(stale(format!(
                "the state was saved with epochs of {} samples, this loader has {}; give the same \
                 length, or start without the state",
                self.epoch_samples,
                order.epoch_samples()
            )));
        }
        Ok(())
    }

    fn check_split(&self, split: Split) -> Result<()> {
        let by_shard = (split.by() == By::Shard).then_some(split.world());
        match (self.world, by_shard) {
            (a, b) if a == b => Ok(()),
            (Some(then), Some(now)) => {
                let text = format!(
                    "the state was saved by {then} ranks that split by shard, now there are {now}; by \
                     shard their number must stay: start {then}, or "
                );
                Err(stale(text).advise(Advice::SplitByPosition).and(" from the next epoch on"))
            }
            (Some(_), _) => Err(stale("the state was saved by ranks that split by shard; ")
                .advise(Advice::SplitByShard)),
            _ => Err(stale("the state was saved by ranks that split by position; ")
                .advise(Advice::NoSplitByShard)),
        }
    }

    fn check_position(&self, order: &Order, split: Split) -> Result<()> {
        let position = self.position;
        let samples = order.epoch_samples();
        order.epoch_range(self.epoch)?;
        // By shard the longest rank's end counts, which the steps know.
        if split.by() == By::Position && position > samples {
            return Err(stale(format!(
                "the state's position {position} is past the end of an epoch of {samples} \
                 samples: the state is damaged"
            )));
        }
        Ok(())
    }
}

fn stale(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Stale, text)
}

/// `1:3, from 500 on 1:1`.
fn in_words(weights: &[Weights]) -> String {
    let each = weights.iter().map(|Weights { from, weights }| {
        let ratio: Vec<_> = weights.iter().map(u64::to_string).collect();
        match from {
            0 => ratio.join(":"),
            _ => format!("from {from} on {}", ratio.join(":")),
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for LoaderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A format for which serde may make a state, inside another document, too.
fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> StdResult<String, D::Error> {
    let format = String::deserialize(deserializer)?;
    if format == FORMAT { Ok(format) } else { Err(D::Error::custom(other_format(&format))) }
}

/// As [`known_format`], for the version.
fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> StdResult<u64, D::Error> {
    let version = u64::deserialize(deserializer)?;
    if version == VERSION { Ok(version) } else { Err(D::Error::custom(other_version(version))) }
}

fn other_format(format: &str) -> String {
    format!("this is a '{format}', no saved state ({FORMAT})")
}

fn other_version(version: u64) -> String {
    format!(
        "the saved state has version {version}, this program reads {VERSION}; use the program that \
         saved it"
    )
}

/// The fields that decide whether the others can be parsed.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

/// The first digits of a fingerprint, for messages.
fn short(print: Fingerprint) -> String {
    print.to_string()[..12].to_string()
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::WrongFormat, text)
}

impl FromStr for LoaderState {
    type Err = Error;

    /// # Errors
    /// [`ErrorKind::WrongFormat`]: the text is not JSON or not a state, its version is newer, a field is missing or unknown.
    fn from_str(text: &str) -> Result<LoaderState> {
        let head: Head = serde_json::from_str(text).map_err(|e| {
            wrong("this is no saved state: it was cut, or is another file".into()).with_source(e)
        })?;
        if head.format != FORMAT {
            return Err(wrong(other_format(&head.format)));
        }
        if head.version != VERSION {
            return Err(wrong(other_version(head.version)));
        }
        serde_json::from_str(text).map_err(|e| {
            wrong("the saved state has fields that are missing, damaged or unknown".into())
                .with_source(e)
        })
    }
}
