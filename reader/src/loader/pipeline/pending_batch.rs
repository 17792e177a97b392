//! A batch on its way: what it will hold, and what became of each row.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{Content, RowFacts, RowState};
use crate::decode::image::pixels_of;
use crate::error::{Error, Result};
use crate::fetch::plan::{Bad, Draw, Plan};
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::panics::caught;
use crate::loader::pipeline::stream_samples::StreamSamples;
use tarflume_formats::poison::IgnorePoison;

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
pub(crate) struct Workspace {
    pub(crate) dealt: Vec<Dealt>,
    pub(crate) draws: Vec<Draw>,
    pub(crate) plan: Plan,
    /// Runs of the plan whose samples are read, and decoded, together.
    pub(crate) chunks: Vec<Range<usize>>,
    /// The chunks of each task, one after the other.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Samples of a stream; none where there is a plan.
    pub(crate) gathered: StreamSamples,
    /// Samples that can't be read, as planning found.
    pub(crate) bad: Mutex<Vec<Bad>>,
    /// What became of each row: see [`PendingBatch::bad`].
    outcomes: Vec<AtomicU64>,
    /// For each slab column, the bytes that each row may take; zeros for fixed columns.
    rooms: Vec<usize>,
}

/// The most bytes of a chunk that has more than one run.
const CHUNK: u64 = 1 << 20;

/// How much work a task holds at least, if the batch has it: a task costs some microseconds in locks, and
/// wakes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Enough {
    /// So many bytes are enough.
    pub(crate) bytes: u64,
    /// Or so many samples.
    pub(crate) samples: usize,
}

/// Outcome of a row that holds what was planned.
const WHOLE: u64 = u64::MAX;
/// Outcome of a row that is left out; all other outcomes are the substitute's ordinal.
const SKIPPED: u64 = u64::MAX - 1;

impl Workspace {
    /// Empties the lists for a batch of the rows in `dealt`.
    pub(crate) fn reset_outcomes(&mut self) {
        self.outcomes.clear();
        self.outcomes.extend(self.dealt.iter().map(|_| AtomicU64::new(WHOLE)));
    }

    /// Deals the plan's runs to chunks of up to `most` samples, and the chunks to tasks that have
    /// `enough` to do.
    pub(crate) fn deal_tasks(&mut self, most: usize, enough: Enough) {
        let runs = self.plan.runs().iter().map(|run| (run.items.len(), run.bytes));
        deal((&mut self.chunks, &mut self.tasks), runs, most, enough);
    }

    /// The samples that planning found to be bad.
    pub(crate) fn take_bad(&self) -> Vec<Bad> {
        std::mem::take(&mut *self.bad.lock().ignore_poison())
    }

    /// Bytes that row `row` of slab column `column` may take.
    pub(crate) fn room(&self, column: usize, row: usize) -> usize {
        self.rooms[column * self.dealt.len() + row]
    }

