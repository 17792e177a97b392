//! `PackSteps`: the packs of one rank in an epoch, one batch after the other.

use std::sync::Arc;

use super::plan::EpochPlan;
use super::windows::{Pack, Windows};
use crate::job::split::Split;
use crate::job::steps::Remainder;
use crate::sequence::stream::Draw;

/// A sample of a batch of packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackRow {
    /// Its sample.
    pub draw: Draw,
    /// The number of its pack in the batch.
    pub pack: u32,
    /// Whether its pack is delivered by another row or rank, too.
    pub padding: bool,
}

/// Some packs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackBatch {
    /// The samples of all packs, one pack after the other.
    pub rows: Vec<PackRow>,
    /// The number of packs.
    pub packs: u32,
    /// Samples of the epoch that the whole job has delivered after this step.
    pub position: u64,
}

/// The steps of a rank, made by [`PackShare::steps`](crate::PackShare::steps).
///
/// Memory: the packs of a window.
#[derive(Debug)]
pub struct PackSteps {
    plan: Arc<EpochPlan>,
    windows: Windows,
    rank: u64,
    world: u64,
    /// Packs of a batch.
    each: u64,
    remainder: Remainder,
    count: u64,
    step: u64,
    /// Packs of the epoch that come before the next step.
    taken: u64,
    /// The packs of the window `loaded`.
    packs: Vec<Pack>,
    loaded: Option<u64>,
}

/// What the steps of a rank are made from.
#[derive(Debug)]
pub(super) struct StepsOf {
    pub(super) plan: Arc<EpochPlan>,
    pub(super) windows: Windows,
    pub(super) split: Split,
    pub(super) each: u64,
    pub(super) remainder: Remainder,
    pub(super) taken: u64,
}

impl PackSteps {
    pub(super) fn new(of: StepsOf) -> PackSteps {
        let StepsOf { plan, windows, split, each, remainder, taken } = of;
        let left = plan.totals.packs.saturating_sub(taken);
        let count = steps_of(left, each, split, remainder);
        PackSteps {
            plan,
            windows,
            rank: split.rank(),
            world: split.world(),
            each,
            remainder,
            count,
            step: 0,
            taken,
            packs: Vec::new(),
            loaded: None,
        }
    }

    /// The number of steps from the first one that this returns. It is equal on all ranks, unless the remainder is
    /// [`Remainder::Uneven`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of the next step, from 0.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Fills `batch` with the packs of the next step. Returns false, and leaves it, after the last one.
    pub fn next_into(&mut self, batch: &mut PackBatch) -> bool {
        if self.step == self.count {
            return false;
        }
        let first = self.taken;
        let group = (self.world * self.each).min(self.plan.totals.packs - first);
        let own = self.own(group);
        batch.rows.clear();
        batch.packs = (own.end - own.begin) as u32;
        for (number, place) in (own.begin..own.end).enumerate() {
            let padding = place >= group;
            let pack = self.pack(first + place % group);
            let rows =
                pack.draws.iter().map(|&draw| PackRow { draw, pack: number as u32, padding });
            batch.rows.extend(rows);
        }
        self.taken = first + group;
        batch.position = self.samples_before(self.taken);
        self.step += 1;
        true
    }

    /// The places of this rank among `group` packs, counted on from the first one again behind the last.
    fn own(&self, group: u64) -> Places {
        let each = match self.remainder {
            Remainder::Even => group.div_ceil(self.world),
            Remainder::Drop | Remainder::Pad | Remainder::Uneven => self.each,
        };
        let begin = self.rank * each;
        let end = begin + each;
        match self.remainder {
            Remainder::Uneven => Places { begin, end: end.min(group) },
            Remainder::Even | Remainder::Drop | Remainder::Pad => Places { begin, end },
        }
    }

    /// A pack of the epoch. Only windows that have packs of this rank are packed.
    fn pack(&mut self, number: u64) -> &Pack {
        let place = self.plan.place(number);
        self.load(place.window);
        &self.packs[place.pack as usize]
    }

    /// Samples of the packs before a pack.
    fn samples_before(&mut self, number: u64) -> u64 {
        let place = self.plan.place(number);
        let whole = self.plan.samples_before(place.window);
        if place.pack == 0 {
            return whole;
        }
        self.load(place.window);
        let packs = &self.packs[..place.pack as usize];
        whole + packs.iter().map(|pack| pack.draws.len() as u64).sum::<u64>()
    }

    fn load(&mut self, window: u64) {
        if self.loaded != Some(window) {
            self.windows.seek(window);
            self.windows.next_into(&mut self.packs);
            self.loaded = Some(window);
        }
    }
}

/// Places in a group of packs.
#[derive(Debug, Clone, Copy)]
struct Places {
    begin: u64,
    end: u64,
}

/// Steps of a rank that `left` packs are.
fn steps_of(left: u64, each: u64, split: Split, remainder: Remainder) -> u64 {
    let group = split.world() * each;
    match remainder {
        Remainder::Drop => left / group,
        Remainder::Even | Remainder::Pad => left.div_ceil(group),
        Remainder::Uneven => left / group + u64::from(left % group > split.rank() * each),
    }
}
