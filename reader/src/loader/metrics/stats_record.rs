//! Statistics as serde writes them, with the names that `stats()` has in Python.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tarflume_dataset::FetchStats;
use tarflume_types::{all_seconds, seconds};

use crate::decode::costs::calls::Calls;
use crate::decode::costs::operations::OperationStats;
use crate::loader::metrics::bottleneck::Bottleneck;
use crate::loader::metrics::device_memory::DeviceMemoryStats;
use crate::loader::metrics::idle::{IdleStats, SampledTime};
use crate::loader::metrics::pack_stats::PackStats;
use crate::loader::metrics::stats::{DecoderStats, RingStats, StageStats, Stats};
use crate::loader::metrics::waits::BatchWait;
use crate::loader::metrics::warning::Warning;

#[derive(Serialize)]
struct StatsRecord<'a> {
    num_threads: usize,
    #[serde(serialize_with = "seconds")]
    running_s: Duration,
    starved: f64,
    bottleneck: Bottleneck,
    verdict: String,
    hidden: Option<f64>,
    device: Option<&'a str>,
    device_slots: Option<RingRecord>,
    device_memory: Option<DeviceMemoryStats>,
    decoder: Option<&'a DecoderStats>,
    #[serde(serialize_with = "by_name")]
    stages: &'a [StageStats],
    idle_s: &'a IdleStats,
    #[serde(serialize_with = "seconds")]
    reads_asleep_s: Duration,
    ready_batches: RingRecord,
    #[serde(serialize_with = "seconds")]
    waiting_s: Duration,
    batch_wait_s: &'a BatchWait,
    #[serde(serialize_with = "seconds")]
    startup_s: Duration,
    #[serde(serialize_with = "all_seconds")]
    memory_waits_s: &'a [Duration],
    decoding: &'a SampledTime,
    working: &'a SampledTime,
    functions: &'a Calls,
    operations: &'a [OperationStats],
    fetch: Option<&'a FetchStats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packs: Option<PackStats>,
    reread: u64,
    reread_texts: &'a [String],
    warning: Option<&'a str>,
    jpeg_blocks_skipped: f64,
    jpegs_irregular: u64,
    jpegs_damaged: u64,
}

/// The slots of a device, with their mean.
#[derive(Serialize)]
struct RingRecord {
    #[serde(flatten)]
    ring: RingStats,
    occupancy: f64,
}

impl RingRecord {
    fn of(ring: RingStats) -> RingRecord {
        RingRecord { ring, occupancy: ring.occupancy() }
    }
}

/// Writes the stages as a map from their names.
fn by_name<S: Serializer>(stages: &[StageStats], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(stages.len()))?;
    for stage in stages {
        map.serialize_entry(stage.name, stage)?;
    }
    map.end()
}

impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = StatsRecord {
            num_threads: self.threads,
            running_s: self.running,
            starved: self.starved(),
            bottleneck: self.bottleneck(),
            verdict: self.verdict(),
            hidden: self.hidden(),
            device: self.device.as_deref(),
            device_slots: self.ring.map(RingRecord::of),
            device_memory: self.device_memory,
            decoder: self.decoder.as_ref(),
            stages: &self.stages,
            idle_s: &self.idle,
            reads_asleep_s: self.reads_asleep,
            ready_batches: RingRecord::of(self.ready),
            waiting_s: self.waiting,
            batch_wait_s: &self.batch_wait,
            startup_s: self.startup,
            memory_waits_s: &self.memory_waits,
            decoding: &self.decoding,
            working: &self.working,
            functions: &self.calls,
            operations: &self.operations,
            fetch: self.fetch.as_ref(),
            packs: self.packs,
            reread: self.reread,
            reread_texts: &self.reread_texts,
            warning: self.warning.as_ref().map(Warning::as_str),
            jpeg_blocks_skipped: self.blocks.skipped(),
            jpegs_irregular: self.blocks.irregular,
            jpegs_damaged: self.blocks.damaged,
        };
        record.serialize(serializer)
    }
}
