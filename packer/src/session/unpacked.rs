//! Builds that end with the plan: a dry run, and one whose problems forbid to pack.

use tarflume_base::Failure;
use tarflume_formats::Plan;
use tarflume_formats::plan::PlanFoot;

use super::task::Task;
use crate::build::Scanned;
use crate::build::publish::look_at_contents;
use crate::progress::Goal;

/// A build that packs nothing, because there are problems and the policy is to fail.
#[derive(Debug)]
pub struct RefusedPlan {
    task: Task,
    scanned: Scanned,
    /// The plan of the samples without problems, if there are any.
    plan: Option<Box<Plan>>,
}

impl RefusedPlan {
    pub(super) fn new(task: Task, scanned: Scanned, plan: Option<Box<Plan>>) -> RefusedPlan {
        RefusedPlan { task, scanned, plan }
    }

    /// Returns the result of the scan. After [`RefusedPlan::look`], it has the problems of contents, too.
    pub fn scanned(&self) -> &Scanned {
        &self.scanned
    }

    /// Checks the contents of the samples without problems, so that one report has all problems. Adds
    /// them to those of the scan, and to the list in the output folder. Does nothing if contents are
    /// not to be checked.
    ///
    /// # Errors
    /// Returns an error for a failure of the machine, if the list of problems cannot be written, and
    /// after an interruption.
    pub fn look(&mut self) -> Result<(), Failure> {
        match &self.plan {
            Some(plan) => self.task.look(plan, &mut self.scanned),
            None => Ok(()),
        }
    }
}

/// A dry run: there is a plan, which is written nowhere.
#[derive(Debug)]
pub struct DryRun {
    task: Task,
    scanned: Scanned,
    plan: Box<Plan>,
}

impl DryRun {
    pub(super) fn new(task: Task, scanned: Scanned, plan: Box<Plan>) -> DryRun {
        DryRun { task, scanned, plan }
    }

    /// Returns the result of the scan. After [`DryRun::look`], it has the problems of contents, too.
    pub fn scanned(&self) -> &Scanned {
        &self.scanned
    }

    /// Returns what the plan says of all shards.
    pub fn foot(&self) -> &PlanFoot {
        self.plan.foot()
    }

    /// Checks the contents, if the request asks for it in a dry run, and adds the problems to those of
    /// the scan. Writes nothing.
    ///
    /// # Errors
    /// Returns an error for a failure of the machine, and after an interruption.
    pub fn look(&mut self) -> Result<(), Failure> {
        self.task.look(&self.plan, &mut self.scanned)
    }
}

impl Task {
    fn look(&self, plan: &Plan, scanned: &mut Scanned) -> Result<(), Failure> {
        self.counter.begin(Goal::of_all(plan.foot()));
        look_at_contents(&self.request, plan, scanned, &self.counter.run)
    }
}
