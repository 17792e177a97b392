//! `RankWalk`: what the loader of one rank would ask of a store, step by step. Opens sidecars; reads no tar.
//!
//! Runs the rules of the loader itself: the order, the look-ups of `Readahead` and of each batch, and `Pieces`. Every
//! request is answered at once and each batch is read before the next one is planned, as in a job that is fed well. So
//! what only time decides is not seen: requests that are repeated because they are late or failed, and pieces that are
//! evicted before a slow reader has come to them.

use tarflume_dataset::pieces::{AT_ONCE, Pieces};
use tarflume_dataset::{Dataset, Offer};
use tarflume_types::Result;

use crate::fetch::draw::RowDraw;
use crate::fetch::part_needs::PartNeeds;
use crate::fetch::plan::{ReadPlan, WantedParts};
use crate::fetch::view::RunView;
use crate::loader::indexed::ahead::readahead::Readahead;
use crate::loader::indexed::groups::step_rows::draw_step;
use crate::loader::indexed::new_shards::NewShards;
use crate::loader::indexed::planner::read_limits;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::order::{Cursor, Draw, Steps};

/// What was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) steps: u64,
    /// Rows whose samples were looked up.
    pub(crate) rows: u64,
    pub(crate) requests: u64,
    /// Bytes that were asked for.
    pub(crate) bytes: u64,
    /// Bytes of the parts of the rows.
    pub(crate) part_bytes: u64,
    /// Bytes of the largest batch.
    pub(crate) batch_bytes: u64,
    /// Stretches that were looked up together, those that had room, and the bytes of the largest.
    pub(crate) stretches: u64,
    pub(crate) fitting: u64,
    pub(crate) stretch_bytes: u64,
}

impl Tally {
    /// What was counted since `earlier`. Maxima are those of all.
    pub(crate) fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            steps: self.steps - earlier.steps,
            rows: self.rows - earlier.rows,
            requests: self.requests - earlier.requests,
            bytes: self.bytes - earlier.bytes,
            part_bytes: self.part_bytes - earlier.part_bytes,
            ..*self
        }
    }

    /// Both together.
    pub(crate) fn and(&self, other: &Tally) -> Tally {
        Tally {
            steps: self.steps + other.steps,
            rows: self.rows + other.rows,
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            part_bytes: self.part_bytes + other.part_bytes,
            batch_bytes: self.batch_bytes.max(other.batch_bytes),
            stretches: self.stretches + other.stretches,
            fitting: self.fitting + other.fitting,
            stretch_bytes: self.stretch_bytes.max(other.stretch_bytes),
        }
    }
}

/// Some of the shards of a data set. Reads of different shards are never merged, so the requests for some shards are
/// those that they have among all.
#[derive(Debug)]
pub(crate) struct ShardSubset {
    /// By number of the shard.
    pub(crate) chosen: Vec<bool>,
    /// Samples of the data set for each sample of these shards.
    pub(crate) factor: f64,
}

/// What all walks of a forecast share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkRules<'a> {
    pub(crate) dataset: &'a Dataset,
    pub(crate) wanted: &'a PartNeeds,
    pub(crate) budget: MemoryBudget,
    pub(crate) threads: usize,
    /// Bytes of pieces.
    pub(crate) room: u64,
    /// Samples of other shards are drawn, and not looked up.
    pub(crate) only: Option<&'a ShardSubset>,
    /// Bytes of a row, as far as they are known before the walk.
    pub(crate) row_bytes: u64,
}

/// A range of a shard, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShardRange {
    shard: u64,
    at: u64,
    length: u64,
}

/// The walk of one rank through some steps of an epoch.
pub(crate) struct RankWalk<'a> {
    rules: WalkRules<'a>,
    steps: Steps,
    cursor: Cursor,
    readahead: Option<Readahead>,
    pieces: Pieces<()>,
    last_bytes: u64,
    draws: Vec<RowDraw>,
    plan: ReadPlan,
    tally: Tally,
}

