//! The proof that each sample was delivered as often as planned: counts and sums of hashes.
//!
//! Sums do not know in which order, by which rank or after which resume a sample came; ledgers of
//! all ranks, merged, equal the one computed from the order alone.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};
use crate::random::mix::mix;
use crate::samples::fingerprint::Fingerprint;
use crate::sequence::epochs::Order;
use crate::sequence::stream::{Stream, StreamCursor};

/// A multiset of ordinals: their number, and two sums of keyed hashes modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of ordinals.
    pub count: u64,
    sums: [u64; 2],
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        self.joined(other, u64::wrapping_add)
    }

    fn minus(self, other: Tally) -> Tally {
        self.joined(other, u64::wrapping_sub)
    }

    fn joined(self, other: Tally, f: impl Fn(u64, u64) -> u64) -> Tally {
        let sums = [f(self.sums[0], other.sums[0]), f(self.sums[1], other.sums[1])];
        Tally { count: f(self.count, other.count), sums }
    }

    fn times(self, times: u64) -> Tally {
        let sums = self.sums.map(|sum| sum.wrapping_mul(times));
        Tally { count: self.count.wrapping_mul(times), sums }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}{:016x}", self.count, self.sums[0], self.sums[1])
    }
}

/// The samples of an epoch, or of a part of it, that were delivered, and those that were planned but
/// bad: skipped, or replaced by others. Padding is never entered.
///
/// ```
/// use std::sync::Arc;
/// use tarflume_order::{Contents, Fingerprint, Ledger, Order, Selection, Shuffle};
///
/// # fn main() -> tarflume_order::Result<()> {
/// let contents = Contents::new(Fingerprint::of("data", ["v1"]), [100])?;
/// let order = Order::new(Arc::new(contents), Selection::all(100), Shuffle::Full { seed: 42 })?;
/// // Two ranks; each adds what it has delivered.
/// let mut ranks = [Ledger::new(order.data()); 2];
/// for draw in order.cursor(0, 0)? {
///     ranks[draw.ordinal as usize % 2].add(draw.ordinal);
/// }
/// let [mut job, other] = ranks;
/// job.merge(&other)?;
/// job.prove(&order.ledger(0, 0..100)?)?; // each sample of epoch 0 was delivered once
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    keys: [u64; 2],
    seen: Tally,
    bad: Tally,
}

impl Ledger {
    /// An empty ledger for the data of [`Order::data`].
    pub fn new(data: Fingerprint) -> Ledger {
        let print = Fingerprint::of("tarflume ledger", [data.bytes()]);
        let words = print.bytes().as_chunks::<8>().0;
        Ledger {
            keys: [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])],
            seen: Tally::default(),
            bad: Tally::default(),
        }
    }

    /// Enters a sample that was delivered.
    pub fn add(&mut self, ordinal: u64) {
        self.seen = self.seen.plus(self.one(ordinal));
    }

    /// Enters a sample that was planned and could not be delivered.
    pub fn add_bad(&mut self, ordinal: u64) {
        self.bad = self.bad.plus(self.one(ordinal));
    }

    fn one(&self, ordinal: u64) -> Tally {
        // Two mixers with different keys: sums that agree by chance would have to do so twice.
        let sums = self.keys.map(|key| mix(mix(ordinal ^ key).wrapping_add(key)));
        Tally { count: 1, sums }
    }

    /// Adds another rank's ledger, or a later one of this rank.
    ///
    /// # Errors
    /// It is of another data set.
    pub fn merge(&mut self, other: &Ledger) -> Result<()> {
        if self.keys != other.keys {
            let text = "ledgers of different data sets can't be added; keep one for each";
            return Err(Error::new(ErrorKind::Stale, text));
        }
        self.seen = self.seen.plus(other.seen);
        self.bad = self.bad.plus(other.bad);
        Ok(())
    }

    /// The samples that were delivered.
    pub fn seen(&self) -> Tally {
        self.seen
    }

    /// The samples that were planned but bad.
    pub fn bad(&self) -> Tally {
        self.bad
    }

    /// Both: all samples of the order that were used up.
    pub fn planned(&self) -> Tally {
        self.seen.plus(self.bad)
    }

    /// Checks that exactly the samples of `expected`, made by [`Order::ledger`], were delivered or bad.
    ///
    /// # Errors
    /// They were not, or it is of another data set; the text has the numbers.
    pub fn prove(&self, expected: &Ledger) -> Result<()> {
        let found = self.planned();
        let planned = expected.planned();
        let text = if self.keys != expected.keys {
            "the ledger is of another data set".to_string()
        } else if found == planned {
            return Ok(());
        } else if found.count == planned.count {
            format!(
                "of {} samples as planned, some were lost and as many repeated or foreign: the \
                 ledger's sums differ",
                found.count
            )
        } else {
            format!("{} samples were given out, {} were planned", found.count, planned.count)
        };
        Err(Error::new(ErrorKind::Stale, text))
    }
}

