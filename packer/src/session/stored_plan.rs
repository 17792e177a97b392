//! `StoredPlan`: the plan of a build that several machines pack. One of them publishes the data set.

use std::path::PathBuf;
use std::time::Duration;

use tarflume_base::{Exit, Failure};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Durability, Manifest, Plan};
use tarflume_shards::workdir::{OutputState, Policy, Progress};

use super::output::{Output, Packing};
use super::settings::WorkerOptions;
use crate::bucket::Publication;
use crate::run::options::RunOptions;
use crate::run::{RunReport, Stealing, share};

/// A plan in an output folder that all machines share, or in an object store.
///
/// ```
/// use tarflume_packer::build::BuildOptions;
/// use tarflume_packer::session::{
///     Build, Opened, Output, Planned, ShareOutcome, StoredPlan, WorkerOptions,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (photos, out) = (folder.path().join("photos"), folder.path().join("shards"));
/// # std::fs::create_dir(&photos)?;
/// # for n in 0..4 { std::fs::write(photos.join(format!("{n}.json")), "{}")?; }
/// // Once:
/// let mut options = BuildOptions::new(vec![photos], out.clone());
/// options.require = Some("json".into());
/// options.shards = Some(2);
/// let Planned::Ready(planned) = Build::new(options.request()?).plan()? else { panic!() };
/// planned.store()?;
/// // On each of two machines:
/// for rank in 0..2 {
///     let Opened::Planned(plan) = StoredPlan::open(&Output::folder(&out))? else { panic!() };
///     let ran = plan.run(&plan.share(rank, 2), &WorkerOptions::new(1))?;
///     assert!(matches!(ran, ShareOutcome::Packed(ran) if ran.packed == 1));
/// }
/// // Once all shards are finished:
/// let Opened::Planned(plan) = StoredPlan::open(&Output::folder(&out))? else { panic!() };
/// assert!(plan.progress()?.missing.is_empty());
/// assert_eq!(plan.finalize()?.manifest.samples, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StoredPlan {
    output: Output,
    plan: Plan,
}

/// Result of [`StoredPlan::open`].
#[derive(Debug)]
pub enum Opened {
    /// The data set is published.
    Published(Box<Manifest>),
    /// There is a plan that is not published.
    Planned(Box<StoredPlan>),
}

/// Result of [`StoredPlan::run`].
#[derive(Debug)]
pub enum ShareOutcome {
    /// The shards are finished, or refused.
    Packed(Box<RunReport>),
    /// Another machine has published the data set meanwhile.
    Published(Box<Manifest>),
}

impl StoredPlan {
    pub(super) fn new(output: Output, plan: Plan) -> StoredPlan {
        StoredPlan { output, plan }
    }

    /// Opens the plan in an output.
    ///
    /// # Errors
    /// Returns an error if the output has neither a plan nor a data set, if one of them is damaged, and
    /// if the operating system or the store does not answer.
    pub fn open(output: &Output) -> Result<Opened, Failure> {
        Ok(match output.state()? {
            OutputState::Published(manifest) => Opened::Published(Box::new(manifest)),
            OutputState::Planned(plan) => {
                Opened::Planned(Box::new(StoredPlan::new(output.clone(), plan)))
            }
        })
    }

    /// Returns what the plan says of all shards.
    pub fn foot(&self) -> &PlanFoot {
        self.plan.foot()
    }

    /// Returns the numbers of the shards that machine `rank` of `world` packs, in ascending order. The
    /// shares have nearly the same work, and each machine computes the same division.
    pub fn share(&self, rank: u64, world: u64) -> Vec<usize> {
        share(self.foot(), rank, world)
    }

    /// Refuses the number of a shard that the plan does not have.
    ///
    /// # Errors
    /// Returns an error with the number of shards.
    pub fn expect_shard(&self, number: usize) -> Result<(), Failure> {
        let total = self.foot().shards.len();
        if number < total {
            return Ok(());
        }
        Err(Failure::usage(format!("shard {number}: the plan has {total}, from 0")))
    }

    /// Packs the `shards` of the plan that are not finished, and those of other machines if the options
    /// say so.
    ///
    /// # Errors
    /// Returns an error for the number of a shard that the plan does not have, for other sources than
    /// the plan has, the first failure of the machine or of the store, and an error after an
    /// interruption. Finished shards stay finished.
    pub fn run(&self, shards: &[usize], options: &WorkerOptions) -> Result<ShareOutcome, Failure> {
        shards.iter().try_for_each(|&number| self.expect_shard(number))?;
        let run_options = self.run_options(options)?;
        let bench = self.output.bench()?;
        let packing = Packing { plan: &self.plan, staging: &bench.staging, shards };
        match self.output.pack(packing, run_options, &options.counter) {
            Ok(ran) => Ok(ShareOutcome::Packed(Box::new(ran))),
            // Another attempt may have finished every shard and published meanwhile.
            Err(failure) if matches!(failure.exit(), Exit::TryAgain | Exit::Barred) => {
                match self.output.published_meanwhile(self.foot())? {
                    Some(manifest) => Ok(ShareOutcome::Published(Box::new(manifest))),
                    None => Err(failure),
                }
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns the options of a run: those of the plan, and those of this machine.
    fn run_options(&self, options: &WorkerOptions) -> Result<RunOptions, Failure> {
        let foot = self.foot();
        let noted = self.output.policy()?;
        let policy = options.policy.or(noted).unwrap_or(Policy::Fail);
        self.output.expect_place_for(policy)?;
        let roots = match options.sources.as_slice() {
            [] => foot.roots.iter().map(PathBuf::from).collect(),
            given => RunOptions::roots(given)?,
        };
        let mut run_options = RunOptions::of_plan(foot, policy, options.jobs, roots)?;
        options.settings.apply(&mut run_options, &options.stop);
        if let Some(stale) = options.steal {
            run_options.stealing = Some(Stealing { claims: self.output.claims()?, stale });
        }
        Ok(run_options)
    }

    /// Looks up the state of each shard.
    ///
    /// # Errors
    /// Returns an error if the operating system or the store does not answer.
    pub fn progress(&self) -> Result<Progress, Failure> {
        self.output.progress(self.foot())
    }

    /// Returns the temporary files of runs in the output folder, with their age; none for a store,
    /// whose machines have them in folders of their own.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn temporaries(&self) -> Result<Vec<(PathBuf, Duration)>, Failure> {
        self.output.staging().map_or_else(|| Ok(Vec::new()), |staging| staging.temporaries())
    }

    /// Publishes the data set, whose shards are all finished. It can be interrupted at any instant and
    /// repeated.
    ///
    /// # Errors
    /// Returns an error if shards are missing (try again), all samples were left out, another build
    /// works in the folder, the output holds another data set or a foreign file with the name of a
    /// shard, or the operating system or the store refuses.
    pub fn finalize(self) -> Result<Publication, Failure> {
        let lock = self.output.staging().map(|staging| staging.lock()).transpose()?;
        let published = self.output.finalize(self.foot(), Durability::Synced);
        drop(lock);
        published
    }
}
