//! `Output`: the folder or the prefix of an object store that a build writes to.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tarflume_base::{Choice, Failure, WorkFolder};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Durability, Manifest, Plan};
use tarflume_shards::workdir::state::{output_state, published, write_problems};
use tarflume_shards::workdir::{Claims, OutputState, Policy, Progress, Staging, claims, progress};

use super::counter::BuildCounter;
use crate::bucket::{Bucket, Leftovers, Offered, Publication, expect_no_quarantine};
use crate::build::finalize::finalize;
use crate::progress::Goal;
use crate::run::options::RunOptions;
use crate::run::{RunReport, run};

/// The place of a data set that is built: its plan, records, shards and manifest.
#[derive(Debug, Clone)]
pub struct Output(Place);

#[derive(Debug, Clone)]
enum Place {
    Folder(Staging),
    Bucket(Bucket),
}

/// The shards that a run packs, and where they wait.
pub(super) struct Packing<'a> {
    pub(super) plan: &'a Plan,
    /// The working folder.
    pub(super) staging: &'a Staging,
    pub(super) shards: &'a [usize],
}

/// The working folder of a run.
pub(super) struct Bench {
    pub(super) staging: Staging,
    /// Of a build in a store, a temporary folder, which is removed when it is dropped.
    _work: Option<WorkFolder>,
}

impl Output {
    /// Returns the output in a folder; creates nothing.
    pub fn folder(out: &Path) -> Output {
        Output(Place::Folder(Staging::of(out)))
    }

    /// Returns the output in an object store; asks nothing.
    pub fn bucket(bucket: Bucket) -> Output {
        Output(Place::Bucket(bucket))
    }

    /// Removes what an attempt left that was ended after it had published.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn sweep_published(&self, manifest: &Manifest) -> Result<(), Failure> {
        match &self.0 {
            Place::Folder(staging) => staging.sweep_published(manifest),
            Place::Bucket(_) => Ok(()), // a bucket is settled when it is finalized
        }
    }

    /// Returns the working folder in the output folder; `None` for a store.
    pub(super) fn staging(&self) -> Option<&Staging> {
        match &self.0 {
            Place::Folder(staging) => Some(staging),
            Place::Bucket(_) => None,
        }
    }

    /// Returns the plan, or the manifest of the published data set.
    pub(super) fn state(&self) -> Result<OutputState, Failure> {
        match &self.0 {
            Place::Folder(staging) => output_state(staging),
            Place::Bucket(bucket) => bucket.state(),
        }
    }

    /// Looks up the state of each shard of the plan.
    pub(super) fn progress(&self, foot: &PlanFoot) -> Result<Progress, Failure> {
        match &self.0 {
            Place::Folder(staging) => progress(staging, foot),
            Place::Bucket(bucket) => bucket.progress(foot),
        }
    }

    /// Returns how problems are handled, as it was given when the build was planned.
    pub(super) fn policy(&self) -> Result<Option<Policy>, Failure> {
        let word = match &self.0 {
            Place::Folder(staging) => staging.policy()?,
            Place::Bucket(bucket) => bucket.policy()?,
        };
        Ok(word.and_then(|word| Policy::from_word(word.trim())))
    }

    /// Refuses a policy that the output has no place for.
    pub(super) fn expect_place_for(&self, policy: Policy) -> Result<(), Failure> {
        match &self.0 {
            Place::Folder(_) => Ok(()),
            Place::Bucket(_) => expect_no_quarantine(policy),
        }
    }

    /// Returns the claims of the plan.
    pub(super) fn claims(&self) -> Result<Arc<dyn Claims>, Failure> {
        match &self.0 {
            Place::Folder(staging) => claims(staging),
            Place::Bucket(bucket) => Ok(bucket.claims()),
        }
    }

    /// Returns the working folder of a machine that packs shards of the stored plan.
    pub(super) fn bench(&self) -> Result<Bench, Failure> {
        if let Place::Folder(staging) = &self.0 {
            return Ok(Bench { staging: staging.clone(), _work: None });
        }
        let work = WorkFolder::new()?;
        let staging = Staging::of(work.path());
        staging.create()?;
        Ok(Bench { staging, _work: Some(work) })
    }

    /// Stores the plan in `file` where all machines see it. Returns the manifest if its data set is
    /// published.
    pub(super) fn offer(
        &self,
        plan: &Plan,
        file: &Path,
        policy: Policy,
    ) -> Result<Option<Manifest>, Failure> {
        let Place::Bucket(bucket) = &self.0 else { return Ok(None) };
        match bucket.offer(plan, file, policy.word())? {
            Offered::Published(manifest) => Ok(Some(*manifest)),
            Offered::Resumed | Offered::New => Ok(None),
        }
    }

    /// Packs shards that are not finished.
    pub(super) fn pack(
        &self,
        packing: Packing<'_>,
        mut options: RunOptions,
        counter: &BuildCounter,
    ) -> Result<RunReport, Failure> {
        if let Place::Bucket(bucket) = &self.0 {
            // The files of a shard are removed as soon as the store has them.
            options.durability = Durability::Cached;
            options.destination = Some(bucket.destination(options.stop.clone()));
        }
        let Packing { plan, staging, shards } = packing;
        counter.begin(Goal::of(plan.foot(), shards));
        run(plan, staging, shards, &options, &counter.run)
    }

    /// Publishes the data set of the plan, whose shards are all finished.
    pub(super) fn finalize(
        &self,
        foot: &PlanFoot,
        durability: Durability,
    ) -> Result<Publication, Failure> {
        match &self.0 {
            Place::Folder(staging) => {
                let manifest = finalize(staging, foot, durability)?;
                Ok(Publication { manifest, leftovers: Leftovers::default() })
            }
            Place::Bucket(bucket) => bucket.finalize(foot),
        }
    }

    /// Writes the list of problems; removes it if there are none.
    pub(super) fn write_problems(&self, problems: &[Value]) -> Result<(), Failure> {
        match &self.0 {
            Place::Folder(staging) => write_problems(&staging.problems_path(), problems),
            Place::Bucket(bucket) => bucket.write_problems(problems),
        }
    }

    /// Returns the manifest if another machine has published the data set of the plan while a run of
    /// this machine failed for a reason that may be that the working folder is gone.
    pub(super) fn published_meanwhile(&self, foot: &PlanFoot) -> Result<Option<Manifest>, Failure> {
        let Place::Folder(staging) = &self.0 else { return Ok(None) };
        Ok(published(staging)?.filter(|manifest| manifest.has_plan(&foot.content)))
    }
}
