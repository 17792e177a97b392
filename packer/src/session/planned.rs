//! A build with a plan, which is stored where all machines see it.

use tarflume_base::Failure;
use tarflume_formats::Manifest;
use tarflume_formats::plan::PlanFoot;

use super::packed::StoredBuild;
use super::stored_plan::StoredPlan;
use super::task::Task;
use super::unpacked::{DryRun, RefusedPlan};
use crate::build::Scanned;
use crate::build::prepare::Ready;

/// Result of [`Build::plan`](super::Build::plan).
#[derive(Debug)]
pub enum Planned {
    /// The same data set is published in the output folder.
    Published {
        /// Its manifest.
        manifest: Manifest,
        /// The request has entry points, and the data set has none.
        lacks_entry_points: bool,
    },
    /// The data set that would get more shards has all samples.
    Nothing {
        /// Its manifest.
        manifest: Manifest,
        /// Result of the scan.
        scanned: Scanned,
    },
    /// There are problems, and the policy is to fail.
    Refused(Box<RefusedPlan>),
    /// The request writes nothing.
    Dry(Box<DryRun>),
    /// There is a plan to pack.
    Ready(Box<PlannedBuild>),
}

/// A build with a plan to pack. Keeps other builds out of the output folder.
#[derive(Debug)]
pub struct PlannedBuild {
    task: Task,
    ready: Box<Ready>,
}

/// Result of [`PlannedBuild::store`].
#[derive(Debug)]
pub enum StoreOutcome {
    /// The data set of this plan is published in the store. [`StoredPlan::finalize`] removes what an
    /// attempt left there.
    Published(Box<Manifest>, Box<StoredPlan>),
    /// All machines see the plan.
    Ready(Box<StoredBuild>),
}

impl PlannedBuild {
    pub(super) fn new(task: Task, ready: Box<Ready>) -> PlannedBuild {
        PlannedBuild { task, ready }
    }

    /// Returns the result of the scan.
    pub fn scanned(&self) -> &Scanned {
        &self.ready.scanned
    }

    /// Returns what the plan says of all shards.
    pub fn foot(&self) -> &PlanFoot {
        self.ready.plan.foot()
    }

    /// Returns true if an earlier attempt in the output folder had made the same plan.
    pub fn is_resumed(&self) -> bool {
        self.ready.resumed
    }

    /// Stores the plan where all machines see it. In a folder, it is there already.
    ///
    /// # Errors
    /// Returns an error if the store holds another plan or another data set, or does not answer.
    pub fn store(self) -> Result<StoreOutcome, Failure> {
        let PlannedBuild { task, ready } = self;
        let policy = task.request.policy;
        let published = task.output.offer(&ready.plan, &ready.staging.plan_path(), policy)?;
        Ok(match published {
            Some(manifest) => {
                let plan = StoredPlan::new(task.output, ready.plan);
                StoreOutcome::Published(Box::new(manifest), Box::new(plan))
            }
            None => StoreOutcome::Ready(Box::new(StoredBuild::new(task, ready))),
        })
    }
}
