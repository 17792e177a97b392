//! `Delivery`: takes the shards of a run to the bucket, and finds those that are there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tarflume_base::{Failure, Stop};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{ShardRecord, files, index_path};

use super::data_set::Bucket;
use super::layout;
use super::objects::{ObjectState, Put};
use crate::run::destination::{Destination, PackedShard};

/// A shard in the bucket: its record, and what the store called its objects when they were written.
#[derive(Debug, Serialize, Deserialize)]
struct Delivered {
    record: ShardRecord,
    tar: String,
    sidecar: String,
}

/// The destination of one run.
#[derive(Debug)]
pub(super) struct Delivery {
    bucket: Bucket,
    stop: Stop,
}

impl Delivery {
    pub(super) fn new(bucket: Bucket, stop: Stop) -> Delivery {
        Delivery { bucket, stop }
    }
}

impl Destination for Delivery {
    fn finished(&self, foot: &PlanFoot, number: usize) -> Result<Option<ShardRecord>, Failure> {
        self.bucket.finished(foot, number)
    }

    fn deliver(&self, shard: &PackedShard<'_>) -> Result<(), Failure> {
        let PackedShard { tar: file, record } = shard;
        let entry = &record.entry;
        let tar = self.bucket.upload(&entry.name, file, &self.stop)?;
        let bytes = files::read_whole(&index_path(file), "read the sidecar")?;
        let sidecar = self.bucket.objects.replace(&layout::sidecar(&entry.name), &bytes)?;
        for (facts, length) in [(&tar, entry.bytes), (&sidecar, entry.index_bytes)] {
            if facts.length != length {
                return Err(Failure::try_again(format!(
                    "the store has {} bytes of the {length} that were written; run the command \
                     again",
                    facts.length
                ))
                .in_file(self.bucket.place(&entry.name)));
            }
        }
        let delivered = Delivered { record: record.clone(), tar: tar.tag, sidecar: sidecar.tag };
        self.bucket.note_delivered(&delivered)
    }
}

impl Bucket {
    /// Returns the destination of a run's shards. An upload ends early if `stop` is requested.
    pub(crate) fn destination(&self, stop: Stop) -> Arc<dyn Destination> {
        Arc::new(Delivery::new(self.clone(), stop))
    }

    /// Writes the record of a shard. If another attempt wrote one first, the objects may have got
    /// other tags since, so the record is replaced. Both attempts wrote the same bytes.
    fn note_delivered(&self, delivered: &Delivered) -> Result<(), Failure> {
        let path = layout::record(&delivered.record.entry.name);
        let json = serde_json::to_vec(delivered).expect("texts and numbers serialize");
        if self.objects.create(&path, &json)? == Put::Written {
            return Ok(());
        }
        let Some(stored) = self.objects.get(&path)? else {
            return self.objects.replace(&path, &json).map(drop);
        };
        match serde_json::from_slice::<Delivered>(&stored.bytes) {
            Ok(other) if other.record.plan != delivered.record.plan => Err(Failure::usage(
                "another plan writes to this place at the same time; give each data set its \
                     own prefix",
            )
            .in_file(self.place(&path))),
            _ if stored.bytes == json => Ok(()),
            _ => self.objects.replace(&path, &json).map(drop),
        }
    }

    /// Returns the record of a shard of the plan whose objects are those that it was written for.
    pub(super) fn finished(
        &self,
        foot: &PlanFoot,
        number: usize,
    ) -> Result<Option<ShardRecord>, Failure> {
        let Some(shard) = foot.shards.get(number) else { return Ok(None) };
        let Some(record) = self.delivered(&shard.name)? else { return Ok(None) };
        let same_plan = record.plan == foot.content && record.entry_points == foot.entry_points;
        if !same_plan || record.shard != number as u64 || record.entry.name != shard.name {
            return Ok(None);
        }
        Ok(Some(record))
    }

    /// Returns the record of a shard whose objects are those that it was written for.
    pub(super) fn delivered(&self, name: &str) -> Result<Option<ShardRecord>, Failure> {
        let Some(stored) = self.objects.get(&layout::record(name))? else {
            return Ok(None);
        };
        let Ok(Delivered { record, tar, sidecar }) = serde_json::from_slice(&stored.bytes) else {
            return Ok(None);
        };
        let bytes = record.entry.bytes;
        let index_bytes = record.entry.index_bytes;
        let places =
            [(name.to_string(), bytes, tar), (layout::sidecar(name), index_bytes, sidecar)];
        for (name, length, tag) in places {
            let found = self.objects.facts(&name)?;
            if !found.is_some_and(|found| found.may_be(&ObjectState { length, tag })) {
                return Ok(None);
            }
        }
        Ok(Some(record))
    }
}
