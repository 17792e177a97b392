//! `ArrayBatches`: batches of rows of arrays, in order or shuffled, read ahead by threads.
//!
//! The order is arithmetic: a permutation of the rows by seed and epoch, dealt to ranks in turn, so
//! that any step can be the first. Independent of samples and shards.

use std::iter::FusedIterator;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::room_for_threads;
use tarflume_order::{Key, Permutation};
use tarflume_types::{Error, ErrorKind, Result};

use super::dataset::ArrayDataset;

/// Batches that a thread reads ahead.
const AHEAD: usize = 2;

/// Which rows are in which batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArrayOrder {
    /// Rows in a batch.
    pub batch: u64,
    /// The seed of the shuffle; `None` for the order of the array.
    pub seed: Option<u64>,
    /// The epoch.
    pub epoch: u64,
    /// This rank, and the number of ranks.
    pub rank: (u64, u64),
    /// Whether the last batch is left out if it is smaller, and rows beyond an equal share of ranks.
    pub drop_last: bool,
}

/// A batch of rows of several arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayBatch {
    /// The numbers of the rows.
    pub rows: Vec<u64>,
    /// The bytes of the rows of each array, without gaps.
    pub columns: Vec<Vec<u8>>,
}

/// Reads batches. Its memory is two batches for each thread, and the one that is delivered.
#[derive(Debug)]
pub struct ArrayBatches {
    job: Arc<Job>,
    threads: u64,
    /// The threads take turns; empty before the first batch.
    turns: Vec<Receiver<Result<ArrayBatch>>>,
    step: u64,
    steps: u64,
}

/// The state that the threads share.
#[derive(Debug)]
struct Job {
    arrays: Vec<ArrayDataset>,
    order: ArrayOrder,
    permutation: Permutation,
    /// Rows of this rank.
    rows: u64,
}

impl ArrayBatches {
    /// Begins an epoch at batch `first`, read by `threads` threads.
    ///
    /// # Errors
    /// Returns an error if there are no arrays, if they have different numbers of rows, for a batch of
    /// no rows and for a rank that does not exist.
    pub fn new(
        arrays: Vec<ArrayDataset>,
        order: ArrayOrder,
        first: u64,
        threads: usize,
    ) -> Result<ArrayBatches> {
        let Some(total) = arrays.first().map(ArrayDataset::len) else {
            return Err(Error::usage("batches need at least one array"));
        };
        if let Some(other) = arrays.iter().find(|array| array.len() != total) {
            let text = format!("the array has {} rows, and the first one {total}", other.len());
            return Err(Error::usage(text).with_path(other.path()));
        }
        let scattered = arrays.iter().find(|array| order.seed.is_some() && !array.keeps_all());
        if let Some(array) = scattered {
            let text = message!(
                "its rows are decoded in blocks of {}, and a full shuffle takes each row from another block: a loader of \
                 arrays shuffles by blocks, with {blocks}",
                array.block_rows().unwrap_or(1);
                blocks = Name::Shuffle.quoted("blocks")
            );
            return Err(Error::new(ErrorKind::Usage, text).with_path(array.path()));
        }
        let (rank, world) = order.rank;
        if order.batch == 0 || rank >= world {
            let text = format!("batch {} of rank {rank} of {world}", order.batch);
            return Err(Error::usage(format!("there is no such share: {text}")));
        }
        let rows = if order.drop_last {
            total / world
        } else {
            total / world + u64::from(rank < total % world)
        };
        let batch = order.batch;
        let steps = if order.drop_last { rows / batch } else { rows.div_ceil(batch) };
        let key = Key::new(order.seed.unwrap_or(0), order.epoch, b"arrayrow");
        let permutation = Permutation::new(total, key);
        let job = Arc::new(Job { arrays, order, permutation, rows });
        let threads = (threads.max(1) as u64).min(steps.saturating_sub(first).max(1));
        Ok(ArrayBatches { job, threads, turns: Vec::new(), step: first, steps })
    }

    /// Starts the threads, at the first batch.
    fn start(&mut self) -> Result<()> {
        room_for_threads(self.threads as usize).map_err(no_thread)?;
        for turn in 0..self.threads {
            let (send, receive) = sync_channel(AHEAD);
            let job = self.job.clone();
            let steps = (self.step + turn..self.steps).step_by(self.threads as usize);
            let started = thread::Builder::new()
                .name("tarflume-array".into())
                .spawn(move || job.read(steps, &send));
            started.map_err(no_thread)?;
            self.turns.push(receive);
        }
        Ok(())
    }

    /// Batches that remain.
    pub fn remaining(&self) -> u64 {
        self.steps.saturating_sub(self.step)
    }
}

impl Iterator for ArrayBatches {
    type Item = Result<ArrayBatch>;

    fn next(&mut self) -> Option<Result<ArrayBatch>> {
        if self.step >= self.steps {
            return None;
        }
        if self.turns.is_empty()
            && let Err(error) = self.start()
        {
            self.step = self.steps;
            return Some(Err(error));
        }
        self.step += 1;
        let Ok(batch) = self.turns[0].recv() else {
            self.step = self.steps;
            let text = "a thread that reads batches of arrays panicked";
            return Some(Err(Error::new(ErrorKind::Panicked, text)));
        };
        self.turns.rotate_left(1);
        Some(batch)
    }
}

impl FusedIterator for ArrayBatches {}

impl Job {
    /// Reads batches until the receiver is dropped.
    fn read(&self, steps: impl Iterator<Item = u64>, send: &SyncSender<Result<ArrayBatch>>) {
        for step in steps {
            if send.send(self.batch(step)).is_err() {
                return;
            }
        }
    }

    fn batch(&self, step: u64) -> Result<ArrayBatch> {
        let (rank, world) = self.order.rank;
        let first = step * self.order.batch;
        let places = first..first.saturating_add(self.order.batch).min(self.rows);
        let rows: Vec<u64> = places
            .map(|place| match self.order.seed {
                Some(_) => self.permutation.at(place * world + rank),
                None => place * world + rank,
            })
            .collect();
        let columns = self
            .arrays
            .iter()
            .map(|array| {
                let mut bytes = vec![0; rows.len() * array.row_bytes()];
                array.read_rows(&rows, &mut bytes).map(|()| bytes)
            })
            .collect::<Result<_>>()?;
        Ok(ArrayBatch { rows, columns })
    }
}

/// Returns the error of a thread that the system refuses.
fn no_thread(error: std::io::Error) -> Error {
    let text = message!(
        "a thread can't be started; ask for fewer with {fewer}, or raise the limits of processes and memory \
         (`ulimit -u`, `ulimit -v`, `ulimit -d`)";
        fewer = Name::Threads
    );
    Error::new(ErrorKind::Machine, text).with_source(error)
}

#[cfg(test)]
mod tests {
    use tarflume_types::DType;

    use super::*;

    #[test]
    fn a_thread_that_dies_is_an_error_and_not_the_end_of_the_epoch() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 40]).unwrap();
        let array = ArrayDataset::raw(file.path(), DType::U8, &[4], 0).unwrap();
        let order = ArrayOrder { batch: 2, seed: None, epoch: 0, rank: (0, 1), drop_last: false };
        let mut batches = ArrayBatches::new(vec![array], order, 0, 1).unwrap();
        let (send, receive) = sync_channel(AHEAD);
        send.send(batches.job.batch(0)).unwrap();
        drop(send);
        batches.turns = vec![receive];
        assert_eq!(batches.next().unwrap().unwrap().rows, [0, 1]);
        assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Panicked);
        assert!(batches.next().is_none() && batches.remaining() == 0);
    }
}