impl Order {
    /// The ledger that all ranks together must have after positions `positions` of an epoch.
    ///
    /// Costs one hash a selected sample, a few nanoseconds, and at most half a pass of the order for
    /// each end that cuts a pass.
    ///
    /// # Errors
    /// As [`Order::cursor`]; positions past the epoch's end.
    pub fn ledger(&self, epoch: u64, positions: Range<u64>) -> Result<Ledger> {
        let stream = self.epoch_range(epoch)?;
        if positions.end > self.epoch_samples() {
            let end = positions.end;
            let samples = self.epoch_samples();
            return Err(Error::usage(format!("position {end} of an epoch of {samples} samples")));
        }
        let mut ledger = Ledger::new(self.data());
        if positions.is_empty() {
            return Ok(ledger);
        }
        let range = stream.start + positions.start..stream.start + positions.end;
        for (stream, range) in self.parts().pieces(range) {
            ledger.seen = ledger.seen.plus(ledger.of_stream(stream, range));
        }
        Ok(ledger)
    }
}

impl Ledger {
    fn of_stream(&self, stream: &Stream, range: Range<u64>) -> Tally {
        if range.is_empty() {
            return Tally::default();
        }
        let len = stream.len();
        let first = range.start / len;
        let last = (range.end - 1) / len;
        let from = range.start % len;
        let to = (range.end - 1) % len + 1;
        let mut pass = None;
        let mut part = |number, within: Range<u64>| {
            // The shorter of what is taken and what is not.
            if within.end - within.start <= len / 2 {
                return self.of_pass(stream, number, within);
            }
            let whole = *pass.get_or_insert_with(|| self.of_selection(stream));
            let before = self.of_pass(stream, number, 0..within.start);
            whole.minus(before).minus(self.of_pass(stream, number, within.end..len))
        };
        if first == last {
            return part(first, from..to);
        }
        let ends = part(first, from..len).plus(part(last, 0..to));
        match last - first - 1 {
            0 => ends,
            between => ends.plus(part(first + 1, 0..len).times(between)),
        }
    }

    /// Drawn one by one.
    fn of_pass(&self, stream: &Stream, pass: u64, positions: Range<u64>) -> Tally {
        if positions.is_empty() {
            return Tally::default();
        }
        let mut cursor = StreamCursor::new(stream, pass * stream.len() + positions.start);
        let draws = positions.map(|_| self.one(cursor.next(stream).ordinal));
        draws.fold(Tally::default(), Tally::plus)
    }

    /// A whole pass gives every selected sample once, in whatever order.
    fn of_selection(&self, stream: &Stream) -> Tally {
        let ordinals = stream.selection.runs().flatten();
        ordinals.fold(Tally::default(), |sum, o| sum.plus(self.one(stream.offset + o)))
    }
}

impl fmt::Display for Ledger {
    /// Keys, seen, bad.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.keys;
        write!(f, "{a:016x}{b:016x} seen {} bad {}", self.seen, self.bad)
    }
}

impl FromStr for Ledger {
    type Err = Error;

    /// # Errors
    /// Not what `Display` writes.
    fn from_str(text: &str) -> Result<Ledger> {
        parsed(text).ok_or_else(|| {
            let text = format!("'{text}' is no ledger: it was cut, or written by something else");
            Error::new(ErrorKind::WrongFormat, text)
        })
    }
}

fn parsed(text: &str) -> Option<Ledger> {
    let words = text.split(' ').collect::<Vec<_>>();
    let [keys, "seen", seen, "bad", bad] = words[..] else { return None };
    Some(Ledger { keys: parsed_sums(keys)?, seen: parsed_tally(seen)?, bad: parsed_tally(bad)? })
}

fn parsed_tally(text: &str) -> Option<Tally> {
    let (count, sums) = text.split_once(':')?;
    Some(Tally { count: count.parse().ok()?, sums: parsed_sums(sums)? })
}

fn parsed_sums(text: &str) -> Option<[u64; 2]> {
    let (a, b) = (text.len() == 32).then(|| text.split_at_checked(16)).flatten()?;
    Some([u64::from_str_radix(a, 16).ok()?, u64::from_str_radix(b, 16).ok()?])
}

impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ledger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ledger, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|e: Error| D::Error::custom(e.text()))
    }
}
