//! From a stream to jobs: the next samples that arrive are the next batch.
//!
//! Never waits: it runs on a thread of the pool, and the stream rings when there is more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::pending_batch::{Dealt, PendingBatch};
use crate::loader::pipeline::queue::{BatchPlanner, Planned};
use crate::loader::pipeline::stream_samples::StreamSamples;
use crate::loader::streaming::worker::{StreamWorker, number};
use crate::pool::Bell;
use crate::size::Size;
use crate::stream::{Item, Next, Samples, Stream};
use tarflume_formats::poison::IgnorePoison;

/// Sentences that are worth telling, each once.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    /// All so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().ignore_poison().clone()
    }

    fn add(&self, notes: Vec<String>) {
        let mut all = self.0.lock().ignore_poison();
        for note in notes {
            if !all.contains(&note) {
                all.push(note);
            }
        }
    }
}

/// What was counted of the reading so far.
#[derive(Debug, Default)]
struct Counted {
    busy: Duration,
    samples: u64,
    bytes: u64,
}

/// Gathers the batches of one epoch.
pub(crate) struct StreamPlanner {
    labour: Arc<StreamWorker>,
    samples: Samples,
    /// Set if the stream is to ring.
    waiting: Arc<AtomicBool>,
    shares: MemoryBudget,
    notes: Arc<Notes>,
    rows: usize,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Samples of all batches so far.
    position: u64,
    /// The rows of the batch that is not full yet.
    taken: StreamSamples,
    dealt: Vec<Dealt>,
    /// Why rows are bad.
    bad: Vec<(usize, Error)>,
    /// Bytes of the stream's memory in `taken`.
    charged: u64,
    ended: bool,
    counted: Counted,
}

impl StreamPlanner {
    /// Begins to read `stream`; `bell` wakes the pool.
    ///
    /// # Errors
    /// Those of [`Stream::samples`].
    pub(crate) fn new(
        (stream, epoch): (&Stream, u64),
        labour: Arc<StreamWorker>,
        (bell, notes): (Arc<Bell>, Arc<Notes>),
        shares: MemoryBudget,
    ) -> Result<StreamPlanner> {
        let waiting = Arc::new(AtomicBool::new(false));
        let asked = waiting.clone();
        let ring = move || {
            if asked.swap(false, Ordering::SeqCst) {
                bell.ring();
            }
        };
        let samples = stream.samples_with_bell(epoch, Arc::new(ring))?;
        let rows = labour.recipe.layout.rows();
        let (taken, dealt, bad) = Default::default();
        let (step, position, charged, ended) = (0, 0, 0, false);
        let counted = Counted::default();
        Ok(StreamPlanner {
            labour,
            samples,
            waiting,
            shares,
            notes,
            rows,
            epoch,
            step,
            position,
            taken,
            dealt,
            bad,
            charged,
            ended,
            counted,
        })
    }

    /// The next of the stream. Where there is none yet, it rings from now on.
    fn next(&mut self) -> Next<Item> {
        match self.samples.try_item() {
            Next::NotYet => {
                // What came between the question and the wish to be rung for is asked for again.
                self.waiting.store(true, Ordering::SeqCst);
                self.samples.try_item()
            }
            next => next,
        }
    }

    /// Takes samples until the batch is full or the stream has ended; false if it must wait.
    fn gather(&mut self) -> Result<bool> {
        while self.taken.rows() < self.rows && !self.ended {
            let (shard, row, sample) = match self.next() {
                Next::Ready(Item::Sample(sample)) => {
                    self.charged += sample.charged();
                    (sample.shard_number(), sample.row(), Some(sample))
                }
                Next::Ready(Item::Bad { shard_number, row, error }) => {
                    self.bad.push((self.taken.rows(), error));
                    (shard_number, row, None)
                }
                Next::Ready(Item::Broken(error)) => return Err(error),
                Next::NotYet => return self.stuck().map_or(Ok(false), Err),
                Next::End => {
                    self.ended = true;
                    break;
                }
            };
            self.taken.push(sample);
            let (ordinal, pass) = (number(shard, row), self.epoch);
            self.dealt.push(Dealt { ordinal, pass, padding: false });
        }
        Ok(true)
    }

    /// Why the batch can never become full: its own samples are in the way of the next.
    fn stuck(&self) -> Option<Error> {
        let (bytes, room) = self.samples.in_the_way()?;
        if bytes != self.charged {
            return None; // others are, and will be gone
        }
        let each = bytes / self.taken.rows().max(1) as u64;
        let text = format!(
            "{} samples take {}, and a batch of {} has no room in the {} that the stream's memory leaves \
             for those in hand: raise .memory_limit(), that of the stream if it was told one, by about {}, or take \
             smaller batches",
            self.taken.rows(),
            Size::new(bytes).about(),
            self.rows,
            Size::new(room).about(),
            Size::new(each.saturating_mul(self.rows as u64).saturating_mul(8)).at_least()
        );
        Some(Error::new(ErrorKind::Limit, text))
    }

    /// Counts what was read since this was asked last.
    fn count(&mut self) {
        let stats = self.samples.stats();
        let busy = stats.running.saturating_sub(stats.blocked).max(self.counted.busy);
        let now = Counted { busy, samples: stats.samples, bytes: stats.bytes };
        let before = std::mem::replace(&mut self.counted, now);
        let now = &self.counted;
        let (samples, bytes) = (now.samples - before.samples, now.bytes - before.bytes);
        self.labour.meter.read.add(now.busy - before.busy, samples, bytes);
        self.notes.add(self.samples.notes());
    }

    /// How much memory the job's variable columns take.
    fn measure(&self, job: &mut PendingBatch) -> Result<u64> {
        let bytes = job.desk.measure_gathered(&self.labour.recipe);
        self.shares.allow(bytes, (self.epoch, self.step), 8)
    }
}

impl BatchPlanner for StreamPlanner {
    fn plan(&mut self, job: &mut PendingBatch) -> Result<Planned> {
        let gathered = self.gather();
        if !matches!(gathered, Ok(false)) {
            self.count();
        }
        if !gathered? {
            return Ok(Planned::NotYet);
        }
        let rows = self.taken.rows();
        if rows == 0 {
            return Ok(Planned::End);
        }
        let desk = &mut *job.desk;
        desk.gathered.clear();
        desk.dealt.clear();
        std::mem::swap(&mut desk.gathered, &mut self.taken);
        std::mem::swap(&mut desk.dealt, &mut self.dealt);
        self.charged = 0;
        desk.reset_outcomes();
        for (row, error) in self.bad.drain(..) {
            match error.kind() {
                // What comes must not depend on the bound: no policy helps here.
                ErrorKind::Limit => job.fail(row, error),
                _ => self.labour.bad(job, row, error),
            }
        }
        for row in 0..rows {
            if let Err(error) = job.desk.gathered.choose(&self.labour.recipe.wanted, row) {
                self.labour.bad(job, row, error);
            }
        }
        job.variable = self.measure(job)?;
        self.position += rows as u64;
        job.content.epoch = self.epoch;
        job.content.step = self.step;
        job.content.position = self.position;
        self.step += 1;
        Ok(Planned::Tasks(job.desk.gathered.cut(self.labour.threads)))
    }
}
