//! A data set in the bucket that a program writes sample by sample: without a plan.

use tarflume_formats::{Manifest, ShardRecord, manifest};

use super::objects::Put;
use super::uploads::attempt;
use super::{Bucket, layout};
use crate::build::finalize::manifest_of;
use crate::failure::Failure;

impl Bucket {
    /// Begins a data set whose first shard is called `first`. Returns a word that no other writer has.
    ///
    /// # Errors
    /// Returns an error if the prefix holds a data set, an unfinished attempt that `fresh` does not discard, or a shard of
    /// that name; if the store ignores conditions and there may be other writers; if it does not answer.
    pub(crate) fn begin_writing(
        &self,
        first: &str,
        fresh: bool,
        single_writer: bool,
    ) -> Result<String, Failure> {
        if self.published()?.is_some() {
            return Err(Failure::usage(format!(
                "{} holds a data set already; choose another prefix, or remove that one by the store's own tools",
                self.url()
            )));
        }
        if fresh {
            self.discard()?;
        }
        if !single_writer {
            self.expect_conditions()?;
        }
        if !self.objects.list(layout::WORK)?.is_empty() {
            return Err(Failure::usage(format!(
                "{} holds an unfinished data set; give --fresh to discard it, or choose another prefix",
                self.url()
            )));
        }
        if self.objects.facts(first)?.is_some() {
            return Err(Failure::usage(format!(
                "{} exists and belongs to no data set; choose another prefix in the bucket, or another name for the \
                 shards by --prefix",
                self.place(first)
            )));
        }
        Ok(attempt())
    }

    /// Notes that the writer `plan` uploads a shard, so that another attempt knows whose it is. Its record replaces the note.
    ///
    /// # Errors
    /// Returns an error if another writer has a shard of this name, or the store does not answer.
    pub(crate) fn claim(&self, name: &str, plan: &str) -> Result<(), Failure> {
        match self.objects.create(&layout::record(name), plan.as_bytes())? {
            Put::Written => Ok(()),
            Put::Exists => Err(Failure::usage(format!(
                "{}: another program writes to this place at the same time; give each data set a prefix of its own",
                self.place(name)
            ))),
        }
    }

    /// Publishes the shards of a writer, which have their final names: writes the manifest, then deletes the working objects.
    ///
    /// # Errors
    /// Returns an error if another data set was published here meanwhile, or the store does not answer.
    pub(crate) fn publish_written(&self, records: Vec<ShardRecord>) -> Result<Manifest, Failure> {
        let written = manifest_of(records, None);
        if self.objects.create(manifest::FILE_NAME, &written.to_json())? == Put::Exists {
            return Err(self.other_data_set());
        }
        self.abort_uploads()?;
        self.clear()?;
        Ok(written)
    }
}
