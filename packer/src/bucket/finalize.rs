//! Publishing in the bucket: all shards finished -> the manifest, which is written once.

use std::collections::HashSet;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use tarflume_base::{Columns, Failure, Problem};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Manifest, manifest};
use tarflume_shards::workdir::state::Progress;

use super::data_set::Bucket;
use super::layout;
use super::objects::Put;
use super::uploads::Leftovers;
use crate::build::finalize::manifest_of;

/// A data set that was published.
#[derive(Debug)]
pub struct Publication {
    /// The manifest.
    pub manifest: Manifest,
    /// Uploads that killed attempts had left in the store.
    pub leftovers: Leftovers,
}

impl Bucket {
    /// Looks up the state of each shard of the plan, some at the same time.
    ///
    /// # Errors
    /// Returns an error if the store does not answer.
    pub(crate) fn progress(&self, foot: &PlanFoot) -> Result<Progress, Failure> {
        let total = foot.shards.len();
        let found = (0..total).into_par_iter().map(|number| self.finished(foot, number));
        let found = found.collect::<Result<Vec<_>, Failure>>()?;
        let mut progress = Progress { total, missing: Vec::new(), records: Vec::new() };
        for (number, record) in found.into_iter().enumerate() {
            match record {
                Some(record) => progress.records.push(record),
                None => progress.missing.push(number),
            }
        }
        Ok(progress)
    }

    /// Publishes the data set: checks each shard, writes the list of problems, then the manifest,
    /// and deletes the working objects. The manifest has the bytes of a build in a folder. Returns
    /// the uploads that killed attempts had left behind, too.
    ///
    /// It can be interrupted at any instant and repeated.
    ///
    /// # Errors
    /// Returns an error if shards are missing (try again), all samples were left out, the prefix
    /// holds another data set, or the store does not answer.
    pub(crate) fn finalize(&self, foot: &PlanFoot) -> Result<Publication, Failure> {
        if let Some(manifest) = self.published()? {
            return self.settle(manifest, foot);
        }
        let found = self.progress(foot)?;
        if !found.missing.is_empty() {
            return Err(found.unfinished(self.url().as_ref()));
        }
        let mut problems = foot.problems.clone();
        problems.extend(found.records.iter().flat_map(|record| record.problems.iter().cloned()));
        self.write_problems(&problems)?;
        if found.records.iter().all(|record| record.entry.samples == 0) {
            return Err(Failure::bad_data(
                message!("all {} samples have problems, which {} lists; nothing was published; fix the files and start \
                     over with {fresh}", foot.samples, self.place(layout::PROBLEMS); fresh = Name::Fresh.on()),
            )
            .with_file(self.place(layout::PROBLEMS)));
        }
        let mut manifest = manifest_of(found.records, Some(foot.content.clone()));
        manifest.about.clone_from(&foot.about);
        manifest.options = Some(foot.options.clone());
        manifest.sidecar_columns = Columns::of_plan(foot)?.texts();
        match self.objects.create(manifest::FILE_NAME, &manifest.to_json())? {
            Put::Written => self.settle(manifest, foot),
            // Another command published between the question above and this answer.
            Put::Exists => match self.published()? {
                Some(manifest) => self.settle(manifest, foot),
                None => Err(self.other_data_set()),
            },
        }
    }

    /// Cleans up behind a published manifest of this plan.
    fn settle(&self, manifest: Manifest, foot: &PlanFoot) -> Result<Publication, Failure> {
        if !manifest.has_plan(&foot.content) {
            return Err(self.other_data_set());
        }
        let leftovers = self.abort_uploads()?;
        // Empty shards were packed and are not listed.
        let listed: HashSet<&str> = manifest.shards.iter().map(|e| e.name.as_str()).collect();
        for shard in &foot.shards {
            if !listed.contains(shard.name.as_str()) {
                self.objects.delete(&shard.name)?;
                self.objects.delete(&layout::sidecar(&shard.name))?;
            }
        }
        self.clear()?;
        Ok(Publication { manifest, leftovers })
    }

    /// Writes `problems.jsonl`, one object a line; deletes it if there are no problems.
    pub(crate) fn write_problems(&self, problems: &[serde_json::Value]) -> Result<(), Failure> {
        if problems.is_empty() {
            return self.objects.delete(layout::PROBLEMS);
        }
        let lines = Problem::lines(problems);
        self.objects.replace(layout::PROBLEMS, lines.as_bytes()).map(drop)
    }
}