    /// Decides what every row may take; the sum. `least` is what rows have at least in each slab
    /// column: room for those that stand in for bad samples.
    pub(crate) fn measure(&mut self, recipe: &ColumnSet, least: &[u64]) -> u64 {
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
    pub(crate) fn measure_gathered(&mut self, recipe: &ColumnSet) -> u64 {
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

/// Deals runs, each so many samples and bytes, to chunks and tasks: see [`Workspace::deal_tasks`].
fn deal(
    (chunks, tasks): (&mut Vec<Range<usize>>, &mut Vec<Range<usize>>),
    runs: impl Iterator<Item = (usize, u64)>,
    most: usize,
    enough: Enough,
) {
    chunks.clear();
    tasks.clear();
    let (mut chunk, mut task) = ((0, 0), (0, 0)); // samples, bytes
    for (number, run) in runs.enumerate() {
        chunk = (chunk.0 + run.0, chunk.1 + run.1);
        match chunks.last_mut() {
            Some(last) if chunk.0 <= most && chunk.1 <= CHUNK => last.end = number + 1,
            _ => {
                chunks.push(number..number + 1);
                chunk = run;
                match tasks.last_mut() {
                    Some(last) if task.0 < enough.samples && task.1 < enough.bytes => {
                        last.end = chunks.len();
                    }
                    _ => {
                        tasks.push(chunks.len() - 1..chunks.len());
                        task = (0, 0);
                    }
                }
            }
        }
        task = (task.0 + run.0, task.1 + run.1);
    }
}

/// Decides what every row may take in `rooms`; the sum. `write` says it of a column's rows, which have
/// `least` at least.
fn measure(
    rooms: &mut Vec<usize>,
    (recipe, rows): (&ColumnSet, usize),
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
pub(crate) struct PendingBatch {
    /// Its number in the line of batches.
    pub(crate) number: u64,
    pub(crate) content: Box<Content>,
    pub(crate) desk: Box<Workspace>,
    /// Bytes of its variable columns.
    pub(crate) variable: u64,
    /// The error of the lowest row, so that it doesn't depend on which thread was first.
    failure: Mutex<Option<(usize, Error)>>,
    /// Why rows are left out or hold a substitute.
    bad: Mutex<Vec<(usize, Error)>>,
}

impl PendingBatch {
    pub(crate) fn new(number: u64, content: Box<Content>, desk: Box<Workspace>) -> PendingBatch {
        let (failure, bad) = (Mutex::default(), Mutex::default());
        PendingBatch { number, content, desk, variable: 0, failure, bad }
    }

    /// Row `row` makes the whole batch an error.
    pub(crate) fn fail(&self, row: usize, error: Error) {
        let mut failure = self.failure.lock().ignore_poison();
        if failure.as_ref().is_none_or(|(first, _)| row < *first) {
            *failure = Some((row, error));
        }
    }

    /// Row `row` is left out, or holds the sample `by` instead of its own, and this is why.
    pub(crate) fn bad(&self, row: usize, why: Error, by: Option<u64>) {
        self.desk.outcomes[row].store(by.unwrap_or(SKIPPED), Ordering::Relaxed);
        self.bad.lock().ignore_poison().push((row, why));
    }

    /// Makes room for the variable columns, as measured.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        let PendingBatch { content, desk, .. } = self;
        content.slab.make_room(desk.dealt.len(), |column, row| desk.room(column, row))
    }

    /// All rows are written: closes the batch, and hands the lists back.
    pub(crate) fn close(mut self) -> (Box<Workspace>, Result<Box<Content>>) {
        self.desk.gathered.clear();
        let failure = self.failure.into_inner().ignore_poison();
        if let Some((_, error)) = failure {
            return (self.desk, Err(error));
        }
        self.desk.facts(&mut self.content.facts);
        self.content.bad = self.bad.into_inner().ignore_poison();
        self.content.bad.sort_by_key(|(row, _)| *row);
        let facts = &self.content.facts;
        self.content.slab.seal(|row| facts[row].state != RowState::Skipped);
        (self.desk, Ok(self.content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(
        runs: &[(usize, u64)],
        most: usize,
        enough: Enough,
    ) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let (mut chunks, mut tasks) = (Vec::new(), Vec::new());
        deal((&mut chunks, &mut tasks), runs.iter().copied(), most, enough);
        let all: Vec<usize> = tasks.iter().flat_map(|task| task.clone()).collect();
        assert_eq!(all, (0..chunks.len()).collect::<Vec<_>>(), "each chunk in one task");
        let all: Vec<usize> = chunks.iter().flat_map(|chunk| chunk.clone()).collect();
        assert_eq!(all, (0..runs.len()).collect::<Vec<_>>(), "each run in one chunk");
        (chunks, tasks)
    }

    const ENOUGH: Enough = Enough { bytes: 64 << 10, samples: usize::MAX };

    #[test]
    fn small_samples_share_a_task_and_decoders_see_no_more_of_them_than_they_want() {
        let (chunks, tasks) = dealt(&[(1, 3000); 256], 8, ENOUGH);
        assert_eq!(chunks.len(), 32);
        assert!(chunks.iter().all(|chunk| chunk.len() == 8));
        assert_eq!(tasks.len(), 11, "24 samples are 72 kB");
        let (chunks, tasks) = dealt(&[(1, 100); 256], 1, ENOUGH);
        assert_eq!((chunks.len(), tasks.len()), (256, 1));
        let (_, tasks) = dealt(&[(1, 100); 256], 1, Enough { samples: 17, ..ENOUGH });
        assert_eq!(tasks.len(), 256usize.div_ceil(17), "50 us of work are enough");
    }

    #[test]
    fn a_large_sample_is_a_task() {
        for most in [1, 4] {
            let (chunks, tasks) = dealt(&[(1, 110_000); 64], most, ENOUGH);
            assert_eq!((chunks.len(), tasks.len()), (64 / most, 64 / most));
        }
        let (chunks, tasks) = dealt(&[(4, 3 << 20), (4, 3 << 20)], 8, ENOUGH);
        assert_eq!((chunks.len(), tasks.len()), (2, 2), "no chunk is longer than a MiB");
        assert_eq!(dealt(&[], 4, ENOUGH), (vec![], vec![]));
    }
}
