//! A task of a batch of a stream: decodes samples, which are in memory already, into their rows.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::decode::{Memory, Scratch};
use crate::error::{Error, Result};
use crate::loader::bad_samples::OnBad;
use crate::loader::metrics::clocks::Clocks;
use crate::loader::metrics::counters::{Counters, Watch};
use crate::loader::pipeline::columns::{ColumnSet, Facts, Given, MAX_GROUP};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::queue::BatchWorker;
use crate::loader::pipeline::stream_samples::of;
use crate::order::Key;
use crate::range;
use tarflume_formats::poison::IgnorePoison;

/// Bits of a row in what stands for a sample's ordinal.
const ROW_BITS: u32 = 40;

/// What stands for the ordinal of a sample of a stream: its shard's place in the list, and its row in
/// the lower 40 bits. One sample has one number in all epochs, and no two have the same.
pub(crate) fn number(shard: u64, row: u64) -> u64 {
    (shard << ROW_BITS) | (row & ((1 << ROW_BITS) - 1))
}

/// Does the tasks of batches that are made of streamed samples.
pub(crate) struct StreamWorker {
    pub(crate) recipe: Arc<ColumnSet>,
    pub(crate) on_bad: OnBad,
    pub(crate) seed: u64,
    pub(crate) meter: Arc<Counters>,
    pub(crate) threads: usize,
    /// What decoders take from.
    pub(crate) decode: Arc<dyn Memory>,
    /// What threads keep from task to task.
    pub(crate) hands: Mutex<Vec<Scratch>>,
}

impl StreamWorker {
    /// What the sample of row `row` is known by; none if it was bad.
    fn facts<'a>(&self, job: &'a PendingBatch, row: usize) -> Option<Facts<'a>> {
        let sample = job.desk.gathered.sample(row)?;
        let random = Key::new(self.seed, job.content.epoch, b"sample  ");
        let seed = random.sub(sample.shard_number()).draw(sample.row());
        Some(Facts { key: sample.key(), ordinal: job.desk.dealt[row].ordinal, seed })
    }

    /// What meets need number `n` of row `row`.
    fn part<'a>(&'a self, job: &'a PendingBatch, row: usize, n: usize) -> Given<'a> {
        let part = job.desk.gathered.part(&self.recipe.wanted, row, n);
        Given { ext: part.ext, bytes: part.bytes, entry_points: None }
    }

    /// Lets decoders see the samples of some rows together.
    fn prepare(&self, job: &PendingBatch, rows: Range<usize>, scratch: &mut Scratch) {
        let (mut facts, mut places) = ([None; MAX_GROUP], [0; MAX_GROUP]);
        let there = rows.filter_map(|row| Some((row, self.facts(job, row)?)));
        for ((to, place), (row, found)) in facts.iter_mut().zip(&mut places).zip(there) {
            (*to, *place) = (Some(found), row);
        }
        if facts[1].is_some() {
            self.recipe.prepare(&facts, |sample, n| self.part(job, places[sample], n), scratch);
        }
    }

    /// Writes the sample of row `row`.
    fn write(&self, job: &PendingBatch, row: usize, scratch: &mut Scratch) -> Result<()> {
        let gathered = &job.desk.gathered;
        let (Some(sample), Some(facts)) = (gathered.sample(row), self.facts(job, row)) else {
            return Ok(());
        };
        _ = scratch.take_refusal(); // forgotten, whatever an earlier sample made of it
        let part = |n: usize| self.part(job, row, n);
        let mut lent = job.content.slab.lend(row);
        self.recipe.write(facts, part, &mut lent, scratch).map_err(|(n, error)| {
            let at = n.and_then(|n| gathered.part(&self.recipe.wanted, row, n).at);
            of(sample, error.in_part(at.unwrap_or(sample.first())), sample.first())
        })
    }

    /// Does with a bad sample what the policy says.
    pub(crate) fn bad(&self, job: &PendingBatch, row: usize, error: Error) {
        match self.on_bad {
            _ if error.is_machine() => job.fail(row, error),
            OnBad::Skip => job.bad(row, error, None),
            // A substitute was refused when the loader was built.
            OnBad::Error | OnBad::Substitute => job.fail(row, error),
        }
    }
}

impl BatchWorker for StreamWorker {
    fn task(&self, job: &PendingBatch, task: usize) {
        let hand = self.hands.lock().ignore_poison().pop();
        let mut scratch = hand.unwrap_or_else(|| Scratch::with_memory(self.decode.clone()));
        let measured = Clocks::seldom();
        let watch = Watch::start(range::DECODE);
        let rows = job.desk.gathered.piece(task);
        let mut samples = 0;
        let (group, end) = (self.recipe.group(), rows.end);
        for (n, row) in rows.enumerate() {
            if n % group == 0 {
                self.prepare(job, row..end.min(row + group), &mut scratch);
            }
            samples += u64::from(job.desk.gathered.sample(row).is_some());
            match self.write(job, row, &mut scratch) {
                Err(error) if scratch.take_refusal() => job.fail(row, error),
                Err(error) => self.bad(job, row, error),
                Ok(()) => {}
            }
        }
        self.meter.decode.add(watch.stop(), samples, 0);
        if let Some((since, before)) = measured {
            self.meter.sampled(since.spent(), before);
        }
        self.meter.count(&mut scratch);
        self.hands.lock().ignore_poison().push(scratch);
    }

    fn threads(&self) -> usize {
        self.threads
    }
}
