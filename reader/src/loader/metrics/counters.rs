//! `Counters`: the counters of a loader, one for each stage.
//!
//! Counting costs a few nanoseconds a batch and is always on. `stats` explains the numbers.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::decode::Scratch;
use crate::decode::costs::calls::Calls;
use crate::decode::costs::operations::{OperationLabels, OperationTimes};
use crate::decode::texts::blocks::Blocks;
use crate::loader::metrics::idle::{IdleCause, IdleStats, SampledTime};
use crate::loader::metrics::stats::{RingStats, Setting, StageStats, Stats};
use crate::loader::metrics::waits::WaitHistogram;
use tarflume_device::range::Range;
use tarflume_formats::IgnorePoison;

/// One stage's counters.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    busy: AtomicU64,
    items: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    pub(crate) fn add(&self, busy: Duration, items: u64, bytes: u64) {
        self.busy.fetch_add(busy.as_nanos() as u64, Ordering::Relaxed);
        self.items.fetch_add(items, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn items(&self) -> u64 {
        self.items.load(Ordering::Relaxed)
    }

    fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Ordering::Relaxed))
    }
}

/// All counters of a loader.
#[derive(Debug)]
pub(crate) struct Counters {
    threads: u64,
    setting: Setting,
    pub(crate) plan: Counter,
    pub(crate) read: Counter,
    pub(crate) decode: Counter,
    pub(crate) batch: Counter,
    /// Mixing rows of a batch.
    pub(crate) mix: Counter,
    /// Copies to a device: the device's time.
    pub(crate) upload: Counter,
    /// The consumer transforming a batch before it uses it.
    pub(crate) transform: Counter,
    /// The consumer's own time between two batches, `transform` among it.
    pub(crate) consumer: Counter,
    /// The consumer waiting for a batch.
    pub(crate) starved: Counter,
    /// The same, by its length.
    pub(crate) batch_waits: WaitHistogram,
    /// Since when the consumer waits, in nanoseconds after `born`; 0 while it does not.
    born: Instant,
    waiting: AtomicU64,
    /// How many batches in preparation were ready; locked once a batch.
    ready: Mutex<RingStats>,
    /// The part of that before the first batch of an epoch.
    pub(crate) startup: Counter,
    /// Time in which an epoch was running.
    pub(crate) running: Counter,
    /// Nanoseconds that threads waited for memory for decoding, and for reading.
    pub(crate) waits: [Arc<AtomicU64>; 2],
    /// Nanoseconds of idle threads, by lack.
    idle: [AtomicU64; 7],
    /// Sleep in reads.
    pub(crate) reads_asleep: Counter,
    /// Where the time of some tasks went, and all time of the threads.
    sampled: Mutex<[SampledTime; 2]>,
    /// How many slots of a device were full; locked once a batch.
    ring: Mutex<RingStats>,
    /// What decoders counted; locked once a task.
    decoders: Mutex<(Blocks, Calls)>,
    /// The operations of recipes, and their times; locked once a task that has some.
    labels: Vec<OperationLabels>,
    operations: Mutex<OperationTimes>,
}

impl Counters {
    pub(crate) fn new(threads: usize) -> Counters {
        let counter = Counter::default;
        Counters {
            threads: threads as u64,
            setting: Setting::default(),
            plan: counter(),
            read: counter(),
            decode: counter(),
            batch: counter(),
            mix: counter(),
            upload: counter(),
            transform: counter(),
            consumer: counter(),
            starved: counter(),
            batch_waits: WaitHistogram::default(),
            born: Instant::now(),
            waiting: AtomicU64::new(0),
            ready: Mutex::default(),
            startup: counter(),
            running: counter(),
            waits: Default::default(),
            idle: Default::default(),
            reads_asleep: counter(),
            sampled: Mutex::default(),
            ring: Mutex::default(),
            decoders: Mutex::default(),
            labels: Vec::new(),
            operations: Mutex::default(),
        }
    }

