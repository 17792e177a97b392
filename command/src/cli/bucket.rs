//! `build`, `plan`, `run`, `status` and `finalize` with a URL: the same steps, in an object store.
//!
//! Each shard is packed in a temporary folder (TMPDIR), uploaded, and removed there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Durability, Plan};
use tarflume_packer::bucket::{
    Bucket, Concluded, Leftovers, Offered, WorkFolder, expect_no_quarantine,
};
use tarflume_packer::build::{Ready, Request};
use tarflume_packer::run::{RunOptions, RunReport, Stealing};
use tarflume_packer::workdir::{OutputState, Policy, Progress, Staging};
use tarflume_packer::{Choice, Exit, Failure, Outcome};

use super::packing::{self, RunArgs};
use super::source_args::ShowArgs;
use super::{preparation, summary};
use crate::signals;

/// What `pack run` packs, and how.
pub(super) struct Chosen<'a> {
    /// The numbers of the shards.
    pub(super) shards: &'a dyn Fn(&PlanFoot) -> Result<Vec<usize>, Failure>,
    /// After this time without a change of its claim, another machine's shard is taken over; `None` packs the own
    /// shards alone.
    pub(super) steal: Option<Duration>,
    /// What is done about problems, if not what the plan has noted.
    pub(super) on_problem: Option<Policy>,
    /// Where the sources are, if not where the plan found them.
    pub(super) source: &'a [PathBuf],
    pub(super) jobs: usize,
    pub(super) run: &'a RunArgs,
}

/// A build in a store.
pub(super) struct BucketBuild<'a> {
    pub(super) bucket: Bucket,
    /// The URL as it was given.
    pub(super) out: &'a Path,
    /// Whether stores that ignore conditions are accepted.
    pub(super) single_writer: bool,
    pub(super) show: ShowArgs,
}

impl BucketBuild<'_> {
    /// Plans, packs and publishes.
    pub(super) fn build(&self, mut request: Request, run: &RunArgs) -> Outcome {
        let work = self.begin(&mut request)?;
        let ready = match preparation::prepared(&request, self.out, self.show)? {
            Ok(ready) => ready,
            Err(exit) => return Ok(exit),
        };
        summary::scanned(&ready, self.show);
        let foot = ready.plan.foot();
        if let Offered::Published(manifest) = self.offer(&request, &ready)? {
            let (_, left) = self.bucket.finalize(foot)?;
            self.report(&left);
            summary::already_published(self.out, &manifest, self.show);
            return Ok(Exit::Done);
        }
        let shards: Vec<usize> = (0..foot.shards.len()).collect();
        let roots = request.roots.clone();
        let options = run.options(request.policy, request.jobs, roots, foot)?;
        let ran = self.pack(&ready.plan, &ready.staging, &shards, options)?;
        drop(work);
        match self.bucket.conclude(foot, &ran)? {
            Concluded::Refused => {
                summary::refused_run(self.out, &ran, self.show);
                Ok(Exit::Problems)
            }
            Concluded::Published(manifest, left) => {
                self.report(&left);
                summary::published(self.out, &manifest, &ready.scanned, &ran, self.show);
                Ok(Exit::Done)
            }
        }
    }

    /// Plans, and stores the plan.
    pub(super) fn plan(&self, mut request: Request) -> Outcome {
        let _work = self.begin(&mut request)?;
        match preparation::prepared(&request, self.out, self.show)? {
            Err(exit) => return Ok(exit),
            Ok(ready) => match self.offer(&request, &ready)? {
                Offered::Published(manifest) => {
                    summary::already_published(self.out, &manifest, self.show);
                }
                _ => summary::planned(self.out, &ready, self.show),
            },
        }
        Ok(Exit::Done)
    }

    /// Packs shards of the plan in the store.
    pub(super) fn run(&self, chosen: &Chosen<'_>) -> Outcome {
        let plan = match self.state()? {
            OutputState::Planned(plan) => plan,
            OutputState::Published(manifest) => {
                summary::already_published(self.out, &manifest, self.show);
                return Ok(Exit::Done);
            }
        };
        let foot = plan.foot();
        let shards = (chosen.shards)(foot)?;
        let noted = self.bucket.policy()?.and_then(|word| Policy::from_word(word.trim()));
        let policy = chosen.on_problem.or(noted).unwrap_or(Policy::Fail);
        expect_no_quarantine(policy)?;
        let roots = match chosen.source {
            [] => foot.roots.iter().map(PathBuf::from).collect(),
            given => RunOptions::roots(given)?,
        };
        let mut options = chosen.run.options(policy, chosen.jobs, roots, foot)?;
        options.stealing =
            chosen.steal.map(|stale| Stealing { claims: self.bucket.claims(), stale });
        let work = WorkFolder::new()?;
        let staging = Staging::of(work.path());
        staging.create()?;
        let ran = self.pack(&plan, &staging, &shards, options)?;
        summary::ran(&ran, self.show);
        Ok(if ran.refused > 0 { Exit::BadData } else { Exit::Done })
    }

    /// Publishes a plan whose shards are all finished.
    pub(super) fn finalize(&self) -> Outcome {
        match self.state()? {
            OutputState::Planned(plan) => {
                let (manifest, left) = self.bucket.finalize(plan.foot())?;
                self.report(&left);
                summary::finalized(self.out, &manifest, self.show);
            }
            OutputState::Published(manifest) => {
                summary::already_published(self.out, &manifest, self.show);
            }
        }
        Ok(Exit::Done)
    }

    /// The state of the shards of a plan.
    pub(super) fn progress(&self, plan: &Plan) -> Result<Progress, Failure> {
        self.bucket.progress(plan.foot())
    }

    fn begin(&self, request: &mut Request) -> Result<WorkFolder, Failure> {
        let begun = self.bucket.begin(request, self.single_writer)?;
        self.report(&begun.leftovers);
        Ok(begun.work)
    }

    fn offer(&self, request: &Request, ready: &Ready) -> Result<Offered, Failure> {
        let (plan, policy) = (&ready.plan, request.policy.word());
        self.bucket.offer(plan, &ready.staging.plan_path(), policy)
    }

    fn pack(
        &self,
        plan: &Plan,
        staging: &Staging,
        shards: &[usize],
        mut options: RunOptions,
    ) -> Result<RunReport, Failure> {
        // The files of a shard are removed as soon as the store has them.
        options.durability = Durability::Cached;
        options.destination = Some(self.bucket.destination(signals::stop()));
        packing::run_shown(plan, staging, shards, &options, self.show)
    }

    /// The plan, or the manifest of the published data set.
    pub(super) fn state(&self) -> Result<OutputState, Failure> {
        if let Some(manifest) = self.bucket.published()? {
            return Ok(OutputState::Published(manifest));
        }
        match self.bucket.plan()? {
            Some(plan) => Ok(OutputState::Planned(plan)),
            // Another command may have published between the two questions.
            None => match self.bucket.published()? {
                Some(manifest) => Ok(OutputState::Published(manifest)),
                None => Err(Failure::usage(format!(
                    "there is no plan in {0}; make one with `pack plan SRC -o {0}`",
                    self.bucket.url()
                ))),
            },
        }
    }

    /// Prints what became of the uploads that killed attempts left behind.
    fn report(&self, left: &Leftovers) {
        if !self.show.quiet {
            left.notices().iter().for_each(|notice| print_message!("notice: {notice}"));
        }
    }
}
