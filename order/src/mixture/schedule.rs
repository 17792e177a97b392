//! Which of several data sets is next: an integer schedule that is never a whole sample off.
//!
//! Of any n positions from its beginning, one with weight w of W gets more than n·w/W − 1 and less
//! than n·w/W + 1. Item i of a data set may come from position ⌊i·W/w⌋ on and must come before
//! ⌈(i+1)·W/w⌉; the released item with the earliest deadline comes first. Such windows can always be
//! kept (S. Baruah, N. Cohen, C. Plaxton, D. Varvel: "Proportionate progress", Algorithmica 15,
//! 1996), and on one machine earliest deadline first keeps windows that can be kept. After W
//! positions it begins again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The longest period: sum of the weights, divided by what all have in common.
pub(crate) const MAX_PERIOD: u64 = 1 << 20;

/// Weights of a mixture that hold from a stream position on.
///
/// ```
/// use tarflume_order::Weights;
///
/// // From the 10,000th sample on, two thirds come from the first data set.
/// let weights = Weights { from: 10_000, weights: vec![2, 1] };
/// assert_eq!(weights.weights.len(), 2); // `Order::with_weights` takes it
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The first stream position (samples drawn before, over all epochs) they hold for.
    pub from: u64,
    /// One for each data set; 0 leaves it out.
    pub weights: Vec<u64>,
}

/// Segments of weights, the first from position 0.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone)]
struct Segment {
    change: Weights,
    /// How often each comes in a period.
    shares: Vec<u64>,
    /// How many each has drawn before the segment begins.
    drawn: Vec<u64>,
    /// By place in the period.
    table: Vec<Turn>,
}

/// A turn of one of several parts: data sets or classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The number of the part.
    pub(crate) part: u32,
    /// How many turns of the part came before in the same period.
    pub(crate) before: u32,
}

impl Schedule {
    pub(crate) fn new(weights: Vec<u64>) -> Result<Schedule> {
        let drawn = vec![0; weights.len()];
        let segment = Segment::new(Weights { from: 0, weights }, drawn)?;
        Ok(Schedule { segments: vec![segment] })
    }

    /// Other weights from a later position on.
    pub(crate) fn change(&mut self, change: Weights) -> Result<()> {
        let last = &self.segments[self.segments.len() - 1].change;
        if change.weights.len() != last.weights.len() {
            let new = change.weights.len();
            let old = last.weights.len();
            return Err(Error::usage(format!(
                "{new} weights for a mixture of {old} data sets; give one for each"
            )));
        }
        if change.from <= last.from {
            let new = change.from;
            let old = last.from;
            return Err(Error::usage(format!(
                "weights can't change at stream position {new}: they changed at {old} already; \
                 changes come in ascending order"
            )));
        }
        let drawn = self.drawn(change.from);
        self.segments.push(Segment::new(change, drawn)?);
        Ok(())
    }

    /// The same weights at other positions, which `to` gives and which do not descend. Of changes
    /// that get the same position, the last one holds.
    pub(crate) fn moved(&self, to: impl Fn(u64) -> u64) -> Result<Schedule> {
        let mut all: Vec<Weights> = Vec::new();
        for change in self.changes() {
            let from = to(change.from);
            if all.last().is_some_and(|last| last.from == from) {
                all.pop();
            }
            all.push(Weights { from, weights: change.weights.clone() });
        }
        let mut all = all.into_iter();
        let mut schedule =
            Schedule::new(all.next().map(|first| first.weights).unwrap_or_default())?;
        all.try_for_each(|change| schedule.change(change))?;
        Ok(schedule)
    }

    /// The data set whose turn it is, and how many of it came before.
    pub(crate) fn place(&self, position: u64) -> (usize, u64) {
        let segment = self.segment(position);
        let period = segment.table.len() as u64;
        let within = position - segment.change.from;
        let turn = segment.table[(within % period) as usize];
        let part = turn.part as usize;
        let whole = segment.shares[part] * (within / period);
        (part, segment.drawn[part] + whole + u64::from(turn.before))
    }

    /// How many of each data set come before `position`.
    pub(crate) fn drawn(&self, position: u64) -> Vec<u64> {
        let segment = self.segment(position.saturating_sub(1));
        let period = segment.table.len() as u64;
        let within = position - segment.change.from;
        let mut drawn = segment.drawn.clone();
        for (sum, share) in drawn.iter_mut().zip(&segment.shares) {
            *sum += share * (within / period);
        }
        for turn in &segment.table[..(within % period) as usize] {
            drawn[turn.part as usize] += 1;
        }
        drawn
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = &Weights> {
        self.segments.iter().map(|segment| &segment.change)
    }

    fn segment(&self, position: u64) -> &Segment {
        let next = self.segments.partition_point(|segment| segment.change.from <= position);
        &self.segments[next - 1]
    }
}

impl Segment {
    fn new(change: Weights, drawn: Vec<u64>) -> Result<Segment> {
        let (shares, period) = shares_of(&change.weights)?;
        let table = earliest_deadline_first(&shares, period);
        Ok(Segment { change, shares, drawn, table })
    }
}

/// Weights divided by what all have in common, and their sum.
///
/// # Errors
/// All are 0, or the sum is above [`MAX_PERIOD`].
pub(crate) fn shares_of(weights: &[u64]) -> Result<(Vec<u64>, u64)> {
    let common = weights.iter().copied().fold(0, gcd);
    if common == 0 {
        return Err(Error::usage("all weights are 0; one must be above"));
    }
    let shares: Vec<u64> = weights.iter().map(|w| w / common).collect();
    let period = shares.iter().try_fold(0_u64, |sum, &share| sum.checked_add(share));
    let period = period.filter(|&period| period <= MAX_PERIOD).ok_or_else(|| {
        Error::usage(format!(
            "the weights add up to more than {MAX_PERIOD} after division by what they have in \
             common; round them, such as to thousandths"
        ))
    })?;
    Ok((shares, period))
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One period. Every data set has one item in play; the next enters when it was taken.
pub(crate) fn earliest_deadline_first(shares: &[u64], period: u64) -> Vec<Turn> {
    // (release or deadline, data set, item); ties go to the data set that was given first.
    let mut waiting: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
    let mut released: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
    let parts = shares.iter().enumerate().filter(|(_, share)| **share > 0);
    waiting.extend(parts.map(|(part, _)| Reverse((0, part, 0))));
    let mut table = Vec::with_capacity(period as usize);
    for position in 0..period {
        while let Some(&Reverse((release, part, item))) = waiting.peek() {
            if release > position {
                break;
            }
            waiting.pop();
            released.push(Reverse((((item + 1) * period).div_ceil(shares[part]), part, item)));
        }
        // Something is always released: before position n, fewer than n items have come, and the
        // shares say n should have.
        let Some(Reverse((_, part, item))) = released.pop() else { break };
        table.push(Turn { part: part as u32, before: item as u32 });
        waiting.push(Reverse(((item + 1) * period / shares[part], part, item + 1)));
    }
    table
}

#[cfg(test)]
mod tests;
