//! `PendingBatch`: a batch in preparation, and the outcome of each of its rows.
//!
//! Knows rows and slabs; what a source plans in is opaque here.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::mixer::object_mixers::ObjectWorkspace;
use crate::order::Draw;
use tarflume_device::batch::{Content, RowFacts, RowState};
use tarflume_device::slab::PackPlace;
use tarflume_formats::IgnorePoison;
use tarflume_transforms::mixing::MixPlan;
use tarflume_types::{Error, Result};

/// Lists that a source plans a batch in. They are reused for later batches, so that planning allocates nothing.
pub(crate) trait SourceWorkspace: Default + Send + Sync {
    /// Releases what the finished batch held, such as samples that count against a memory limit.
    fn release(&mut self) {}
}

/// The sample that the order planned for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedRow {
    pub(crate) ordinal: u64,
    /// The pass over the data set, on which random numbers depend.
    pub(crate) pass: u64,
    pub(crate) padding: bool,
    /// Where it is in its pack, if samples are packed.
    pub(crate) place: PackPlace,
}

impl PlannedRow {
    /// A row without a pack.
    pub(crate) fn of(draw: Draw, padding: bool) -> PlannedRow {
        let Draw { ordinal, pass } = draw;
        PlannedRow { ordinal, pass, padding, place: PackPlace::default() }
    }
}

/// The lists that a batch is prepared with. They are reused for later batches.
#[derive(Debug, Default)]
pub(crate) struct BatchWorkspace<W> {
    pub(crate) rows: RowLists,
    /// How rows are mixed with each other.
    pub(crate) mix: MixPlan,
    /// How pictures change with the objects on them.
    pub(crate) objects: ObjectWorkspace,
    /// What the source plans in.
    pub(crate) source: W,
}

/// What is planned for each row of a batch, and its outcome.
#[derive(Debug, Default)]
pub(crate) struct RowLists {
    pub(crate) planned: Vec<PlannedRow>,
    /// The packs of the batch, if samples are packed.
    pub(crate) packs: Option<usize>,
    /// For each row, its place in the packs.
    places: Vec<PackPlace>,
    /// Outcome of each row: see [`PendingBatch::replace_row`].
    outcomes: Vec<AtomicU64>,
    /// For each slab column, the bytes that each row may take; zeros for fixed columns.
    room: Vec<usize>,
}

/// Outcome of a row that holds the planned sample.
const WHOLE: u64 = u64::MAX;
/// Outcome of a row that is left out. All other outcomes are the ordinal of a substitute.
const SKIPPED: u64 = u64::MAX - 1;

impl RowLists {
    /// Resets the outcomes for a batch of the rows in `planned`.
    pub(crate) fn reset_outcomes(&mut self) {
        self.outcomes.clear();
        self.outcomes.extend(self.planned.iter().map(|_| AtomicU64::new(WHOLE)));
    }

    /// Bytes that row `row` of slab column `column` may take.
    fn room(&self, column: usize, row: usize) -> usize {
        self.room[column * self.planned.len() + row]
    }

    /// Decides how many bytes each row may take in the variable columns; returns their sum. `write` sets the rows of one
    /// column. `least` is a lower bound for each slab column: room for substitutes.
    pub(crate) fn measure(
        &mut self,
        columns: &ColumnSet,
        least: &[u64],
        write: impl Fn(usize, &mut [usize]),
    ) -> u64 {
        let rows = self.planned.len();
        self.room.clear();
        self.room.resize(columns.columns() * rows, 0);
        let mut sum = 0u64;
        for column in (0..columns.columns()).filter(|&column| columns.is_variable(column)) {
            let room = &mut self.room[column * rows..][..rows];
            write(column, room);
            let least = least.get(column).map_or(0, |&n| usize::try_from(n).unwrap_or(usize::MAX));
            room.iter_mut().for_each(|room| *room = (*room).max(least));
            // Columns begin on a cache line, rows on a multiple of their elements.
            sum = room.iter().fold(sum + 64, |sum, &room| sum.saturating_add(room as u64 + 7));
        }
        sum
    }

