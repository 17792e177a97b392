//! A batch on its way: what it will hold, and what became of each row.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::caught::caught;
use super::gathered::Gathered;
use super::recipe::Recipe;
use crate::batch::{Content, RowFacts, RowState};
use crate::decode::image::pixels_of;
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
    /// The runs of the plan that each task reads.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Samples of a stream; none where there is a plan.
    pub(crate) gathered: Gathered,
    /// Samples that can't be read, as planning found.
    pub(crate) bad: Mutex<Vec<Bad>>,
    /// What became of each row: see [`Job::bad`].
    outcomes: Vec<AtomicU64>,
    /// For each slab column, the bytes that each row may take; zeros for fixed columns.
    rooms: Vec<usize>,
}

/// The most bytes that a task reads, if it reads more than one run.
const TASK: u64 = 1 << 20;

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

    /// Deals the plan's runs to tasks: neighbours together that have up to `most` samples.
    pub(crate) fn deal_tasks(&mut self, most: usize) {
        self.tasks.clear();
        let (mut samples, mut bytes) = (0, 0);
        for (number, run) in self.plan.runs().iter().enumerate() {
            (samples, bytes) = (samples + run.items.len(), bytes + run.bytes);
            match self.tasks.last_mut() {
                Some(task) if samples <= most && bytes <= TASK => task.end = number + 1,
                _ => {
                    self.tasks.push(number..number + 1);
                    (samples, bytes) = (run.items.len(), run.bytes);
                }
            }
        }
    }

    /// The samples that planning found to be bad.
    pub(crate) fn take_bad(&self) -> Vec<Bad> {
        std::mem::take(&mut *self.bad.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes that row `row` of slab column `column` may take.
    pub(crate) fn room(&self, column: usize, row: usize) -> usize {
        self.rooms[column * self.dealt.len() + row]
    }

    /// Decides what every row may take; the sum. `least` is what rows have at least in each slab
    /// column: room for those that stand in for bad samples.
    pub(crate) fn measure(&mut self, recipe: &Recipe, least: &[u64]) -> u64 {
        let plan = &self.plan;
        measure(&mut self.rooms, (recipe, self.dealt.len()), least, |column, rooms| {
            for item in plan.items() {
                let parts = plan.parts_of(item);
                let key = plan.key(item).len();
                let room = recipe.room(column, key, |n| (parts[n].length, parts[n].pixels));
                rooms[item.slot] = usize::try_from(room).unwrap_or(usize::MAX);
            }
        })
    }

    /// The same for samples of a stream.
    pub(crate) fn measure_gathered(&mut self, recipe: &Recipe) -> u64 {
        let gathered = &self.gathered;
        measure(&mut self.rooms, (recipe, self.dealt.len()), &[], |column, rooms| {
            for (row, room) in rooms.iter_mut().enumerate() {
                let Some(sample) = gathered.sample(row) else { continue };
                let part = |n| {
                    let bytes = gathered.part(&recipe.wanted, row, n).bytes;
                    // There is no sidecar to say it. What can't be read is refused when it is decoded.
                    let read = || caught("the decoder", || Ok(pixels_of(bytes)));
                    let pixels = recipe.wanted.wants_pixels(n).then(read);
                    let pixels = pixels.map(|read| read.ok().flatten().unwrap_or(0));
                    (bytes.len() as u64, pixels)
                };
                let bytes = recipe.room(column, sample.key().len(), part);
                *room = usize::try_from(bytes).unwrap_or(usize::MAX);
            }
        })
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

/// Decides what every row may take in `rooms`; the sum. `write` says it of a column's rows, which have
/// `least` at least.
fn measure(
    rooms: &mut Vec<usize>,
    (recipe, rows): (&Recipe, usize),
    least: &[u64],
    write: impl Fn(usize, &mut [usize]),
) -> u64 {
    rooms.clear();
    rooms.resize(recipe.columns() * rows, 0);
    let mut sum = 0u64;
    for column in (0..recipe.columns()).filter(|&column| recipe.is_variable(column)) {
        let rooms = &mut rooms[column * rows..][..rows];
        write(column, rooms);
        let least = least.get(column).map_or(0, |&n| usize::try_from(n).unwrap_or(usize::MAX));
        rooms.iter_mut().for_each(|room| *room = (*room).max(least));
        // Columns begin on a cache line, rows on a multiple of their elements.
        sum = rooms.iter().fold(sum + 64, |sum, &room| sum.saturating_add(room as u64 + 7));
    }
    sum
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
    /// Why rows are left out or hold a substitute.
    bad: Mutex<Vec<(usize, Error)>>,
}

impl Job {
    pub(crate) fn new(number: u64, content: Box<Content>, desk: Box<Desk>) -> Job {
        let (failure, bad) = (Mutex::default(), Mutex::default());
        Job { number, content, desk, variable: 0, failure, bad }
    }

    /// Row `row` makes the whole batch an error.
    pub(crate) fn fail(&self, row: usize, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| row < *first) {
            *failure = Some((row, error));
        }
    }

    /// Row `row` is left out, or holds the sample `by` instead of its own, and this is why.
    pub(crate) fn bad(&self, row: usize, why: Error, by: Option<u64>) {
        self.desk.outcomes[row].store(by.unwrap_or(SKIPPED), Ordering::Relaxed);
        self.bad.lock().unwrap_or_else(PoisonError::into_inner).push((row, why));
    }

    /// Makes room for the variable columns, as measured.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        let Job { content, desk, .. } = self;
        content.slab.make_room(desk.dealt.len(), |column, row| desk.room(column, row))
    }

    /// All rows are written: closes the batch, and hands the lists back.
    pub(crate) fn close(mut self) -> (Box<Desk>, Result<Box<Content>>) {
        self.desk.gathered.clear();
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = failure {
            return (self.desk, Err(error));
        }
        self.desk.facts(&mut self.content.facts);
        self.content.bad = self.bad.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.content.bad.sort_by_key(|(row, _)| *row);
        let facts = &self.content.facts;
        self.content.slab.seal(|row| facts[row].state != RowState::Skipped);
        (self.desk, Ok(self.content))
    }
}
