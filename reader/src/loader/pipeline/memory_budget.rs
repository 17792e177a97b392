//! `MemoryBudget`: how the memory limit of a loader is divided, and `MemoryShare`: a part of it that threads wait for.
//!
//! The parts never lend to each other, so that no two threads wait for each other: batches (slabs), buffers that threads
//! keep, reads of very long parts, and decoders for the time of one sample. Threads wait for the last two only. A thread
//! that waits for a part holds nothing of that part, and a thread that holds memory for decoding never waits for reading.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::decode::{Memory, Scratch};
use crate::loader::pipeline::machine::memory as machine_memory;
use crate::loader::pipeline::queue::QueueLimits;
use tarflume_device::slab::{HostMemory, SlabLayout};
use tarflume_formats::IgnorePoison;
use tarflume_types::{DecodeFault, Error, ErrorKind, Result, Size};

/// Slabs beside those in preparation: one that the consumer holds, and one that it just released.
pub(crate) const SPARE_SLABS: u64 = 2;
/// The longest read, if memory allows: it is decoded or copied while it is in the cache of a core.
const RUN: u64 = 256 << 10;

/// The least memory of a stream.
const STREAM_LEAST: u64 = 16 << 20;

/// The smallest default of the memory limit.
const DEFAULT_LEAST: u64 = 2 << 30;
/// What the default gives to each thread: twice the buffers that [`MemoryBudget::of`] reserves for it, and memory to
/// decode in.
const DEFAULT_PER_THREAD: u64 = 48 << 20;

/// The memory limit of a loader without `.memory_limit()`: enough for `depth` batches of `fixed` bytes in
/// preparation, `slabs` batches more beside a device, and `threads` threads; no more than half of the
/// machine's memory, unless that is less than 2 GiB.
pub(crate) fn default_memory(fixed: u64, depth: usize, slabs: u64, threads: usize) -> u64 {
    default_within(machine_memory(), comfortable(fixed, depth, slabs, threads))
}

/// The memory limit of a stream and its batches together without `.memory_limit()`. `of_stream` is the limit that the stream was
/// given, if any.
pub(crate) fn default_beside_stream(
    fixed: u64,
    depth: usize,
    threads: usize,
    of_stream: Option<u64>,
) -> u64 {
    let batches = comfortable(fixed, depth, 0, threads);
    default_within(machine_memory(), batches.saturating_add(of_stream.unwrap_or(batches)))
}

/// The default where `comfortable` bytes are enough, on a machine with `machine` bytes. A number of whole GiB, which is
/// short in messages.
fn default_within(machine: u64, comfortable: u64) -> u64 {
    const GIB: u64 = 1 << 30;
    comfortable.div_ceil(GIB).min(machine / 2 / GIB).max(DEFAULT_LEAST / GIB) * GIB
}

/// Bytes with which neither a batch nor a thread waits for memory.
fn comfortable(fixed: u64, depth: usize, slabs: u64, threads: usize) -> u64 {
    let batches = 2u64.saturating_mul((depth as u64).saturating_add(SPARE_SLABS));
    let batches = batches.saturating_add(slabs).saturating_mul(fixed);
    (threads as u64).saturating_mul(DEFAULT_PER_THREAD).saturating_add(batches)
}

/// The warning for a memory limit that has room for fewer batches than `requested`.
pub(crate) fn fewer_batches(
    requested: usize,
    budget: &MemoryBudget,
    fixed: u64,
) -> Option<Message> {
    (budget.depth < requested.max(1)).then(|| {
        let missing = (requested - budget.depth) as u64;
        message!(
            "the memory limit has room to prepare {} of the {requested} batches of prefetch at once; give \
             {limit} about {} more, or take smaller batches",
            budget.depth,
            Size::new(fixed.saturating_mul(2 * missing));
 limit = Name::MemoryLimit)
    })
}

/// The parts of a memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// Batches in preparation at once.
    pub(crate) depth: usize,
    /// Bytes of the longest read that holds more than one sample.
    pub(crate) run: u64,
    /// Bytes that variable columns of all batches in preparation may take.
    pub(crate) variable: u64,
    /// Bytes that decoders may take beside the batches.
    pub(crate) decode: u64,
    /// Bytes that the entry points of one batch may take. Parts whose entry points do not fit are decoded without them.
    pub(crate) entry_points: u64,
    /// Bytes that reads of very long parts may take.
    pub(crate) reads: u64,
}

