//! Where the time of a loader goes: each stage's counters, the table, the verdict.
//!
//! Counting costs a few nanoseconds a batch and is always on.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::decode::blocks::Blocks;

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

    fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Ordering::Relaxed))
    }
}

/// All counters of a loader.
#[derive(Debug)]
pub(crate) struct Meter {
    threads: u64,
    /// True if one thread of its own reads, front to back.
    stream: bool,
    pub(crate) plan: Counter,
    pub(crate) read: Counter,
    pub(crate) decode: Counter,
    pub(crate) batch: Counter,
    /// The consumer's own time between two batches.
    pub(crate) consumer: Counter,
    /// The consumer waiting for a batch.
    pub(crate) starved: Counter,
    /// All batches were ready, and nobody took one.
    pub(crate) full: Counter,
    /// Time in which an epoch was running.
    pub(crate) running: Counter,
    /// Blocks of JPEGs; locked once a task.
    blocks: Mutex<Blocks>,
}

impl Meter {
    pub(crate) fn new(threads: usize) -> Meter {
        let counter = Counter::default;
        Meter {
            threads: threads as u64,
            stream: false,
            plan: counter(),
            read: counter(),
            decode: counter(),
            batch: counter(),
            consumer: counter(),
            starved: counter(),
            full: counter(),
            running: counter(),
            blocks: Mutex::default(),
        }
    }

    /// Counts what decoders say of JPEGs.
    pub(crate) fn count(&self, blocks: Blocks) {
        *self.blocks.lock().unwrap_or_else(PoisonError::into_inner) += blocks;
    }

    /// The counters of a loader whose shards are streamed.
    pub(crate) fn of_stream(threads: usize) -> Meter {
        Meter { stream: true, ..Meter::new(threads) }
    }

    pub(crate) fn stats(&self) -> Stats {
        let stage = |name, c: &Counter, waiting_input, waiting_output| StageStats {
            name,
            busy: c.busy(),
            waiting_input,
            waiting_output,
            items: c.items.load(Ordering::Relaxed),
            bytes: c.bytes.load(Ordering::Relaxed),
        };
        let none = Duration::ZERO;
        let threads = self.threads as u32;
        let work = [&self.plan, &self.decode, &self.batch];
        let busy: Duration = work.iter().map(|c| c.busy()).sum();
        let busy = busy + if self.stream { none } else { self.read.busy() };
        // A thread carries a sample from its bytes to its row: threads wait together, not by stage.
        let idle = (self.running.busy() * threads).saturating_sub(busy);
        let full = (self.full.busy() * threads).min(idle);
        let stages = vec![
            stage("plan", &self.plan, none, none),
            stage("read", &self.read, none, none),
            stage("decode", &self.decode, idle - full, full),
            stage("batch", &self.batch, none, none),
            stage("consumer", &self.consumer, self.starved.busy(), none),
        ];
        Stats {
            threads: self.threads as usize,
            running: self.running.busy(),
            stages,
            blocks: *self.blocks.lock().unwrap_or_else(PoisonError::into_inner),
            stream: self.stream,
        }
    }
}

/// Measures from its making to its end.
pub(crate) struct Watch(Instant);

impl Watch {
    pub(crate) fn start() -> Watch {
        Watch(Instant::now())
    }

    pub(crate) fn stop(self) -> Duration {
        self.0.elapsed()
    }
}

/// What one stage did and waited for. Times of stages that run in several threads are their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageStats {
    /// `plan`, `read`, `decode`, `batch` or `consumer`.
    pub name: &'static str,
    /// Time spent working.
    pub busy: Duration,
    /// Time spent waiting for what comes before: a high value clears this stage.
    pub waiting_input: Duration,
    /// Time spent waiting for what comes after.
    pub waiting_output: Duration,
    /// Batches of `plan`, `batch` and `consumer`, reads of `read`, samples of `decode`.
    pub items: u64,
    /// Bytes: read from shards, or written to rows.
    pub bytes: u64,
}

/// What everything else waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing was measured yet.
    Unknown,
    /// Reading the shards.
    Storage,
    /// Decoding, resizing, converting.
    Decode,
    /// Whoever takes the batches.
    Consumer,
    /// The threads had room to work and did not: the memory bound, or too few batches ahead.
    Loader,
}

/// Where the time of a loader went since it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Threads that may work for this loader at once.
    pub threads: usize,
    /// Time in which an epoch was running.
    pub running: Duration,
    /// The stages, in the order in which a sample passes through them.
    pub stages: Vec<StageStats>,
    /// How much of the JPEGs was decoded.
    pub blocks: Blocks,
    stream: bool,
}

impl Stats {
    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&StageStats> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    fn busy(&self, name: &str) -> f64 {
        self.stage(name).map_or(0.0, |stage| stage.busy.as_secs_f64())
    }

