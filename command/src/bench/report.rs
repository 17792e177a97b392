//! The result of a measurement, serialized for programs. Rates are per second of wall time.

use std::collections::BTreeMap;

use serde::Serialize;
use tarflume::Stats;
use tarflume_formats::message::Face;

/// The measurements of a data set.
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
    /// Number of threads used.
    pub(crate) threads: u64,
    /// Notes that a reader of the numbers needs.
    pub(crate) notes: Vec<String>,
    /// The parts' bytes, batched.
    pub(crate) raw: Rate,
    /// Images decoded, cropped, resized and batched; `None` if there are none, or with `--raw`.
    pub(crate) decoded: Option<Rate>,
    /// The utilization of a simulated accelerator, if requested.
    pub(crate) accelerator: Option<Accelerator>,
}

/// The rate of samples.
#[derive(Debug, Serialize)]
pub(crate) struct Rate {
    /// Number of samples delivered.
    pub(crate) samples: u64,
    /// The same as a multiple of the data set.
    pub(crate) passes: f64,
    /// From opening the data set to the last batch, in seconds.
    pub(crate) seconds: f64,
    /// Samples per second.
    pub(crate) samples_per_s: f64,
    /// Bytes of parts delivered, in 10^6 per second; `None` for decoded samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mb_per_s: Option<f64>,
    /// From opening the data set to the first batch, in milliseconds.
    pub(crate) first_batch_ms: f64,
    /// The time by stage.
    #[serde(flatten)]
    pub(crate) account: Account,
}

/// The utilization of a simulated accelerator.
#[derive(Debug, Serialize)]
pub(crate) struct Accelerator {
    /// Its computation per batch, in milliseconds.
    pub(crate) step_ms: f64,
    /// Number of counted steps: all but the first.
    pub(crate) steps: u64,
    /// See [`super::accelerator::utilization`].
    pub(crate) utilization_percent: f64,
    /// The percentage that MLPerf Storage requires of a storage system.
    pub(crate) target_percent: f64,
    /// The median wait for a batch, in milliseconds.
    pub wait_p50_ms: f64,
    /// The 99th percentile of the wait for a batch, in milliseconds.
    pub wait_p99_ms: f64,
    /// The longest wait for a batch, in milliseconds.
    pub(crate) wait_max_ms: f64,
    /// The time by stage.
    #[serde(flatten)]
    pub(crate) account: Account,
}

/// The time of a loader by stage.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    /// The stages, in the order in which a sample passes through them.
    pub(crate) stages: Vec<Stage>,
    /// JPEGs that break rules of their format without losing a pixel, if there are some.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) jpegs_irregular: u64,
    /// The limiting stage, and what would help.
    pub(crate) verdict: String,
    /// Both as a table for people.
    #[serde(skip)]
    pub(crate) table: String,
}

/// Returns true for a number that is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// One stage. Times of stages that run in several threads are their sum, in seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Stage {
    /// Its name.
    pub(crate) name: &'static str,
    /// Time of work.
    pub(crate) busy_s: f64,
    /// Time of waiting for input.
    pub(crate) waiting_input_s: f64,
    /// Time of waiting for the next stage.
    pub(crate) waiting_output_s: f64,
    /// Batches, reads or samples.
    pub(crate) items: u64,
    /// Bytes read or written.
    pub(crate) bytes: u64,
}

impl Account {
    /// Takes the loader's statistics; calls of its builder become flags of the command.
    pub(super) fn of(stats: &Stats) -> Account {
        Account {
            stages: stats.stages.iter().map(stage).collect(),
            jpegs_irregular: stats.blocks.irregular,
            verdict: stats.verdict_message().in_face(Face::Command),
            table: stats.in_face(Face::Command).to_string(),
        }
    }
}

fn stage(stage: &tarflume::StageStats) -> Stage {
    Stage {
        name: stage.name,
        busy_s: stage.busy.as_secs_f64(),
        waiting_input_s: stage.waiting_input.as_secs_f64(),
        waiting_output_s: stage.waiting_output.as_secs_f64(),
        items: stage.items,
        bytes: stage.bytes,
    }
}