impl MemoryBudget {
    /// Divides `memory` bytes among batches of `fixed` bytes, `depth` of them in preparation if they fit, and `threads`
    /// threads.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: one batch does not fit. The text has the bytes that are needed.
    pub(crate) fn of(
        memory: u64,
        fixed: u64,
        depth: usize,
        threads: usize,
    ) -> Result<MemoryBudget> {
        let threads = threads as u64;
        // A sixteenth for all runs in reading: long reads, and most of the memory is left for batches.
        let run = (memory / 16 / threads).clamp(64 << 10, RUN);
        let kept = threads * (run + 2 * Scratch::KEEP as u64);
        // Half of the rest at most is for the fixed columns: variable columns and decoders need the other half.
        let slabs = memory.saturating_sub(kept) / 2;
        let held = slabs.checked_div(fixed).unwrap_or(u64::MAX);
        if held < 1 + SPARE_SLABS || memory <= kept {
            let least = MemoryBudget::least(kept, fixed);
            let text = message!(
                "{} are too little for {threads} threads and batches of {}: give {limit} at least {}, \
                 or take smaller batches",
                Size::new(memory),
                Size::new(fixed).about(),
                Size::new(least).at_least();
 limit = Name::MemoryLimit);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let depth = (depth as u64).clamp(1, held - SPARE_SLABS);
        let rest = memory - kept - fixed * (depth + SPARE_SLABS);
        // Of the rest, one half is for variable columns. Slabs that are not in preparation keep theirs, too, so only
        // `depth` of them count as available. Three eighths are for decoders, one eighth for long reads.
        let variable = rest / 2 * depth / (depth + SPARE_SLABS);
        // Lists of entry points grow by doubling, and one batch more is planned than are in preparation.
        let points = rest / 32;
        Ok(MemoryBudget {
            depth: depth as usize,
            run,
            variable,
            decode: rest / 8 * 3 - points,
            entry_points: points / (2 * (depth + 1)),
            reads: rest / 8,
        })
    }

    /// The limits of a queue of batches with these columns. `memory` allocates the slabs.
    pub(crate) fn queue_limits(
        &self,
        layout: Arc<SlabLayout>,
        memory: Option<Arc<dyn HostMemory>>,
    ) -> QueueLimits {
        QueueLimits { layout, memory, depth: self.depth, variable_bytes: self.variable }
    }

    /// Returns `bytes`, which the variable columns of a batch take, if they fit. About one of `times` bytes of `.memory_limit()` is
    /// for variable columns.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: they do not fit. The text has the batch, its epoch, and the bytes that are missing.
    pub(crate) fn allow(&self, bytes: u64, epoch: u64, step: u64, times: u64) -> Result<u64> {
        if bytes <= self.variable {
            return Ok(bytes);
        }
        let text = message!(
            "the parts of batch {step} of epoch {epoch} take {}, and the memory limit leaves {} for \
             them: give {limit} about {} more, or take smaller batches",
            Size::new(bytes).about(),
            Size::new(self.variable).about(),
            Size::new((bytes - self.variable).saturating_mul(times)).at_least();
 limit = Name::MemoryLimit);
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// The error of a sample that takes `bytes` in the variable columns, too many for a batch. `times` as for
    /// [`MemoryBudget::allow`].
    pub(crate) fn oversize(&self, bytes: u64, times: u64) -> Error {
        // A sample that alone would fit is left out because its batch does not; then half of the memory is too little.
        let missing = bytes.saturating_sub(self.variable).max(bytes / 2);
        let text = message!(
            "the variable columns of this sample take {}, and the memory limit leaves {} for those of a batch: give \
             {limit} about {} more, or take smaller batches",
            Size::new(bytes).about(),
            Size::new(self.variable).about(),
            Size::new(missing.saturating_mul(times)).at_least();
 limit = Name::MemoryLimit);
        Error::new(ErrorKind::Limit, text)
    }

    /// Bytes with which batches of `fixed` bytes fit, if threads keep `kept`.
    fn least(kept: u64, fixed: u64) -> u64 {
        kept.saturating_add(fixed.max(1 << 20).saturating_mul(2 * (1 + SPARE_SLABS)))
    }

    /// Divides `memory` bytes, less `slabs` batches that a device holds or copies.
    ///
    /// # Errors
    /// As [`MemoryBudget::of`].
    pub(crate) fn beside_slots(
        memory: u64,
        slabs: u64,
        fixed: u64,
        depth: usize,
        threads: usize,
    ) -> Result<MemoryBudget> {
        let taken = slabs.saturating_mul(fixed);
        let budget = MemoryBudget::of(memory.saturating_sub(taken), fixed, depth, threads);
        if taken == 0 || budget.is_ok() {
            return budget;
        }
        let least = MemoryBudget::least(threads as u64 * (RUN + 2 * Scratch::KEEP as u64), fixed);
        let text = message!(
            "{} are too little for {threads} threads and batches of {}, {slabs} of them for a device: give \
             {limit} at least {}, or take smaller batches",
            Size::new(memory),
            Size::new(fixed).about(),
            Size::new(least.saturating_add(taken)).at_least();
 limit = Name::MemoryLimit);
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// Divides `memory` bytes between a stream and its batches. The stream gets the limit that it was given, or half; the
    /// rest is for [`MemoryBudget::of`].
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: the batches do not fit beside the stream. The text has the bytes that are needed.
    pub(crate) fn beside_stream(
        memory: u64,
        of_stream: Option<u64>,
        fixed: u64,
        depth: usize,
        threads: usize,
    ) -> Result<(u64, MemoryBudget)> {
        let stream = of_stream.unwrap_or(memory / 2);
        let budget = MemoryBudget::of(memory.saturating_sub(stream), fixed, depth, threads);
        if budget.is_ok() && stream >= STREAM_LEAST {
            return budget.map(|budget| (stream, budget));
        }
        let least = MemoryBudget::least(threads as u64 * (RUN + 2 * Scratch::KEEP as u64), fixed);
        let least = match of_stream {
            Some(stream) => least.saturating_add(stream.max(STREAM_LEAST)),
            None => least.max(STREAM_LEAST).saturating_mul(2),
        };
        let text = message!(
            "{} are too little for a stream of {}, {threads} threads and batches of {}: give {limit} at \
             least {}, or take smaller batches",
            Size::new(memory),
            Size::new(stream).about(),
            Size::new(fixed).about(),
            Size::new(least).at_least();
 limit = Name::MemoryLimit);
        Err(Error::new(ErrorKind::Limit, text))
    }
}

/// A part of the memory limit that threads take from, for the time of one sample.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    /// `decoding` or `reading`, for messages.
    purpose: &'static str,
    share: u64,
    taken: Mutex<u64>,
    changed: Condvar,
    /// Nanoseconds that threads waited for it.
    waited: Arc<AtomicU64>,
}

impl MemoryShare {
    /// A share of `share` bytes. `waited` counts the nanoseconds that threads wait for it.
    pub(crate) fn new(purpose: &'static str, share: u64, waited: Arc<AtomicU64>) -> MemoryShare {
        MemoryShare { purpose, share, taken: Mutex::default(), changed: Condvar::new(), waited }
    }
}

impl Memory for MemoryShare {
    fn take(&self, held: u64, bytes: u64) -> Result<()> {
        if held > 0 {
            // Two threads that hold some and wait for more could wait for each other.
            let text =
                "a decoder must reserve all its memory at once: call `reserve` once a sample";
            return Err(Error::usage(text).with_fault(DecodeFault::Decoder));
        }
        if bytes > self.share {
            let text = message!(
                "{} this sample takes {}, and the memory limit leaves {} for it: give {limit} about \
                 {} more",
                self.purpose,
                Size::new(bytes).about(),
                Size::new(self.share).about(),
                Size::new((bytes - self.share).saturating_mul(8)).at_least();
 limit = Name::MemoryLimit);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        // Holders release after one sample, so this wait is bounded.
        let mut taken = self.taken.lock().ignore_poison();
        if *taken + bytes > self.share {
            let since = Instant::now();
            while *taken + bytes > self.share {
                taken = self.changed.wait(taken).ignore_poison();
            }
            self.waited.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        *taken += bytes;
        Ok(())
    }

    fn give(&self, bytes: u64) {
        if bytes > 0 {
            *self.taken.lock().ignore_poison() -= bytes;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_stay_within_the_bound() {
        for memory in [64 << 20, 256 << 20, 2 << 30, 100 << 30] {
            for fixed in [0, 1000, 1 << 20, 38 << 20] {
                for threads in [1, 2, 16] {
                    let Ok(s) = MemoryBudget::of(memory, fixed, 4, threads) else { continue };
                    let kept = threads as u64 * (s.run + 2 * Scratch::KEEP as u64);
                    let slabs = (s.depth as u64 + SPARE_SLABS) * fixed;
                    let tails = s.variable * (s.depth as u64 + SPARE_SLABS) / s.depth as u64;
                    let points = 2 * (s.depth as u64 + 1) * s.entry_points;
                    assert!(
                        kept + slabs + tails + s.decode + points + s.reads <= memory,
                        "{memory} {fixed} {s:?}"
                    );
                    assert!(s.depth >= 1 && s.depth <= 4);
                }
            }
        }
    }

    #[test]
    fn the_default_bound_suits_any_number_of_threads() {
        let pixels = 224 * 224 * 3u64;
        for threads in [1, 2, 16, 64, 96, 112, 120, 224, 256, 1024] {
            for fixed in [1000, 256 * pixels, 1024 * pixels, 1024 * pixels * 4] {
                for slabs in [0, 4] {
                    let memory = comfortable(fixed, 4, slabs, threads);
                    let memory = default_within(2 << 40, memory);
                    let shares = MemoryBudget::beside_slots(memory, slabs, fixed, 4, threads);
                    let shares = shares.unwrap_or_else(|e| panic!("{threads} {fixed}: {e}"));
                    assert_eq!(shares.depth, 4, "{threads} threads, batches of {fixed}");
                    assert_eq!(fewer_batches(4, &shares, fixed), None);
                    // Each thread may decode a picture of some megapixels at the same time.
                    assert!(shares.decode / threads as u64 > 4 << 20, "{threads} {shares:?}");
                }
            }
        }
        assert_eq!(default_memory(256 * pixels, 4, 0, 2), 2 << 30, "as ever on small machines");
        assert_eq!(default_beside_stream(256 * pixels, 4, 2, None), 2 << 30);
        assert_eq!(default_within(16 << 30, u64::MAX), 8 << 30, "never more than a machine has");
        assert_eq!(default_within(1 << 30, u64::MAX), 2 << 30);
    }

    #[test]
    fn a_bound_that_lowers_prefetch_is_a_warning_that_names_enough() {
        let fixed = 38 << 20;
        let shares = MemoryBudget::of(300 << 20, fixed, 4, 2).unwrap();
        assert!(shares.depth < 4);
        let warning = fewer_batches(4, &shares, fixed).unwrap().text();
        let more = warning.split("about ").nth(1).and_then(|rest| rest.split(" more").next());
        let more: Size = more.unwrap().parse().unwrap();
        assert_eq!(MemoryBudget::of((300 << 20) + more.bytes(), fixed, 4, 2).unwrap().depth, 4);
    }

    #[test]
    fn a_bound_below_one_batch_is_refused_with_what_is_needed() {
        let fixed = 38 << 20;
        let error = MemoryBudget::of(64 << 20, fixed, 4, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let kept = 2 * (RUN + 2 * Scratch::KEEP as u64);
        assert!(
            MemoryBudget::of(kept + 6 * fixed, fixed, 4, 2).is_ok(),
            "what the error asks for is enough"
        );
    }

    #[test]
    fn stream_and_batches_stay_within_one_bound() {
        let fixed = 38 << 20;
        for limit in [None, Some(STREAM_LEAST), Some(300 << 20)] {
            let (stream, _) = MemoryBudget::beside_stream(2 << 30, limit, fixed, 4, 2).unwrap();
            assert_eq!(stream, limit.unwrap_or(1 << 30));
            let error = MemoryBudget::beside_stream(100 << 20, limit, fixed, 4, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit);
            let size = error.text().split("at least ").nth(1).unwrap().split(',').next().unwrap();
            let enough = size.parse::<Size>().unwrap().bytes();
            let shares = MemoryBudget::beside_stream(enough + (1 << 20), limit, fixed, 4, 2);
            assert!(shares.is_ok(), "{error}");
        }
    }

    #[test]
    fn the_memory_named_for_a_device_suffices() {
        let fixed = 38 << 20;
        assert!(MemoryBudget::beside_slots(512 << 20, 0, fixed, 4, 2).is_ok());
        let error = MemoryBudget::beside_slots(400 << 20, 4, fixed, 4, 2).unwrap_err();
        let limit = error.text().split("at least ").nth(1).and_then(|rest| rest.split(',').next());
        let least: Size = limit.unwrap().parse().unwrap();
        assert!(MemoryBudget::beside_slots(least.bytes(), 4, fixed, 4, 2).is_ok(), "{error}");
    }

    /// Has a thread take what does not fit yet. Returns true if it got it after it was given.
    fn is_taken_after_given(share: &Arc<MemoryShare>) -> bool {
        let given = Arc::new(AtomicBool::new(false));
        share.take(0, 80).unwrap();
        let waiting = {
            let share = share.clone();
            let given = given.clone();
            std::thread::spawn(move || share.take(0, 30).map(|()| given.load(Ordering::SeqCst)))
        };
        // Leaves it time to take what is not there.
        std::thread::sleep(Duration::from_millis(20));
        given.store(true, Ordering::SeqCst);
        share.give(80);
        let after = waiting.join().unwrap().unwrap();
        share.give(30);
        after
    }

    #[test]
    fn a_request_that_does_not_fit_waits_until_memory_is_returned() {
        let waited = Arc::new(AtomicU64::new(0));
        let share = Arc::new(MemoryShare::new("decoding", 100, waited.clone()));
        // On a busy machine the other thread may begin too late to wait.
        let counted = (0..1000).any(|_| {
            assert!(is_taken_after_given(&share), "taken before there was room");
            waited.load(Ordering::Relaxed) > 0
        });
        assert!(counted, "a wait is not counted");
        assert_eq!(share.take(0, 101).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(share.take(30, 1).unwrap_err().kind(), ErrorKind::Usage);
    }
}
