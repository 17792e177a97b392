//! The order of samples in training, as arithmetic: which sample comes when, without I/O, threads or tables.
//!
//! A training job needs a random order of its samples, a part of it on each rank, and a way to continue after a stop.
//! This crate computes all of that from a position. Nothing depends on how fast a thread was or how many ranks there
//! are:
//!
//! 1. [`Contents`] has the number of samples in each shard. It gives each sample an *ordinal*.
//! 2. [`Selection`] is the set of ordinals that take part. The n-th of them has the *index* n.
//! 3. [`Shuffle`] names an order of all indexes, a *pass*. [`Pass`] computes it at any position in constant time; a
//!    full shuffle of 2^40 samples takes 300 bytes of memory.
//! 4. [`Order`] is the endless stream of passes, several data sets mixed by weights, or one data set by the weights of
//!    classes or samples. An *epoch* is a range of its positions: one pass by default.
//! 5. [`Split`] is one rank of a job. [`Share`] and [`Steps`] give it the positions of each batch, with the same number
//!    of steps on every rank.
//! 6. [`LoaderState`] is a position as JSON, from which any number of ranks can continue. [`Ledger`] proves that each
//!    sample was delivered once.
//!
//! ```
//! use std::sync::Arc;
//! use tarflume_order::{Contents, Fingerprint, Order, Remainder, Selection, Share, Shuffle, Split};
//!
//! # fn main() -> tarflume_order::Result<()> {
//! // Three shards; the fingerprint identifies the data set in saved states.
//! let contents = Contents::new(Fingerprint::of("my data set", ["v1"]), [1000, 1000, 500])?;
//! let samples = contents.samples();
//! let order = Order::new(Arc::new(contents), Selection::all(samples), Shuffle::Full { seed: 42 })?;
//!
//! // Rank 1 of 4, with batches of 64.
//! let share = Share::new(&order, Split::new(1, 4)?)?;
//! let steps = share.steps(0, 64, Remainder::Drop)?;
//! assert_eq!(steps.count(), 9); // 2,500 samples fill nine batches of 4 * 64
//!
//! // Its third batch of epoch 7: the ordinals of 64 samples.
//! let mut batch = Vec::new();
//! for (position, _padding) in steps.rows(2) {
//!     batch.extend(order.ordinal(7, position)?);
//! }
//! assert_eq!(batch.len(), 64);
//! # Ok(())
//! # }
//! ```
//!
//! [`ORDER_VERSION`] is the version of this arithmetic. The same data set, seed, epoch and shuffle give the same order
//! as long as it stays the same. States of another version are refused.
//!
//! [`rank`] finds rank and world size in the environment of common launchers. [`score`] measures how well an order
//! mixes.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod groups;
mod job;
mod mixture;
mod pass;
mod random;
mod record;
mod samples;
pub mod score;
mod sequence;
mod shuffle;
mod words;

pub use self::job::rank;
pub use error::{Advice, Error, ErrorKind, ErrorPart, Result};
pub use groups::buckets::same::SameBucket;
pub use groups::buckets::share::BucketShare;
pub use groups::buckets::steps::{BucketBatch, BucketRow, BucketSteps};
pub use groups::packs::plan::PackTotals;
pub use groups::packs::share::PackShare;
pub use groups::packs::steps::{PackBatch, PackRow, PackSteps};
pub use job::split::{By, Split};
pub use job::steps::{Remainder, Rows, Steps};
pub use mixture::schedule::Weights;
pub use pass::{Pass, PassCursor};
pub use random::mix::{Key, ORDER_VERSION, below, mix};
pub use random::permutation::Permutation;
pub use record::ledger::{Ledger, Tally};
pub use record::state::LoaderState;
pub use samples::buckets::Buckets;
pub use samples::contents::{Contents, MAX_SAMPLES};
pub use samples::fingerprint::Fingerprint;
pub use samples::lengths::{Lengths, PackLimits};
pub use samples::selection::Selection;
pub use sequence::epochs::Order;
pub use sequence::parts::Cursor;
pub use sequence::share::Share;
pub use sequence::stream::Draw;
pub use shuffle::Shuffle;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
