//! A build whose plan is stored: packs all shards, and publishes the data set.

use tarflume_base::Failure;
use tarflume_formats::Manifest;
use tarflume_formats::message::Face;
use tarflume_formats::plan::PlanFoot;

use super::output::{Output, Packing};
use super::task::Task;
use crate::bucket::{Leftovers, Publication};
use crate::build::Scanned;
use crate::build::prepare::Ready;
use crate::build::publish;
use crate::run::RunReport;
use crate::run::options::RunOptions;

/// A build whose plan all machines see.
#[derive(Debug)]
pub struct StoredBuild {
    task: Task,
    ready: Box<Ready>,
}

impl StoredBuild {
    pub(super) fn new(task: Task, ready: Box<Ready>) -> StoredBuild {
        StoredBuild { task, ready }
    }

    /// Returns the result of the scan.
    pub fn scanned(&self) -> &Scanned {
        &self.ready.scanned
    }

    /// Returns what the plan says of all shards.
    pub fn foot(&self) -> &PlanFoot {
        self.ready.plan.foot()
    }

    /// Packs all shards of the plan that are not finished.
    ///
    /// # Errors
    /// Returns the first failure of the machine or of the store, and an error after an interruption.
    /// Finished shards stay finished.
    pub fn run(self) -> Result<PackedBuild, Failure> {
        let StoredBuild { mut task, ready } = self;
        let foot = ready.plan.foot();
        let request = &task.request;
        let mut options =
            RunOptions::of_plan(foot, request.policy, request.jobs, request.roots.clone())?;
        task.settings.apply(&mut options, &request.stop);
        let shards: Vec<usize> = (0..foot.shards.len()).collect();
        let packing = Packing { plan: &ready.plan, staging: &ready.staging, shards: &shards };
        let ran = task.output.pack(packing, options, &task.counter)?;
        drop(task.work.take()); // the store has all shards
        Ok(PackedBuild { output: task.output, ready, ran })
    }
}

/// A build whose shards were packed, or refused.
#[derive(Debug)]
pub struct PackedBuild {
    output: Output,
    ready: Box<Ready>,
    ran: RunReport,
}

/// Result of [`PackedBuild::finalize`].
#[derive(Debug)]
pub enum Finalized {
    /// Samples have problems, and the policy is to fail: finished shards stay, nothing is published.
    Refused(Box<RunReport>),
    /// The data set is published.
    Published(Box<PublishedBuild>),
}

impl PackedBuild {
    /// Publishes the data set, or lists all problems in the output if shards were refused.
    ///
    /// # Errors
    /// Returns an error if all samples were left out, if the output holds another data set or a foreign
    /// file with the name of a shard, if the list of problems cannot be written, and for failures of
    /// the machine or of the store.
    pub fn finalize(self) -> Result<Finalized, Failure> {
        let PackedBuild { output, ready, ran } = self;
        let foot = ready.plan.foot();
        if ran.refused > 0 {
            let mut values = foot.problems.clone();
            values.extend(ran.problems.iter().map(|problem| problem.to_value(Face::Command)));
            output.write_problems(&values)?;
            return Ok(Finalized::Refused(Box::new(ran)));
        }
        let Publication { manifest, leftovers } = output.finalize(foot, ran.durability)?;
        let published = PublishedBuild { manifest, ran, leftovers, output, ready };
        Ok(Finalized::Published(Box::new(published)))
    }
}

/// A build whose data set is published.
#[derive(Debug)]
pub struct PublishedBuild {
    /// The manifest.
    pub manifest: Manifest,
    /// Result of the run.
    pub ran: RunReport,
    /// Uploads that killed attempts had left in the store.
    pub leftovers: Leftovers,
    output: Output,
    ready: Box<Ready>,
}

impl PublishedBuild {
    /// Returns the result of the scan.
    pub fn scanned(&self) -> &Scanned {
        &self.ready.scanned
    }

    /// Returns what the plan says of all shards.
    pub fn foot(&self) -> &PlanFoot {
        self.ready.plan.foot()
    }

    /// Returns the typed columns in which no sample has a value: their fields may be misspelt. Of a
    /// data set in a store, none is named.
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be read.
    pub fn empty_columns(&self) -> Result<Vec<String>, Failure> {
        match self.output.staging() {
            Some(staging) => publish::empty_columns(staging.out(), &self.manifest),
            None => Ok(Vec::new()),
        }
    }
}