    fn decoders(&self) -> MutexGuard<'_, (Blocks, Calls)> {
        self.decoders.lock().ignore_poison()
    }

    /// The average time in which one thread reads and decodes a sample; `None` before enough samples are measured.
    pub(crate) fn sample_cost(&self) -> Option<Duration> {
        let samples = u32::try_from(self.decode.items()).unwrap_or(u32::MAX);
        let busy = self.read.busy() + self.decode.busy();
        (samples >= 256).then(|| busy / samples)
    }

    /// Counts a request for a batch, when `ready` of `slots` slots held a ready batch.
    pub(crate) fn count_request(&self, ready: usize, slots: usize) {
        self.ring.lock().ignore_poison().count(ready, slots);
    }

    /// Counts a batch that was requested when `ready` of `depth` batches in preparation were ready.
    pub(crate) fn count_ready(&self, ready: usize, depth: usize) {
        self.ready.lock().ignore_poison().count(ready, depth);
    }

    /// Notes that the consumer waits from now on for a batch.
    pub(crate) fn begin_wait(&self) {
        let now = u64::try_from(self.born.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waiting.store(now.max(1), Ordering::Relaxed);
    }

    /// Notes that the consumer does not wait any more.
    pub(crate) fn end_wait(&self) {
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// Returns how long the consumer has been waiting for the batch that it requested last; zero if it is here.
    fn waiting(&self) -> Duration {
        match self.waiting.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => self.born.elapsed().saturating_sub(Duration::from_nanos(since)),
        }
    }

    /// Adds what decoders counted, and resets their counters.
    pub(crate) fn count(&self, scratch: &mut Scratch) {
        let mut held = self.decoders();
        held.0 += std::mem::take(&mut scratch.blocks);
        held.1 += std::mem::take(&mut scratch.calls);
        drop(held);
        if !scratch.operations.is_empty() {
            self.operations.lock().ignore_poison().take(&mut scratch.operations);
        }
    }

    /// The counters of a loader with this setting.
    pub(crate) fn of(threads: usize, setting: Setting) -> Counters {
        Counters { setting, ..Counters::new(threads) }
    }

    /// The same counters, for columns whose recipes have these operations.
    pub(crate) fn of_operations(self, labels: Vec<OperationLabels>) -> Counters {
        Counters { labels, ..self }
    }

    /// Counts idle time, the sum over the threads.
    pub(crate) fn idle(&self, lack: IdleCause, time: Duration) {
        self.idle[lack as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Counts where the time of a task went, and all time of its thread since the last measurement.
    pub(crate) fn sampled(&self, decode: SampledTime, thread: SampledTime) {
        let mut sampled = self.sampled.lock().ignore_poison();
        sampled[0] += decode;
        sampled[1] += thread;
    }

    fn idle_stats(&self) -> IdleStats {
        let mut stats = IdleStats::default();
        for lack in IdleCause::ALL {
            let time = self.idle[lack as usize].load(Ordering::Relaxed);
            *stats.of(lack) = Duration::from_nanos(time);
        }
        stats
    }

    pub(crate) fn stats(&self) -> Stats {
        fn stage(
            name: &'static str,
            c: &Counter,
            waiting_input: Duration,
            waiting_output: Duration,
        ) -> StageStats {
            StageStats {
                name,
                busy: c.busy(),
                waiting_input,
                waiting_output,
                items: c.items.load(Ordering::Relaxed),
                bytes: c.bytes.load(Ordering::Relaxed),
            }
        }

        let none = Duration::ZERO;
        let threads = self.threads as u32;
        let work = [&self.plan, &self.decode, &self.batch, &self.mix];
        let busy: Duration = work.iter().map(|c| c.busy()).sum();
        let busy = busy + if self.setting.stream { none } else { self.read.busy() };
        // One thread reads and decodes a sample, so idle threads do not wait for one stage.
        let idle = (self.running.busy() * threads).saturating_sub(busy);
        let lacks = self.idle_stats();
        let full = lacks.consumer.min(idle);
        let transform = stage("transform", &self.transform, none, none);
        let mut consumer = stage("consumer", &self.consumer, self.starved.busy(), none);
        consumer.busy = consumer.busy.saturating_sub(transform.busy);
        let mut stages = vec![
            stage("plan", &self.plan, none, none),
            stage("read", &self.read, none, none),
            stage("decode", &self.decode, idle - full, full),
            stage("batch", &self.batch, none, none),
        ];
        let mix = stage("mix", &self.mix, none, none);
        let upload = stage("upload", &self.upload, none, none);
        stages.extend([mix, upload, transform].into_iter().filter(|stage| stage.items > 0));
        stages.push(consumer);
        let (blocks, calls) = *self.decoders();
        let ring = *self.ring.lock().ignore_poison();
        let ready = *self.ready.lock().ignore_poison();
        let [decoding, working] = *self.sampled.lock().ignore_poison();
        let waits = self.waits.each_ref().map(|nanoseconds| nanoseconds.load(Ordering::Relaxed));
        Stats {
            threads: self.threads as usize,
            running: self.running.busy(),
            stages,
            blocks,
            calls,
            operations: self.operations.lock().ignore_poison().stats(&self.labels),
            ring: (ring.requests > 0).then_some(ring),
            warning: None,
            fetch: None,
            packs: None,
            reread: 0,
            reread_texts: Vec::new(),
            device: None,
            device_memory: None,
            decoder: None,
            ready,
            waiting: self.waiting(),
            batch_wait: self.batch_waits.stats(),
            idle: lacks,
            startup: self.startup.busy(),
            memory_waits: waits.map(Duration::from_nanos),
            reads_asleep: self.reads_asleep.busy(),
            decoding,
            working,
            starts: self.startup.items.load(Ordering::Relaxed),
            setting: self.setting,
        }
    }
}

/// Measures the time from `start` to `stop`, which profilers show as a range.
pub(crate) struct StageTimer {
    since: Instant,
    _range: Range,
}

impl StageTimer {
    /// `name` is one of [`tarflume_device::range`].
    pub(crate) fn start(name: &'static CStr) -> StageTimer {
        StageTimer { _range: Range::begin(name), since: Instant::now() }
    }

    pub(crate) fn stop(self) -> Duration {
        self.since.elapsed()
    }
}
