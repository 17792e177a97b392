//! A batch on its way: what it will hold, and what became of each row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::recipe::Recipe;
use crate::batch::{Content, RowFacts, RowState};
use crate::error::{Error, Result};
use crate::fetch::plan::{Bad, Draw, Plan};

/// A sample that the order dealt to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dealt {
    pub(crate) ordinal: u64,
    /// The pass over the data set, which random numbers depend on.
    pub(crate) pass: u64,
    pub(crate) padding: bool,
}

/// Lists that a batch is prepared with; used again for later batches.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) dealt: Vec<Dealt>,
    pub(crate) draws: Vec<Draw>,
    pub(crate) plan: Plan,
    /// Samples that can't be read, as planning found.
    pub(crate) bad: Mutex<Vec<Bad>>,
    /// What became of each row: see [`Desk::replaced`].
    outcomes: Vec<AtomicU64>,
    /// For each slab column, the bytes that each row may take; zeros for fixed columns.
    rooms: Vec<usize>,
}

/// Bytes more than the middling that every row has where others may stand in for bad samples.
const MIDDLING: usize = 64;
/// Outcome of a row that holds what was planned.
const WHOLE: u64 = u64::MAX;
/// Outcome of a row that is left out; all other outcomes are the substitute's ordinal.
const SKIPPED: u64 = u64::MAX - 1;

impl Desk {
    /// Empties the lists for a batch of the rows in `dealt`.
    pub(crate) fn reset_outcomes(&mut self) {
        self.outcomes.clear();
        self.outcomes.extend(self.dealt.iter().map(|_| AtomicU64::new(WHOLE)));
    }

    /// The samples that planning found to be bad.
    pub(crate) fn take_bad(&self) -> Vec<Bad> {
        std::mem::take(&mut *self.bad.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes that row `row` of slab column `column` may take.
    pub(crate) fn room(&self, column: usize, row: usize) -> usize {
        self.rooms[column * self.dealt.len() + row]
    }

    /// Decides what every row may take; the sum. Where others may stand in for bad samples, every row
    /// has room for a sample of middling size.
    pub(crate) fn measure(&mut self, recipe: &Recipe, keys: &[usize], substitutes: bool) -> u64 {
        let rows = self.dealt.len();
        self.rooms.clear();
        self.rooms.resize(recipe.columns() * rows, 0);
        let mut sum = 0u64;
        for column in (0..recipe.columns()).filter(|&column| recipe.is_variable(column)) {
            let rooms = &mut self.rooms[column * rows..][..rows];
            for item in self.plan.items() {
                let parts = self.plan.parts_of(item);
                let room = recipe.room(column, keys[item.slot], |n| parts[n].length);
                rooms[item.slot] = usize::try_from(room).unwrap_or(usize::MAX);
            }
            if substitutes {
                let all = rooms.iter().fold(0usize, |sum, &room| sum.saturating_add(room));
                let middling = all / rows.max(1);
                rooms.iter_mut().for_each(|room| *room = (*room).max(middling + MIDDLING));
            }
            // Columns begin on a cache line, rows on a multiple of their elements.
            sum = rooms.iter().fold(sum + 64, |sum, &room| sum.saturating_add(room as u64 + 7));
        }
        sum
    }

    /// True if a sample whose key and parts have these lengths fits into row `row`.
    pub(crate) fn fits(
        &self,
        recipe: &Recipe,
        row: usize,
        key: usize,
        length: impl Fn(usize) -> u64 + Copy,
    ) -> bool {
        (0..recipe.columns())
            .filter(|&column| recipe.is_variable(column))
            .all(|column| recipe.room(column, key, length) <= self.room(column, row) as u64)
    }

    pub(crate) fn skipped(&self, row: usize) {
        self.outcomes[row].store(SKIPPED, Ordering::Relaxed);
    }

    pub(crate) fn replaced(&self, row: usize, by: u64) {
        self.outcomes[row].store(by, Ordering::Relaxed);
    }

    fn facts(&mut self, facts: &mut Vec<RowFacts>) {
        facts.clear();
        facts.extend(self.dealt.iter().zip(&mut self.outcomes).map(|(dealt, outcome)| {
            let planned = dealt.ordinal;
            let (ordinal, state) = match *outcome.get_mut() {
                WHOLE => (planned, RowState::Whole),
                SKIPPED => (planned, RowState::Skipped),
                by => (by, RowState::Replaced),
            };
            RowFacts { planned, ordinal, state, padding: dealt.padding }
        }));
    }
}

/// A batch that threads are working on.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its number in the line of batches.
    pub(crate) number: u64,
    pub(crate) content: Box<Content>,
    pub(crate) desk: Box<Desk>,
    /// Bytes of its variable columns.
    pub(crate) variable: u64,
    /// The error of the lowest row, so that it doesn't depend on which thread was first.
    failure: Mutex<Option<(usize, Error)>>,
}

impl Job {
    pub(crate) fn new(number: u64, content: Box<Content>, desk: Box<Desk>) -> Job {
        Job { number, content, desk, variable: 0, failure: Mutex::default() }
    }

    /// Row `row` makes the whole batch an error.
    pub(crate) fn fail(&self, row: usize, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| row < *first) {
            *failure = Some((row, error));
        }
    }

    /// All rows are written: closes the batch, and hands the lists back.
    pub(crate) fn close(mut self) -> (Box<Desk>, Result<Box<Content>>) {
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = failure {
            return (self.desk, Err(error));
        }
        self.desk.facts(&mut self.content.facts);
        let facts = &self.content.facts;
        self.content.slab.seal(|row| facts[row].state != RowState::Skipped);
        (self.desk, Ok(self.content))
    }
}
