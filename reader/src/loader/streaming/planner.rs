//! `StreamPlanner`: from a stream to batches. The next samples that arrive are the next batch.
//!
//! Never waits: it runs on a thread of the pool, and the stream notifies the pool when more samples have arrived.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::decode::pictures::image::room_pixels;
use crate::fetch::plan::UnreadableSample;
use crate::loader::metrics::counters::Counters;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::oversize::{exception, oversized};
use crate::loader::pipeline::panics::catch_panic;
use crate::loader::pipeline::pending_batch::{BatchWorkspace, PendingBatch, PlannedRow};
use crate::loader::pipeline::source::Planned;
use crate::loader::streaming::samples::StreamSamples;
use crate::loader::streaming::source::{StreamSource, number};
use crate::order::Draw;
use crate::pool::Notifier;
use tarflume_dataset::{Item, Next, Samples, Stream, StreamSample};
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, ErrorKind, Result, Size};

/// About one of so many bytes of the memory limit is for variable columns.
const TIMES: u64 = 8;

/// Notes for the user, a sentence each, without repetitions.
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

/// The statistics of the stream at the last look.
#[derive(Debug, Default)]
struct ReadTotals {
    busy: Duration,
    samples: u64,
    bytes: u64,
}

/// Gathers the batches of one epoch.
pub(crate) struct StreamPlanner {
    samples: Samples,
    /// True if the stream is to notify the pool.
    waiting: Arc<AtomicBool>,
    budget: MemoryBudget,
    notes: Arc<Notes>,
    rows: usize,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Samples of all batches so far.
    position: u64,
    /// The rows of the batch that is not full yet.
    gathered: StreamSamples,
    planned: Vec<PlannedRow>,
    /// Rows that are bad, and why.
    bad: Vec<(usize, Error)>,
    /// Bytes of the stream's memory in `gathered`.
    charged: u64,
    ended: bool,
    counted: ReadTotals,
}

impl StreamPlanner {
    /// Begins to read epoch `epoch` of `stream`, in batches of `rows` rows. `notifier` wakes the pool.
    ///
    /// # Errors
    /// Those of [`Stream::samples`].
    pub(crate) fn new(
        stream: &Stream,
        epoch: u64,
        rows: usize,
        notifier: Arc<Notifier>,
        notes: Arc<Notes>,
        budget: MemoryBudget,
    ) -> Result<StreamPlanner> {
        let waiting = Arc::new(AtomicBool::new(false));
        let requested = waiting.clone();
        // Called for every sample: the pool is notified only if the planner waits for one.
        let notify = move || {
            if requested.swap(false, Ordering::SeqCst) {
                notifier.notify_one();
            }
        };
        Ok(StreamPlanner {
            samples: stream.samples_with_notify(epoch, Arc::new(notify))?,
            waiting,
            budget,
            notes,
            rows,
            epoch,
            step: 0,
            position: 0,
            gathered: StreamSamples::default(),
            planned: Vec::new(),
            bad: Vec::new(),
            charged: 0,
            ended: false,
            counted: ReadTotals::default(),
        })
    }

    /// Plans the next batch; see [`BatchSource::plan`](crate::loader::pipeline::source::BatchSource::plan).
    pub(super) fn plan(
        &mut self,
        source: &StreamSource,
        batch: &mut PendingBatch<StreamSamples>,
    ) -> Result<Planned> {
        let gathered = self.gather();
        if !matches!(gathered, Ok(false)) {
            self.count(&source.writer.counters);
        }
        if !gathered? {
            return Ok(Planned::NotYet);
        }
        let rows = self.gathered.rows();
        if rows == 0 {
            return Ok(Planned::End);
        }
        let BatchWorkspace { rows: lists, source: samples, .. } = &mut *batch.workspace;
        samples.clear();
        lists.planned.clear();
        std::mem::swap(samples, &mut self.gathered);
        std::mem::swap(&mut lists.planned, &mut self.planned);
        self.charged = 0;
        lists.reset_outcomes();
        let columns = source.columns();
        for row in 0..rows {
            if let Err(error) = samples.choose(&columns.wanted, row) {
                self.bad.push((row, error));
            }
        }
        batch.variable_bytes = self.fit(source, &mut batch.workspace)?;
        for (row, error) in self.bad.drain(..) {
            let ordinal = batch.planned(row).ordinal;
            source.apply_policy(batch, UnreadableSample { row, ordinal, error, excerpt: false });
        }
        self.position += rows as u64;
        batch.content.epoch = self.epoch;
        batch.content.step = self.step;
        batch.content.position = self.position;
        batch.first = self.position - rows as u64;
        self.step += 1;
        Ok(Planned::Tasks(batch.workspace.source.divide(source.writer.threads)))
    }

    /// Decides how much memory the variable columns of a batch take. Samples that claim too much of it are bad.
    fn fit(
        &mut self,
        source: &StreamSource,
        workspace: &mut BatchWorkspace<StreamSamples>,
    ) -> Result<u64> {
        let mut bytes = measure(source, workspace);
        if bytes > self.budget.variable {
            let claims = workspace.rows.claims();
            for row in oversized(&claims, self.budget.variable) {
                let error = self.budget.oversize(claims[row], TIMES);
                self.bad.extend(workspace.source.reject(row, error).map(|error| (row, error)));
            }
            bytes = measure(source, workspace);
        }
        self.budget.allow(bytes, self.epoch, self.step, TIMES)
    }

