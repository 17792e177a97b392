//! `EpochPlan`: how many packs an epoch has, and with which of them each window begins.

use super::windows::{Pack, Windows};
use crate::error::{Error, ErrorKind, Result};
use crate::samples::lengths::Lengths;
use crate::sequence::epochs::Order;

/// What an epoch becomes when it is packed.
///
/// ```
/// use tarflume_order::PackTotals;
///
/// let totals = PackTotals { packs: 2, samples: 5, tokens: 7000, capacity: 4096 };
/// assert!((totals.filled() - 0.8545).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackTotals {
    /// Packs.
    pub packs: u64,
    /// Samples of all packs.
    pub samples: u64,
    /// Tokens of all packs.
    pub tokens: u64,
    /// The most tokens of a pack.
    pub capacity: u64,
}

impl PackTotals {
    /// The share of the room of all packs that has tokens; 1 if there are no packs.
    pub fn filled(&self) -> f64 {
        match self.packs {
            0 => 1.0,
            packs => self.tokens as f64 / (packs as f64 * self.capacity as f64),
        }
    }
}

/// The windows of an epoch. Memory: 8 bytes a window.
#[derive(Debug)]
pub(super) struct EpochPlan {
    pub(super) epoch: u64,
    pub(super) totals: PackTotals,
    /// For each window, the packs of the windows up to it.
    ends: Vec<u64>,
    window: u64,
}

/// A place in the sequence of packs of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackPlace {
    pub(super) window: u64,
    /// The number of the pack in its window.
    pub(super) pack: u64,
}

impl EpochPlan {
    /// Packs a whole epoch.
    pub(super) fn new(order: &Order, lengths: &Lengths, epoch: u64) -> Result<EpochPlan> {
        let limits = lengths.limits();
        let samples = order.epoch_samples();
        let mut windows = Windows::new(lengths, order.cursor(epoch, 0)?);
        let mut ends = Vec::new();
        let mut packs = 0;
        let mut tokens = 0;
        for _ in 0..samples.div_ceil(limits.window) {
            packs += windows.count();
            tokens += windows.tokens();
            ends.push(packs);
        }
        let totals = PackTotals { packs, samples, tokens, capacity: limits.capacity };
        Ok(EpochPlan { epoch, totals, ends, window: limits.window })
    }

    /// The place of a pack of the epoch; behind the last one if there is none.
    pub(super) fn place(&self, pack: u64) -> PackPlace {
        let window = self.ends.partition_point(|&end| end <= pack);
        let before = window.checked_sub(1).map_or(0, |last| self.ends[last]);
        PackPlace { window: window as u64, pack: pack - before }
    }

    /// The samples of the windows before a window.
    pub(super) fn samples_before(&self, window: u64) -> u64 {
        window.saturating_mul(self.window).min(self.totals.samples)
    }

    /// The number of packs that have the first `position` samples in the sequence of packs.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`]: no pack ends there.
    pub(super) fn packs_before(&self, position: u64, windows: &mut Windows) -> Result<u64> {
        let window = position / self.window;
        let before = (window as usize).checked_sub(1).and_then(|last| self.ends.get(last));
        let mut packs = before.copied().unwrap_or(0);
        let mut left = position % self.window;
        if left == 0 {
            return Ok(packs);
        }
        windows.seek(window);
        let mut found: Vec<Pack> = Vec::new();
        windows.next_into(&mut found);
        for pack in &found {
            packs += 1;
            left = match left.checked_sub(pack.draws.len() as u64) {
                Some(0) => return Ok(packs),
                Some(left) => left,
                None => break,
            };
        }
        let text = "the state's position is within a pack: the packs were others; give the same lengths and limits, or \
                    start without the state";
        Err(Error::new(ErrorKind::Stale, text))
    }
}