    /// Bytes that each row may take in all variable columns together, as measured.
    pub(crate) fn claims(&self) -> Vec<u64> {
        let rows = self.planned.len();
        let mut claims = vec![0u64; rows];
        for (place, &room) in self.room.iter().enumerate() {
            let claim = &mut claims[place % rows];
            *claim = claim.saturating_add(room as u64);
        }
        claims
    }

    fn facts(&mut self, facts: &mut Vec<RowFacts>) {
        facts.clear();
        facts.extend(self.planned.iter().zip(&mut self.outcomes).map(|(row, outcome)| {
            let planned = row.ordinal;
            let (ordinal, state) = match *outcome.get_mut() {
                WHOLE => (planned, RowState::Whole),
                SKIPPED => (planned, RowState::Skipped),
                substitute => (substitute, RowState::Replaced),
            };
            let pack = row.place.pack as u32;
            RowFacts { planned, ordinal, state, padding: row.padding, pack }
        }));
    }
}

/// A batch that threads are working on.
pub(crate) struct PendingBatch<W> {
    /// Its number in the queue.
    pub(crate) number: u64,
    pub(crate) content: Box<Content>,
    pub(crate) workspace: Box<BatchWorkspace<W>>,
    /// Bytes of its variable columns.
    pub(crate) variable_bytes: u64,
    /// The position of its first row in the epoch.
    pub(crate) first: u64,
    /// The error of the lowest row, so that it does not depend on which thread was first.
    failure: Mutex<Option<(usize, Error)>>,
    /// Why rows are left out or hold a substitute.
    bad: Mutex<Vec<(usize, Error)>>,
}

impl<W: SourceWorkspace> PendingBatch<W> {
    pub(crate) fn new(
        number: u64,
        content: Box<Content>,
        workspace: Box<BatchWorkspace<W>>,
    ) -> PendingBatch<W> {
        PendingBatch {
            number,
            content,
            workspace,
            variable_bytes: 0,
            first: 0,
            failure: Mutex::default(),
            bad: Mutex::default(),
        }
    }

    /// What is planned for row `row`.
    pub(crate) fn planned(&self, row: usize) -> PlannedRow {
        self.workspace.rows.planned[row]
    }

    /// What the source planned.
    pub(crate) fn source(&self) -> &W {
        &self.workspace.source
    }

    /// Turns the whole batch into an error, because of row `row`.
    pub(crate) fn fail(&self, row: usize, error: Error) {
        let mut failure = self.failure.lock().ignore_poison();
        if failure.as_ref().is_none_or(|(first, _)| row < *first) {
            *failure = Some((row, error));
        }
    }

    /// Row `row` is left out because of `why`, or holds the sample `substitute` instead.
    pub(crate) fn replace_row(&self, row: usize, why: Error, substitute: Option<u64>) {
        let outcome = substitute.unwrap_or(SKIPPED);
        self.workspace.rows.outcomes[row].store(outcome, Ordering::Relaxed);
        self.bad.lock().ignore_poison().push((row, why));
    }

    /// Makes room for the variable columns, as measured.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        let PendingBatch { content, workspace, .. } = self;
        let rows = &mut workspace.rows;
        content.slab.make_room(rows.planned.len(), |column, row| rows.room(column, row))?;
        content.packs = rows.packs;
        if let Some(packs) = rows.packs {
            rows.places.clear();
            rows.places.extend(rows.planned.iter().map(|row| row.place));
            content.slab.place_rows(packs, &rows.places);
        }
        Ok(())
    }

    /// Closes the batch after all rows are written, and returns the lists for reuse.
    pub(crate) fn close(mut self) -> (Box<BatchWorkspace<W>>, Result<Box<Content>>) {
        self.workspace.source.release();
        let failure = self.failure.into_inner().ignore_poison();
        if let Some((_, error)) = failure {
            return (self.workspace, Err(error));
        }
        self.workspace.rows.facts(&mut self.content.facts);
        self.content.bad = self.bad.into_inner().ignore_poison();
        self.content.bad.sort_by_key(|(row, _)| *row);
        let facts = &self.content.facts;
        self.content.slab.seal(|row| facts[row].state != RowState::Skipped);
        (self.workspace, Ok(self.content))
    }
}
