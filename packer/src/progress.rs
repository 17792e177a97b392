//! The progress of a run: its counters at one moment, as text and as an event. Displays nothing
//! itself.

use std::sync::atomic::Ordering;
use std::time::Instant;

use tarflume_base::units;
use tarflume_formats::plan::PlanFoot;

use crate::run::RunCounter;

/// The total amount of work.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Bytes of source files.
    pub bytes: u64,
    /// Shards.
    pub shards: u64,
}

impl Goal {
    /// Returns the goal of some shards of a plan.
    pub fn of(foot: &PlanFoot, shards: &[usize]) -> Goal {
        let bytes = shards.iter().map(|&shard| foot.shards[shard].source_bytes).sum();
        Goal { bytes, shards: shards.len() as u64 }
    }

    /// Returns the goal of all shards of a plan.
    pub(crate) fn of_all(foot: &PlanFoot) -> Goal {
        let bytes = foot.shards.iter().map(|shard| shard.source_bytes).sum();
        Goal { bytes, shards: foot.shards.len() as u64 }
    }
}

/// Minimum width of the bar between its brackets, in columns.
const LEAST_BAR: usize = 8;
const MOST_BAR: usize = 30;
/// The bar's rank: parts of the line that are more useful have lower ranks.
const BAR_RANK: usize = 4;

/// Formats seconds as `1:23` or `1:02:03`.
fn clock(seconds: u64) -> String {
    let hours = seconds / 3600;
    let minutes = seconds / 60 % 60;
    let seconds = seconds % 60;
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A snapshot of the counters.
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
    /// Takes a snapshot.
    pub fn of(counter: &RunCounter, goal: Goal, start: Instant) -> Now {
        Now {
            bytes: counter.bytes.load(Ordering::Relaxed),
            samples: counter.samples.load(Ordering::Relaxed),
            shards: counter.shards.load(Ordering::Relaxed),
            problems: counter.problems.load(Ordering::Relaxed),
            // A run that takes over shards of other machines packs more than its own share.
            goal: Goal {
                bytes: goal.bytes.max(counter.bytes.load(Ordering::Relaxed)),
                shards: goal.shards.max(counter.shards.load(Ordering::Relaxed)),
            },
            seconds: start.elapsed().as_secs_f64().max(1e-3),
        }
    }

    fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    /// Estimates the remaining seconds, once there is a rate.
    fn eta_seconds(&self) -> Option<u64> {
        let left = self.goal.bytes.saturating_sub(self.bytes) as f64;
        (self.bytes > 0).then(|| (left / self.bytes_per_second()).ceil() as u64)
    }

    /// Returns the line for people: `1.2 GB of 3.4 GB  5,678 samples/s  ..`.
    pub fn line(&self) -> String {
        let problems = match self.problems {
            0 => String::new(),
            n => format!("  {}", units::counted(n, "problem", "problems")),
        };
        let eta = self.eta_seconds().map_or("?".into(), clock);
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

    /// Returns the line with a bar, for a terminal of `width` columns; drops the least useful parts
    /// first if it is too long.
    pub fn bar_line(&self, width: usize) -> String {
        let left = self.eta_seconds().map_or("?".into(), clock);
        let problems = match self.problems {
            0 => String::new(),
            n => units::counted(n, "problem", "problems"),
        };
        let speed = units::count((self.samples as f64 / self.seconds) as u64);
        // In the order of the line, each with its rank.
        let parts = [
            (0, format!("{:>3}%", self.percent())),
            (2, problems),
            (1, format!("ETA {left}")),
            (3, format!("{} of {}", units::bytes(self.bytes), units::bytes(self.goal.bytes))),
            (5, format!("{:.0} MB/s", self.bytes_per_second() / 1e6)),
            (6, format!("{speed} samples/s")),
            (4, format!("shards {}/{}", self.shards, self.goal.shards)),
        ];
        // Some terminals wrap after the last column, so leave it empty.
        let mut room = width.saturating_sub(1);
        let mut cells = 0;
        let mut shown = [false; 7];
        for rank in 0..parts.len() {
            let at = parts.iter().position(|part| part.0 == rank).unwrap_or(0);
            let length = parts[at].1.len() + 2 * usize::from(rank > 0);
            if parts[at].1.is_empty() {
                continue;
            }
            if length > room {
                break;
            }
            if rank == BAR_RANK {
                let taken = if room >= LEAST_BAR + 3 { LEAST_BAR + 3 } else { 0 };
                (room, cells) = (room - taken, taken.saturating_sub(3));
                if length > room {
                    break;
                }
            }
            shown[at] = true;
            room -= length;
        }
        let texts = parts.iter().zip(shown).filter(|(_, shown)| *shown);
        let text = texts.map(|((_, text), _)| text.as_str()).collect::<Vec<_>>().join("  ");
        let cells = (cells + room.saturating_sub(if cells > 0 { 0 } else { 3 })).min(MOST_BAR);
        if cells < LEAST_BAR {
            return text;
        }
        let full = cells * self.percent() as usize / 100;
        format!("[{}{}] {text}", "=".repeat(full), " ".repeat(cells - full))
    }

    fn percent(&self) -> u64 {
        let done = u128::from(self.bytes.min(self.goal.bytes));
        (100 * done / u128::from(self.goal.bytes.max(1))) as u64
    }

    /// Returns the event for programs, in bytes and seconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn now(bytes: u64, problems: u64) -> Now {
        let goal = Goal { bytes: 3_400_000_000, shards: 14 };
        Now { bytes, samples: 12_000, shards: 3, problems, goal, seconds: 10.0 }
    }

    #[test]
    fn a_line_contains_what_fits_its_width() {
        fn line(width: usize) -> String {
            now(1_200_000_000, 7).bar_line(width)
        }
        assert_eq!(line(5), " 35%");
        assert_eq!(line(20), " 35%  ETA 0:19");
        assert_eq!(line(40), "[===       ]  35%  7 problems  ETA 0:19");
        assert_eq!(
            line(200),
            "[==========                    ]  35%  7 problems  ETA 0:19  1.2 GB of 3.4 GB  120 MB/s  1,200 samples/s  \
             shards 3/14"
        );
        for bytes in [0, 1, 1_200_000_000, 3_400_000_000, 9_000_000_000] {
            for width in 5..250 {
                let line = now(bytes, 100_000).bar_line(width);
                assert!(line.len() < width, "{width}: {line}");
                assert!(line.contains('%'), "{width}: {line}");
            }
        }
    }

    #[test]
    fn durations_of_hours_are_printed() {
        assert_eq!([clock(7), clock(67), clock(3_727)], ["0:07", "1:07", "1:02:07"]);
    }
}
