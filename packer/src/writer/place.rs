//! `Place`: where a writer's shards go: to a folder, or to an object store.

use std::path::{Path, PathBuf};

use tarflume_base::compress::Compress;
use tarflume_base::{Failure, Stop, Unplanned, WorkFolder};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::publish::{write_as, write_whole};
use tarflume_formats::{
    Durability, IrregularJpegs, Manifest, ShardRecord, WrittenShard, files, index_path,
};
use tarflume_shards::workdir::staging::{Lock, Staging};
use tarflume_shards::workdir::state::published;

use super::options::Options;
use crate::bucket::Bucket;
use crate::build::finalize::move_all;
use crate::plan::naming::shard_name;
use crate::run::destination::PackedShard;

/// The field of a record that otherwise holds a plan's hash.
pub(super) const NO_PLAN: &str = "written without a plan";

/// The place of one data set, for one writer.
#[derive(Debug)]
pub(super) enum Place {
    /// The lock is held until the writer is dropped.
    Folder { staging: Staging, _lock: Lock },
    Bucket {
        bucket: Bucket,
        /// Holds the shards in work.
        work: WorkFolder,
        /// What distinguishes the records of this writer.
        plan: String,
        /// Ends an upload.
        stop: Stop,
        /// Of uploads of earlier attempts.
        notices: Vec<Message>,
    },
}

impl Place {
    /// The folder `out`; made if it does not exist.
    pub(super) fn folder(out: &Path, options: &Options) -> Result<Place, Failure> {
        let staging = Staging::of(out);
        if published(&staging)?.is_some() {
            return Err(Failure::usage(message!(
                "{path} holds a data set already; choose another folder, or remove that one first";
                path = out
            ))
            .with_file(out));
        }
        let lock = staging.lock()?;
        if options.fresh {
            staging.clear()?;
            staging.forget_plan()?;
        } else if staging.is_begun()? {
            return Err(Failure::usage(message!(
                "{path} holds an unfinished data set; set `fresh` to true to discard it, or \
                 choose another folder";
                path = out
            ))
            .with_file(out));
        }
        let first = out.join(shard_name(&options.prefix, 0, Compress::ending(options.compress)));
        if files::exists(&first)? {
            return Err(Failure::usage(message!(
                "{path} exists and belongs to no data set; choose another folder or prefix";
                path = &first
            ))
            .with_file(first));
        }
        Ok(Place::Folder { staging, _lock: lock })
    }

    /// A prefix of a store.
    pub(super) fn bucket(
        bucket: Bucket,
        options: &Options,
        single_writer: bool,
    ) -> Result<Place, Failure> {
        let first = shard_name(&options.prefix, 0, Compress::ending(options.compress));
        let (word, leftovers) = bucket.begin_writing(&first, options.fresh, single_writer)?;
        let work = WorkFolder::new()?;
        let plan = format!("{NO_PLAN}: {word}");
        Ok(Place::Bucket { bucket, work, plan, stop: Stop::new(), notices: leftovers.notices() })
    }

    /// The folder in which shards are packed.
    pub(super) fn shards(&self) -> PathBuf {
        match self {
            Place::Folder { staging, .. } => staging.shards(),
            Place::Bucket { work, .. } => work.path().to_path_buf(),
        }
    }

    /// Where finished shards are before they are published.
    pub(super) fn finished(&self) -> PathBuf {
        match self {
            Place::Folder { staging, .. } => staging.shards(),
            Place::Bucket { bucket, .. } => bucket.url().into(),
        }
    }

    /// The data set, for messages.
    pub(super) fn path(&self) -> &Path {
        match self {
            Place::Folder { staging, .. } => staging.out(),
            Place::Bucket { bucket, .. } => Path::new(bucket.url()),
        }
    }

    /// What a thread needs to publish a shard.
    pub(super) fn target(&self) -> Target {
        match self {
            Place::Folder { staging, .. } => Target::Folder(staging.clone()),
            Place::Bucket { bucket, work, plan, stop, .. } => Target::Bucket {
                bucket: bucket.clone(),
                work: work.path().to_path_buf(),
                plan: plan.clone(),
                stop: stop.clone(),
            },
        }
    }

    /// Removes what was made before the first shard was finished.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        match self {
            Place::Folder { staging, .. } => staging.remove(),
            Place::Bucket { bucket, plan, .. } => bucket.remove_written(plan),
        }
    }

    /// Ends an upload that is in progress.
    pub(super) fn stop(&self) {
        if let Place::Bucket { stop, .. } = self {
            stop.request();
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Place::Folder { .. })
    }

    /// What became of uploads of earlier attempts.
    pub(super) fn notices(&self) -> Vec<Message> {
        match self {
            Place::Folder { .. } => Vec::new(),
            Place::Bucket { notices, .. } => notices.clone(),
        }
    }

    /// Publishes all shards, which were written so. The manifest comes last, so that it never names a file
    /// that is not in place.
    pub(super) fn publish_all(
        &self,
        records: Vec<ShardRecord>,
        unplanned: &Unplanned,
    ) -> Result<Manifest, Failure> {
        let staging = match self {
            Place::Bucket { bucket, .. } => return bucket.publish_written(records, unplanned),
            Place::Folder { staging, .. } => staging,
        };
        let mut manifest = move_all(staging, records, None)?;
        unplanned.state(&mut manifest);
        staging.sweep()?;
        write_whole(staging.manifest_path(), &manifest.to_json())?;
        staging.remove()?;
        Ok(manifest)
    }
}

/// Where a finished shard goes.
pub(super) enum Target {
    Folder(Staging),
    Bucket { bucket: Bucket, work: PathBuf, plan: String, stop: Stop },
}

impl Target {
    /// Publishes shard `number`, and writes its record.
    pub(super) fn publish(
        self,
        options: &Options,
        number: u64,
        written: WrittenShard,
        irregular_jpegs: IrregularJpegs,
    ) -> Result<ShardRecord, Failure> {
        let name = shard_name(&options.prefix, number, Compress::ending(options.compress));
        let (folder, durability, plan) = match &self {
            Target::Folder(staging) => (staging.shards(), options.durability, NO_PLAN),
            Target::Bucket { work, plan, .. } => (work.clone(), Durability::Cached, plan.as_str()),
        };
        let extensions = written.extensions.clone();
        let entry = written.publish(&folder, &name, durability)?;
        let record = ShardRecord {
            plan: plan.into(),
            shard: number,
            entry,
            entry_points: options.entry_points,
            unsynced: durability == Durability::Cached,
            extensions,
            problems: Vec::new(),
            irregular_jpegs,
        };
        match &self {
            Target::Folder(staging) => {
                write_as(staging.record_path(&name), &record.to_json(), durability)?;
                Ok(record)
            }
            Target::Bucket { bucket, stop, .. } => {
                upload(bucket, &folder.join(&name), record, stop)
            }
        }
    }
}

/// Uploads a shard and its sidecar, writes its record, and removes the files.
fn upload(
    bucket: &Bucket,
    tar: &Path,
    record: ShardRecord,
    stop: &Stop,
) -> Result<ShardRecord, Failure> {
    bucket.claim(&record.entry.name, &record.plan)?;
    let packed = PackedShard { tar, record };
    bucket.destination(stop.clone()).deliver(&packed)?;
    for file in [tar, &index_path(tar)] {
        std::fs::remove_file(file).map_err(|e| Failure::io(e, "remove", file))?;
    }
    Ok(packed.record)
}
