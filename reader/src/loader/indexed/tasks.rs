//! `TaskLists`: how the runs of a planned batch are divided into chunks and tasks. Arithmetic.

use std::ops::Range;

use crate::fetch::plan::ReadPlan;

/// The most bytes of a chunk that has more than one run.
const CHUNK: u64 = 1 << 20;

/// How much work a task holds at least, if the batch has so much: a task costs some microseconds in locks, and
/// wakes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskMinimum {
    /// So many bytes are enough.
    pub(crate) bytes: u64,
    /// Or so many samples.
    pub(crate) samples: usize,
}

/// What a run, a chunk or a task reads and decodes.
#[derive(Debug, Default, Clone, Copy)]
struct Amount {
    samples: usize,
    bytes: u64,
}

impl Amount {
    fn and(self, other: Amount) -> Amount {
        Amount { samples: self.samples + other.samples, bytes: self.bytes + other.bytes }
    }
}

/// The chunks of a batch, and the tasks that they are grouped in.
#[derive(Debug, Default)]
pub(crate) struct TaskLists {
    /// Runs of the plan whose samples are read, and decoded, together.
    chunks: Vec<Range<usize>>,
    /// The chunks of each task, one after the other.
    tasks: Vec<Range<usize>>,
}

impl TaskLists {
    /// Divides the runs of `plan` into chunks of up to `most` samples, and the chunks into tasks that have `enough` to do.
    pub(crate) fn fill(&mut self, plan: &ReadPlan, most: usize, enough: TaskMinimum) {
        let runs = plan.runs().iter();
        let runs = runs.map(|run| Amount { samples: run.items.len(), bytes: run.bytes });
        self.divide(runs, most, enough);
    }

    /// Number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The chunks of task `task`, as runs; `None` if there are fewer tasks.
    pub(crate) fn task(&self, task: usize) -> Option<&[Range<usize>]> {
        self.tasks.get(task).map(|chunks| &self.chunks[chunks.clone()])
    }

    /// Divides runs of these amounts.
    fn divide(&mut self, runs: impl Iterator<Item = Amount>, most: usize, enough: TaskMinimum) {
        let TaskLists { chunks, tasks } = self;
        chunks.clear();
        tasks.clear();
        let mut chunk = Amount::default();
        let mut task = Amount::default();
        for (number, run) in runs.enumerate() {
            chunk = chunk.and(run);
            match chunks.last_mut() {
                Some(last) if chunk.samples <= most && chunk.bytes <= CHUNK => {
                    last.end = number + 1
                }
                _ => {
                    chunks.push(number..number + 1);
                    chunk = run;
                    match tasks.last_mut() {
                        Some(last)
                            if task.samples < enough.samples && task.bytes < enough.bytes =>
                        {
                            last.end = chunks.len();
                        }
                        _ => {
                            tasks.push(chunks.len() - 1..chunks.len());
                            task = Amount::default();
                        }
                    }
                }
            }
            task = task.and(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(
        runs: &[(usize, u64)],
        most: usize,
        enough: TaskMinimum,
    ) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let mut lists = TaskLists::default();
        let runs_of = runs.iter().map(|&(samples, bytes)| Amount { samples, bytes });
        lists.divide(runs_of, most, enough);
        let TaskLists { chunks, tasks } = lists;
        let all: Vec<usize> = tasks.iter().flat_map(|task| task.clone()).collect();
        assert_eq!(all, (0..chunks.len()).collect::<Vec<_>>(), "each chunk in one task");
        let all: Vec<usize> = chunks.iter().flat_map(|chunk| chunk.clone()).collect();
        assert_eq!(all, (0..runs.len()).collect::<Vec<_>>(), "each run in one chunk");
        (chunks, tasks)
    }

    const ENOUGH: TaskMinimum = TaskMinimum { bytes: 64 << 10, samples: usize::MAX };

    #[test]
    fn small_samples_share_a_task_and_decoders_get_groups_of_their_size() {
        let (chunks, tasks) = divided(&[(1, 3000); 256], 8, ENOUGH);
        assert_eq!(chunks.len(), 32);
        assert!(chunks.iter().all(|chunk| chunk.len() == 8));
        assert_eq!(tasks.len(), 11, "24 samples are 72 kB");
        let (chunks, tasks) = divided(&[(1, 100); 256], 1, ENOUGH);
        assert_eq!((chunks.len(), tasks.len()), (256, 1));
        let (_, tasks) = divided(&[(1, 100); 256], 1, TaskMinimum { samples: 17, ..ENOUGH });
        assert_eq!(tasks.len(), 256usize.div_ceil(17), "50 us of work are enough");
    }

    #[test]
    fn a_large_sample_is_a_task() {
        for most in [1, 4] {
            let (chunks, tasks) = divided(&[(1, 110_000); 64], most, ENOUGH);
            assert_eq!((chunks.len(), tasks.len()), (64 / most, 64 / most));
        }
        let (chunks, tasks) = divided(&[(4, 3 << 20), (4, 3 << 20)], 8, ENOUGH);
        assert_eq!((chunks.len(), tasks.len()), (2, 2), "no chunk is longer than a MiB");
        assert_eq!(divided(&[], 4, ENOUGH), (vec![], vec![]));
    }
}
