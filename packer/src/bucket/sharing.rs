//! The plan in the bucket: one machine offers it, all machines take it.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::{Manifest, Plan, files};
use tarflume_shards::workdir::OutputState;

use super::data_set::Bucket;
use super::layout;
use super::objects::Put;
use super::uploads::Leftovers;

/// Result of `Bucket::offer`.
#[derive(Debug)]
pub(crate) enum Offered {
    /// The data set of this plan is published.
    Published(Box<Manifest>),
    /// The bucket has the plan; shards of an earlier attempt may be finished.
    Resumed,
    /// The bucket has the plan now.
    New,
}

impl Bucket {
    /// Stores a plan and the handling of problems, unless the bucket has them.
    ///
    /// # Errors
    /// Returns an error if the prefix holds another plan or another data set, or the store does not
    /// answer.
    pub(crate) fn offer(&self, plan: &Plan, file: &Path, policy: &str) -> Result<Offered, Failure> {
        let content = &plan.foot().content;
        if let Some(manifest) = self.published()? {
            return if manifest.has_plan(content) {
                Ok(Offered::Published(Box::new(manifest)))
            } else {
                Err(self.other_data_set())
            };
        }
        let bytes = files::read_whole(file, "read the plan")?;
        self.objects.replace(layout::POLICY, policy.as_bytes())?;
        if self.objects.create(layout::PLAN, &bytes)? == Put::Written {
            return Ok(Offered::New);
        }
        match self.plan()? {
            Some(other) if other.foot().content == *content => Ok(Offered::Resumed),
            Some(_) => Err(Failure::usage(message!(
                "{path} has an unfinished attempt with other sources or options; finish that \
                 one, choose another prefix, or discard it with {fresh}";
                path = Path::new(self.url()),
                fresh = Name::Fresh.on()
            ))
            .with_file(self.url())),
            None => Err(Failure::try_again(
                "the plan was removed while it was read; run the command again",
            )
            .in_file(self.place(layout::PLAN))),
        }
    }

    /// Returns the plan; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the store does not answer or the plan is damaged.
    pub(crate) fn plan(&self) -> Result<Option<Plan>, Failure> {
        let Some(stored) = self.objects.get(layout::PLAN)? else { return Ok(None) };
        let plan = Plan::from_bytes(stored.bytes);
        Ok(Some(plan.map_err(|e| e.with_path(self.place(layout::PLAN)))?))
    }

    /// Returns the plan, or the manifest of the published data set.
    ///
    /// # Errors
    /// Returns an error if there is neither, one of them is damaged, or the store does not answer.
    pub(crate) fn state(&self) -> Result<OutputState, Failure> {
        if let Some(manifest) = self.published()? {
            return Ok(OutputState::Published(manifest));
        }
        if let Some(plan) = self.plan()? {
            return Ok(OutputState::Planned(plan));
        }
        // Another command may have published between the two questions.
        match self.published()? {
            Some(manifest) => Ok(OutputState::Published(manifest)),
            None => Err(Failure::usage(message!(
                "there is no plan in {url}; make one with `{plan}`";
                url = Path::new(self.url()),
                plan = Call::of(Task::Plan).on_stand("SRC").out(self.url())
            ))
            .with_file(self.url())),
        }
    }

    /// Returns the stored handling of problems, if any.
    ///
    /// # Errors
    /// Returns an error if the store does not answer.
    pub(crate) fn policy(&self) -> Result<Option<String>, Failure> {
        let stored = self.objects.get(layout::POLICY)?;
        Ok(stored.map(|stored| String::from_utf8_lossy(&stored.bytes).into_owned()))
    }

    /// Discards an unfinished attempt: aborts its uploads and deletes its objects, shards too.
    /// Returns the uploads.
    ///
    /// # Errors
    /// Returns an error if the prefix holds a published data set, or the store does not answer.
    pub(crate) fn discard(&self) -> Result<Leftovers, Failure> {
        if self.published()?.is_some() {
            return Err(Failure::usage(message!(
                "{path} holds a published data set, which is never discarded; choose another \
                 prefix";
                path = Path::new(self.url())
            ))
            .with_file(self.url()));
        }
        let leftovers = self.abort_uploads()?;
        for record in self.objects.list(layout::RECORDS)? {
            let name = record.strip_prefix(layout::RECORDS).unwrap_or(&record);
            self.objects.delete(name)?;
            self.objects.delete(&layout::sidecar(name))?;
        }
        self.clear()?;
        Ok(leftovers)
    }

    /// Deletes the working objects; the plan last, so that a killed deletion can be repeated.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        let names = self.objects.list(layout::WORK)?;
        for name in names.iter().filter(|name| *name != layout::PLAN) {
            self.objects.delete(name)?;
        }
        self.objects.delete(layout::PLAN)
    }

    pub(super) fn other_data_set(&self) -> Failure {
        Failure::usage(message!(
            "{path} holds another data set; choose another prefix, or remove that one by the \
             store's own tools";
            path = Path::new(self.url())
        ))
        .with_file(self.url())
    }
}
