//! A data set in the bucket that a program writes sample by sample: without a plan.

use std::path::Path;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use tarflume_base::{Failure, Unplanned};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{Manifest, ShardRecord, manifest};

use super::data_set::Bucket;
use super::layout;
use super::objects::Put;
use super::uploads::{Leftovers, attempt};
use crate::build::finalize::manifest_of;

impl Bucket {
    /// Begins a data set whose first shard is called `first`. Returns a word that no other writer has, and the uploads of a
    /// discarded attempt.
    ///
    /// # Errors
    /// Returns an error if the prefix holds a data set, an unfinished attempt that `fresh` does not discard, or a shard of
    /// that name; if the store ignores conditions and there may be other writers; if it does not answer.
    pub(crate) fn begin_writing(
        &self,
        first: &str,
        fresh: bool,
        single_writer: bool,
    ) -> Result<(String, Leftovers), Failure> {
        if self.published()?.is_some() {
            return Err(Failure::usage(message!(
                "{path} holds a data set already; choose another prefix, or remove that one by \
                 the store's own tools";
                path = Path::new(self.url())
            ))
            .with_file(self.url()));
        }
        let leftovers = if fresh { self.discard()? } else { Leftovers::default() };
        if !single_writer {
            self.expect_conditions()?;
        }
        if !self.objects.list(layout::WORK)?.is_empty() {
            return Err(Failure::usage(message!(
                "{path} holds an unfinished data set; set `fresh` to true to discard it, or \
                 choose another prefix";
                path = Path::new(self.url())
            ))
            .with_file(self.url()));
        }
        self.expect_no_object(first)?;
        Ok((attempt(), leftovers))
    }

    fn expect_no_object(&self, name: &str) -> Result<(), Failure> {
        if self.objects.facts(name)?.is_none() {
            return Ok(());
        }
        Err(Failure::usage(message!(
            "{path} exists and belongs to no data set; choose another prefix in the bucket, or \
             another name for the shards by {prefix}";
            path = Path::new(&self.place(name)),
            prefix = Name::Prefix
        ))
        .with_file(self.place(name)))
    }

    /// Notes that the writer `plan` uploads a shard, so that another attempt knows whose it is. Its record replaces the note.
    ///
    /// # Errors
    /// Returns an error if another writer has a shard of this name, if there is an object of this name that is no shard of
    /// a writer, or if the store does not answer.
    pub(crate) fn claim(&self, name: &str, plan: &str) -> Result<(), Failure> {
        self.expect_no_object(name)?;
        match self.objects.create(&layout::record(name), plan.as_bytes())? {
            Put::Written => Ok(()),
            Put::Exists => Err(Failure::usage(
                "another program writes to this place at the same time; give each data set its \
                 own prefix",
            )
            .in_file(self.place(name))),
        }
    }

    /// Publishes the shards of a writer, which have their final names: writes the manifest, then deletes the working objects.
    ///
    /// # Errors
    /// Returns an error if another program has discarded or replaced a shard, if another data set was published here
    /// meanwhile, or if the store does not answer.
    pub(crate) fn publish_written(
        &self,
        records: Vec<ShardRecord>,
        unplanned: &Unplanned,
    ) -> Result<Manifest, Failure> {
        let whole = records.par_iter().map(|record| self.expect_written(record));
        whole.collect::<Result<(), Failure>>()?;
        let mut written = manifest_of(records, None);
        unplanned.state(&mut written);
        if self.objects.create(manifest::FILE_NAME, &written.to_json())? == Put::Exists {
            return Err(self.other_data_set());
        }
        self.abort_uploads()?;
        self.clear()?;
        Ok(written)
    }

    /// Checks that a shard of this writer is as it was uploaded.
    fn expect_written(&self, record: &ShardRecord) -> Result<(), Failure> {
        let name = &record.entry.name;
        let found = self.delivered(name)?;
        if found.is_some_and(|found| found.plan == record.plan && found.entry == record.entry) {
            return Ok(());
        }
        Err(Failure::usage(
            "another program has discarded or replaced this shard; write the data set again, to \
             another prefix",
        )
        .in_file(self.place(name)))
    }

    /// Deletes what the writer `plan` has begun to upload, and nothing else.
    ///
    /// # Errors
    /// Returns an error if the store does not answer.
    pub(crate) fn remove_written(&self, plan: &str) -> Result<(), Failure> {
        for path in self.objects.list(layout::RECORDS)? {
            let is_own = self.objects.get(&path)?.is_some_and(|note| note.bytes == plan.as_bytes());
            if is_own {
                let name = path.strip_prefix(layout::RECORDS).unwrap_or(&path);
                self.objects.delete(name)?;
                self.objects.delete(&layout::sidecar(name))?;
                self.objects.delete(&path)?;
            }
        }
        Ok(())
    }
}