impl<'a> RankWalk<'a> {
    pub(crate) fn new(
        rules: WalkRules<'a>,
        steps: Steps,
        cursor: Cursor,
        readahead: Option<Readahead>,
    ) -> RankWalk<'a> {
        // Of some shards, the room that their share of the pieces has is unknown; a shuffle whose samples are read one by
        // one asks for each of them once, with and without room.
        let room = if rules.only.is_some() { u64::MAX / 2 } else { rules.room };
        let last_bytes = rules.only.map_or(0, |_| rules.row_bytes.saturating_mul(steps.batch()));
        RankWalk {
            rules,
            steps,
            cursor,
            readahead,
            pieces: Pieces::new(room, AT_ONCE),
            last_bytes,
            draws: Vec::new(),
            plan: ReadPlan::default(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Plans the batch of step `step`, and reads it.
    ///
    /// # Errors
    /// A sidecar cannot be opened, or a sample has not the wanted parts.
    pub(crate) fn step(&mut self, step: u64, new_shards: &mut NewShards) -> Result<()> {
        self.look_ahead(step, new_shards);
        self.draw(step)?;
        let WalkRules { dataset, wanted, budget, threads, .. } = self.rules;
        new_shards.open_ahead(dataset, &self.draws);
        let mut limits = read_limits(self.last_bytes, threads, &budget);
        limits.entry_points = 0; // they are in the sidecar
        self.plan.fill(dataset, &self.draws, wanted, limits)?;
        if let Some(bad) = self.plan.take_bad().next() {
            return Err(bad.error);
        }
        self.tally.part_bytes += self.plan.parts().iter().map(|part| part.length).sum::<u64>();
        self.tally.rows += self.draws.len() as u64;
        self.tally.steps += 1;
        self.last_bytes = self.batch_bytes(step);
        self.tally.batch_bytes = self.tally.batch_bytes.max(self.last_bytes);
        let reads = ranges(&self.plan);
        for &ShardRange { shard, at, length } in &reads {
            self.pieces.advise(shard, at..at + length, 1);
        }
        self.send();
        reads.into_iter().for_each(|range| self.read(range));
        Ok(())
    }

    /// Bytes that the planned batch reads. Of some shards only, a batch may have no row: the usual row counts.
    fn batch_bytes(&self, step: u64) -> u64 {
        match self.rules.only {
            None => self.plan.runs().iter().map(|run| run.bytes).sum(),
            Some(_) => self.rules.row_bytes.saturating_mul(self.steps.rows(step).len() as u64),
        }
    }

    fn look_ahead(&mut self, step: u64, new_shards: &mut NewShards) {
        let WalkRules { dataset, wanted, only, .. } = self.rules;
        let wanted = WantedParts::whole(wanted);
        let Some(mut readahead) = self.readahead.take() else { return };
        while readahead.is_due(step) {
            let drawn = readahead.draw(|ordinal| is_chosen(dataset, only, ordinal));
            new_shards.open_ahead(dataset, drawn);
            // A sample that cannot be looked up is an error of its batch.
            let Some(bytes) = readahead.look_up(dataset, wanted) else { continue };
            self.tally.stretches += 1;
            self.tally.stretch_bytes = self.tally.stretch_bytes.max(bytes);
            if readahead.fits(bytes) {
                self.tally.fitting += 1;
                readahead.planned().run_views().for_each(|run| self.expect(run));
            }
        }
        self.readahead = Some(readahead);
    }

    fn draw(&mut self, step: u64) -> Result<()> {
        let RankWalk { draws, rules, .. } = self;
        draws.clear();
        draw_step(&self.steps, &mut self.cursor, step, |draw, _| {
            if is_chosen(rules.dataset, rules.only, draw.ordinal) {
                let Draw { ordinal, pass, .. } = draw;
                draws.push(RowDraw { row: draws.len(), ordinal, pass });
            }
        })
    }

    /// Announces the samples of a run, as `RunBytes::expect` does.
    fn expect(&mut self, run: RunView<'_>) {
        let starts = run.starts();
        for read in run.reads() {
            let range = read.start..read.start + read.length;
            let within = starts.iter().copied().filter(|start| range.contains(start));
            self.pieces.offer(Offer { shard: run.shard() as u64, starts: within.collect(), range });
        }
        self.take_offers();
    }

    fn take_offers(&mut self) {
        while let Some(offer) = self.pieces.take_offer() {
            self.pieces.plan_offer(&offer, offer.range.clone(), 1);
        }
        self.send();
    }

    /// Sends the requests of new pieces. Their answers are there at once.
    fn send(&mut self) {
        while let Some((id, end)) = self.pieces.next_request() {
            self.ask(end - id.1);
            self.pieces.arrived(id, Some(end - id.1), ());
            self.pieces.released();
        }
    }

    fn ask(&mut self, bytes: u64) {
        self.tally.requests += 1;
        self.tally.bytes += bytes;
    }

    /// Reads a range, as `Fetcher::read` does.
    fn read(&mut self, ShardRange { shard, at, length }: ShardRange) {
        let mut from = at;
        while from < at + length {
            let rest = at + length - from;
            let offer = match self.pieces.with_byte(shard, from) {
                Some(_) => None,
                None => self.pieces.demand(shard, from),
            };
            if let Some(offer) = offer {
                self.pieces.plan_offer(&offer, offer.range.clone(), 1);
                self.send();
            }
            from += match self.pieces.with_byte(shard, from) {
                Some((id, end)) => {
                    let taken = rest.min(end - from);
                    self.pieces.used(id, from, taken);
                    self.take_offers();
                    taken
                }
                None => {
                    let asked = self.pieces.lacking(shard, from, rest);
                    self.ask(asked);
                    asked
                }
            };
        }
    }
}

/// True if the sample is looked up: it is in one of the shards, if only some are.
fn is_chosen(dataset: &Dataset, only: Option<&ShardSubset>, ordinal: u64) -> bool {
    only.is_none_or(|only| dataset.place(ordinal).is_none_or(|(shard, _)| only.chosen[shard]))
}

/// The ranges that a plan reads, in its order.
fn ranges(plan: &ReadPlan) -> Vec<ShardRange> {
    let mut ranges = Vec::new();
    for run in plan.runs() {
        let shard = run.shard as u64;
        let reads = plan.reads()[run.reads.clone()].iter();
        ranges.extend(reads.map(|read| ShardRange { shard, at: read.start, length: read.length }));
    }
    ranges
}