    /// The next sample of the stream. If none has arrived, the stream notifies the pool when one does.
    fn next(&mut self) -> Next<Item> {
        match self.samples.try_item() {
            Next::NotYet => {
                // A sample may have arrived before `waiting` was set, without a notification.
                self.waiting.store(true, Ordering::SeqCst);
                self.samples.try_item()
            }
            next => next,
        }
    }

    /// Takes samples until the batch is full or the stream has ended. Returns false if it must wait.
    fn gather(&mut self) -> Result<bool> {
        while self.gathered.rows() < self.rows && !self.ended {
            let (shard, row, sample) = match self.next() {
                Next::Ready(Item::Sample(sample)) => {
                    self.charged += sample.charged();
                    (sample.shard_number(), sample.row(), Some(sample))
                }
                Next::Ready(Item::Bad { shard_number, row, error }) => {
                    self.bad.push((self.gathered.rows(), error));
                    (shard_number, row, None)
                }
                Next::Ready(Item::Broken(error)) => return Err(error),
                Next::NotYet => {
                    let Some(room) = self.stuck() else { return Ok(false) };
                    self.make_room(room)?;
                    continue;
                }
                Next::End => {
                    self.ended = true;
                    break;
                }
            };
            self.gathered.push(sample);
            let ordinal = number(shard, row);
            self.planned.push(PlannedRow::of(Draw { ordinal, pass: self.epoch }, false));
        }
        Ok(true)
    }

    /// The room of a batch that can never become full, because its own samples leave no memory for the next one.
    fn stuck(&self) -> Option<u64> {
        let (bytes, room) = self.samples.in_the_way()?;
        // Samples of batches in preparation take the rest, and release it.
        (bytes == self.charged).then_some(room)
    }

    /// Makes room in a batch that can never become full: its largest sample is bad, if that is much larger than a sample
    /// may be.
    ///
    /// # Errors
    /// The batch is too large as a whole.
    fn make_room(&mut self, room: u64) -> Result<()> {
        let samples = (0..self.gathered.rows()).map(|row| self.gathered.sample(row));
        let claims: Vec<u64> =
            samples.map(|sample| sample.map_or(0, StreamSample::charged)).collect();
        let Some(row) = exception(&claims, self.rows, room) else {
            let each = self.charged / self.gathered.rows().max(1) as u64;
            let text = message!(
                "{} samples take {}, and a batch of {} has no room in the {} that the stream's memory has for samples in \
                 preparation: {raise} {}, or take smaller batches",
                self.gathered.rows(),
                Size::new(self.charged).about(),
                self.rows,
                Size::new(room).about(),
                Size::new(each.saturating_mul(self.rows as u64).saturating_mul(TIMES)).at_least();
                raise = raise()
            );
            return Err(Error::new(ErrorKind::Limit, text));
        };
        let text = message!(
            "this sample takes {} of the {} that the stream's memory has for the samples of a batch: {raise} {}, or take \
             smaller batches",
            Size::new(claims[row]).about(),
            Size::new(room).about(),
            Size::new(claims[row].saturating_mul(TIMES)).at_least();
            raise = raise()
        );
        self.charged -= claims[row];
        let rejected = self.gathered.reject(row, Error::new(ErrorKind::Limit, text));
        self.bad.extend(rejected.map(|error| (row, error)));
        Ok(())
    }

    /// Counts what was read since the last call.
    fn count(&mut self, counters: &Counters) {
        let stats = self.samples.stats();
        let busy = stats.running.saturating_sub(stats.blocked).max(self.counted.busy);
        let now = ReadTotals { busy, samples: stats.samples, bytes: stats.bytes };
        let before = std::mem::replace(&mut self.counted, now);
        let now = &self.counted;
        let samples = now.samples - before.samples;
        let bytes = now.bytes - before.bytes;
        counters.read.add(now.busy - before.busy, samples, bytes);
        self.notes.add(self.samples.notes());
    }
}

/// Decides how many bytes each row may take in the variable columns; returns their sum.
fn measure(source: &StreamSource, workspace: &mut BatchWorkspace<StreamSamples>) -> u64 {
    let columns = source.columns();
    let BatchWorkspace { rows, source: samples, .. } = workspace;
    rows.measure(columns, &[], |column, room| {
        for (row, room) in room.iter_mut().enumerate() {
            let Some(sample) = samples.sample(row) else { continue };
            let bytes = columns.room(column, sample.key().len(), |need| {
                let bytes = samples.part(&columns.wanted, row, need).bytes;
                let pixels = columns.wanted.wants_pixels(need).then(|| pixels_of(bytes));
                (bytes.len() as u64, pixels)
            });
            *room = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
    })
}

/// The pixels of an image, whose number is in no sidecar of a stream. Returns 0 if its header cannot be read: that is an
/// error when it is decoded.
fn pixels_of(bytes: &[u8]) -> u64 {
    catch_panic("the decoder", || Ok(room_pixels(bytes))).unwrap_or(0)
}

/// Returns what to raise if samples have no room; an amount follows it.
fn raise() -> Message {
    message!(
        "raise {limit}, that of the stream if it has its own limit, by about";
        limit = Name::MemoryLimit
    )
}