    /// The share of its time that the consumer waited, 0 to 1.
    pub fn starved(&self) -> f64 {
        let waited = self.stage("consumer").map_or(0.0, |stage| stage.waiting_input.as_secs_f64());
        share(waited, waited + self.busy("consumer"))
    }

    /// What everything else waits for.
    pub fn bottleneck(&self) -> Bottleneck {
        if self.stage("consumer").is_none_or(|stage| stage.items == 0) {
            return Bottleneck::Unknown;
        }
        let (read, decode) = (self.busy("read"), self.busy("decode"));
        let threads = self.threads as f64 * self.running.as_secs_f64();
        if self.starved() < 0.05 {
            Bottleneck::Consumer
        } else if self.stream && share(read, self.running.as_secs_f64()) > 0.8 {
            // Its one thread has no time left; whether decoders have, their own time says.
            if share(decode, threads) > 0.8 { Bottleneck::Decode } else { Bottleneck::Storage }
        } else if share(read + decode, threads) < 0.4 {
            Bottleneck::Loader
        } else if read > decode {
            Bottleneck::Storage
        } else {
            Bottleneck::Decode
        }
    }

    /// One sentence: what everything waits for, and what would help.
    pub fn verdict(&self) -> String {
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        let threads = self.threads as f64 * self.running.as_secs_f64();
        let starved = percent(self.starved());
        match self.bottleneck() {
            Bottleneck::Unknown => "No batch was taken yet.".into(),
            Bottleneck::Consumer => format!(
                "The consumer is what everything waits for: it waited for batches in {starved} of its time."
            ),
            Bottleneck::Storage if self.stream => format!(
                "Storage is what everything waits for: the consumer waited {starved} of its time, and the \
                 one thread that reads a stream was never idle. With an index (`pack index`) all threads \
                 read."
            ),
            Bottleneck::Storage => format!(
                "Storage is what everything waits for: the consumer waited {starved} of its time, and \
                 reading took {} of the threads' time. More threads hide latency; Blocks instead of Full \
                 makes reads longer.",
                percent(share(self.busy("read"), threads))
            ),
            Bottleneck::Decode => format!(
                "Decoding is what everything waits for: the consumer waited {starved} of its time, and \
                 decoding took {} of the threads' time. More cores, smaller images on disk or a cheaper \
                 filter help.",
                percent(share(self.busy("decode"), threads))
            ),
            Bottleneck::Loader => format!(
                "The loader itself is what everything waits for: the consumer waited {starved} of its \
                 time while threads were idle. Raise .memory() or .prefetch()."
            ),
        }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |d: Duration| format!("{:.3}", d.as_secs_f64());
        writeln!(f, "stage      busy s  wait input s  wait output s       items         bytes")?;
        for s in &self.stages {
            let (busy, input, output) =
                (seconds(s.busy), seconds(s.waiting_input), seconds(s.waiting_output));
            let bytes = format!("{:.1} MB", s.bytes as f64 / 1e6);
            writeln!(f, "{:<8}{busy:>9}{input:>14}{output:>15}{:>12}{bytes:>14}", s.name, s.items)?;
        }
        if self.blocks.all > 0 {
            let Blocks { all, drawn, entered, refused, .. } = self.blocks;
            let (skipped, drawn) =
                (100.0 * self.blocks.skipped(), 100.0 * share(drawn as f64, all as f64));
            write!(f, "JPEG blocks: {skipped:.1} % skipped, {drawn:.1} % drawn; ")?;
            writeln!(f, "{entered} pictures entered by entry points, {refused} refused")?;
        }
        write!(f, "{}", self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(read: u64, decode: u64, consumer: u64, starved: u64) -> Stats {
        let meter = Meter::new(2);
        let ms = Duration::from_millis;
        meter.read.add(ms(read), 10, 1 << 20);
        meter.decode.add(ms(decode), 100, 1 << 20);
        meter.consumer.add(ms(consumer), 5, 0);
        meter.starved.add(ms(starved), 5, 0);
        meter.running.add(ms(consumer + starved), 0, 0);
        meter.stats()
    }

    #[test]
    fn the_verdict_names_what_everything_waits_for() {
        assert_eq!(meter(100, 1800, 10, 990).bottleneck(), Bottleneck::Decode);
        assert_eq!(meter(1800, 100, 10, 990).bottleneck(), Bottleneck::Storage);
        assert_eq!(meter(100, 300, 990, 10).bottleneck(), Bottleneck::Consumer);
        assert_eq!(meter(100, 300, 10, 990).bottleneck(), Bottleneck::Loader);
        assert_eq!(Meter::new(2).stats().bottleneck(), Bottleneck::Unknown);
    }

    #[test]
    fn the_table_ends_in_the_verdict() {
        let text = meter(100, 1800, 10, 990).to_string();
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().last().unwrap().starts_with("Decoding is"), "{text}");
    }
}
