//! How far a run is: its counters read at one moment, in words and as an event. Shows nothing itself.

use std::sync::atomic::Ordering;
use std::time::Instant;

use tarflume_formats::plan::PlanFoot;

use crate::running::RunCounter;
use crate::units;

/// What the whole will come to.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Bytes of source files.
    pub bytes: u64,
    /// Shards.
    pub shards: u64,
}

impl Goal {
    /// That of some shards of a plan.
    pub fn of(foot: &PlanFoot, shards: &[usize]) -> Goal {
        let bytes = shards.iter().map(|&shard| foot.shards[shard].source_bytes).sum();
        Goal { bytes, shards: shards.len() as u64 }
    }
}

/// One reading of the counters.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Bytes of source files packed.
    pub bytes: u64,
    samples: u64,
    shards: u64,
    problems: u64,
    goal: Goal,
    seconds: f64,
}

impl Now {
    /// Reads them.
    pub fn of(counter: &RunCounter, goal: Goal, start: Instant) -> Now {
        Now {
            bytes: counter.bytes.load(Ordering::Relaxed),
            samples: counter.samples.load(Ordering::Relaxed),
            shards: counter.shards.load(Ordering::Relaxed),
            problems: counter.problems.load(Ordering::Relaxed),
            goal,
            seconds: start.elapsed().as_secs_f64().max(1e-3),
        }
    }

    fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    /// Seconds to go, once there is something to tell them from.
    fn eta_seconds(&self) -> Option<u64> {
        let left = self.goal.bytes.saturating_sub(self.bytes) as f64;
        (self.bytes > 0).then(|| (left / self.bytes_per_second()).ceil() as u64)
    }

    /// `1.2 GB of 3.4 GB  5,678 samples/s  ..`, for people.
    pub fn line(&self) -> String {
        let problems = match self.problems {
            0 => String::new(),
            n => format!("  {}", units::counted(n, "problem", "problems")),
        };
        let eta = self.eta_seconds().map_or("?".into(), |s| format!("{}:{:02}", s / 60, s % 60));
        format!(
            "{} of {}  {} samples/s  {:.0} MB/s  shards {}/{}  ETA {eta}{problems}",
            units::bytes(self.bytes),
            units::bytes(self.goal.bytes),
            units::count((self.samples as f64 / self.seconds) as u64),
            self.bytes_per_second() / 1e6,
            self.shards,
            self.goal.shards,
        )
    }

    /// The same for programs: an event, in bytes and seconds.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "event": "progress",
            "phase": "pack",
            "bytes": self.bytes,
            "total_bytes": self.goal.bytes,
            "samples": self.samples,
            "samples_per_s": self.samples as f64 / self.seconds,
            "bytes_per_s": self.bytes_per_second(),
            "shards": self.shards,
            "total_shards": self.goal.shards,
            "problems": self.problems,
            "eta_s": self.eta_seconds(),
            "seconds": self.seconds,
        })
    }
}
