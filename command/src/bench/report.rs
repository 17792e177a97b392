//! Result of a measurement: words and numbers for programs. Rates are per second of wall
//! time.

use std::collections::BTreeMap;

use serde::Serialize;
use tarflume::Stats;

/// What was measured of a data set.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The data set.
    pub(crate) path: String,
    /// Its samples.
    pub(crate) samples: u64,
    /// Its shards.
    pub(crate) shards: u64,
    /// Its parts by extension.
    pub(crate) parts: BTreeMap<String, u64>,
    /// Threads that worked.
    pub(crate) threads: u64,
    /// What should be known when the numbers are read.
    pub(crate) notes: Vec<String>,
    /// The parts' bytes, batched.
    pub(crate) raw: Rate,
    /// Images decoded, cut, resized and batched; nothing if there are none or `--raw` was said.
    pub(crate) decoded: Option<Rate>,
    /// How well a played accelerator was fed, if one was asked for.
    pub(crate) accelerator: Option<Accelerator>,
}

/// How fast samples came.
#[derive(Debug, Serialize)]
pub(crate) struct Rate {
    /// Samples that were handed out.
    pub(crate) samples: u64,
    /// How often that is the whole data set.
    pub(crate) passes: f64,
    /// From opening the data set to the last batch, in seconds.
    pub(crate) seconds: f64,
    /// Samples a second.
    pub(crate) samples_per_s: f64,
    /// Bytes of parts that were handed out, in 10^6 a second; nothing where they became pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mb_per_s: Option<f64>,
    /// From opening the data set to the first batch, in milliseconds.
    pub(crate) first_batch_ms: f64,
    /// Where the time went.
    #[serde(flatten)]
    pub(crate) account: Account,
}

/// How well a played accelerator was fed.
#[derive(Debug, Serialize)]
pub(crate) struct Accelerator {
    /// What it computes on a batch, in milliseconds.
    pub(crate) step_ms: f64,
    /// Steps that were counted: all but the first.
    pub(crate) steps: u64,
    /// See [`super::accelerator::utilization`].
    pub(crate) utilization_percent: f64,
    /// The percentage from which MLPerf Storage takes a storage system for fast enough.
    pub(crate) target_percent: f64,
    /// The wait for a batch that half of the steps did not exceed, in milliseconds.
    pub wait_p50_ms: f64,
    /// The wait for a batch that 99 % of the steps did not exceed, in milliseconds.
    pub wait_p99_ms: f64,
    /// The longest wait for a batch, in milliseconds.
    pub(crate) wait_max_ms: f64,
    /// Where the time went.
    #[serde(flatten)]
    pub(crate) account: Account,
}

/// Where a loader's time went.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    /// Stage by stage, in the order in which a sample passes through them.
    pub(crate) stages: Vec<Stage>,
    /// What limits, and what would help.
    pub(crate) verdict: String,
    /// Both as a table for people.
    #[serde(skip)]
    pub(crate) table: String,
}

/// One stage. Times of stages that run in several threads are their sum, in seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Stage {
    /// Its name.
    pub(crate) name: &'static str,
    /// Working.
    pub(crate) busy_s: f64,
    /// Waiting for what comes before.
    pub(crate) waiting_input_s: f64,
    /// Waiting for what comes after.
    pub(crate) waiting_output_s: f64,
    /// Batches, reads or samples.
    pub(crate) items: u64,
    /// Bytes read or written.
    pub(crate) bytes: u64,
}

impl Account {
    /// What the loader says; calls of its builder become flags of the command.
    pub(super) fn of(stats: &Stats) -> Account {
        let stage = |stage: &tarflume::StageStats| Stage {
            name: stage.name,
            busy_s: stage.busy.as_secs_f64(),
            waiting_input_s: stage.waiting_input.as_secs_f64(),
            waiting_output_s: stage.waiting_output.as_secs_f64(),
            items: stage.items,
            bytes: stage.bytes,
        };
        Account {
            stages: stats.stages.iter().map(stage).collect(),
            verdict: as_flags(&stats.verdict()),
            table: as_flags(&stats.to_string()),
        }
    }
}

/// Setters of the library as flags of the command: `.memory_limit()` is `--memory`, `.threads()` is `--jobs`.
pub(super) fn as_flags(text: &str) -> String {
    let mut text = text.to_string();
    let flags = [
        ("memory_limit", "memory"),
        ("prefetch", "prefetch"),
        ("threads", "jobs"),
        ("batch", "batch"),
    ];
    for (setter, flag) in flags {
        text = text.replace(&format!(".{setter}()"), &format!("--{flag}"));
    }
    text
}
