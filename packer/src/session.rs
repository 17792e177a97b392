//! `Build`: one build of a data set, step by step. Folders and object stores have the same steps.
//!
//! ```text
//! Build ──plan──► PlannedBuild ──store──► StoredBuild ──run──► PackedBuild ──finalize──► PublishedBuild
//!                                  │
//!                                  ▼ the plan that all machines see
//!                              StoredPlan ──run──► some shards, on any machine
//!                                         ──finalize──► the data set, once all shards are finished
//! ```
//!
//! Each step consumes the object of the step before, so no step can be left out or repeated. What a
//! killed build has finished, the next build of the same request finds on disk or in the store.
//!
//! ```
//! use tarflume_packer::build::BuildOptions;
//! use tarflume_packer::session::{Build, Finalized, Planned, StoreOutcome};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (photos, shards) = (folder.path().join("photos"), folder.path().join("shards"));
//! # std::fs::create_dir(&photos)?;
//! # for n in 0..3 { std::fs::write(photos.join(format!("{n}.json")), "{}")?; }
//! let mut options = BuildOptions::new(vec![photos], shards);
//! options.require = Some("json".into()); // images and JSON without it
//! let build = Build::new(options.request()?);
//! match build.plan()? {
//!     Planned::Ready(planned) => {
//!         println!("{} samples", planned.foot().samples);
//!         if let StoreOutcome::Ready(stored) = planned.store()? {
//!             match stored.run()?.finalize()? {
//!                 Finalized::Published(done) => assert_eq!(done.manifest.samples, 3),
//!                 Finalized::Refused(ran) => panic!("{:?}", ran.problems),
//!             }
//!         }
//!     }
//!     Planned::Refused(refused) => panic!("{:?}", refused.scanned().problems),
//!     Planned::Published { .. } | Planned::Nothing { .. } | Planned::Dry(_) => {}
//! }
//! # Ok(())
//! # }
//! ```

mod counter;
mod output;
mod packed;
mod planned;
mod settings;
mod stored_plan;
mod task;
#[cfg(test)]
mod tests;
mod unpacked;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::Failure;

use crate::bucket::{Bucket, Leftovers};
use crate::build::prepare::{Prepared, prepare};
use crate::build::scan_part::{PartReport, scan_part};
use crate::build::{Request, Subtree};

use self::task::Task;

pub use counter::BuildCounter;
pub use output::Output;
pub use packed::{Finalized, PackedBuild, PublishedBuild, StoredBuild};
pub use planned::{Planned, PlannedBuild, StoreOutcome};
pub use settings::{RunSettings, WorkerOptions};
pub use stored_plan::{Opened, ShareOutcome, StoredPlan};
pub use unpacked::{DryRun, RefusedPlan};

/// A build that is requested, and not planned.
///
/// [`Request::stop`] ends any step early with an error; what is finished stays for the next build.
#[derive(Debug)]
pub struct Build {
    task: Task,
    leftovers: Leftovers,
}

impl Build {
    /// Begins a build in the folder of the request. Writes nothing.
    pub fn new(request: Request) -> Build {
        let output = Output::folder(&request.out);
        Build::of(request.out.clone(), output, request)
    }

    /// Begins a build in an object store. The shards in work are in a temporary folder. If the request
    /// asks for a fresh start, discards an unfinished attempt.
    ///
    /// The store must honor conditions, unless `single_writer` says that no other program writes to
    /// this prefix. A dry run asks nothing of the store.
    ///
    /// # Errors
    /// Returns an error if the request quarantines files, if the store ignores conditions, for a fresh
    /// start over a published data set, and the errors of the store.
    pub fn in_bucket(
        bucket: Bucket,
        mut request: Request,
        single_writer: bool,
    ) -> Result<Build, Failure> {
        let out = request.out.clone();
        let begun = bucket.begin(&mut request, single_writer)?;
        let mut build = Build::of(out, Output::bucket(bucket), request);
        build.task.work = Some(begun.work);
        build.leftovers = begun.leftovers;
        Ok(build)
    }

    fn of(out: PathBuf, output: Output, request: Request) -> Build {
        let task = Task {
            request,
            out,
            output,
            settings: RunSettings::default(),
            counter: Arc::default(),
            work: None,
        };
        Build { task, leftovers: Leftovers::default() }
    }

    /// Sets how shards are packed.
    #[must_use]
    pub fn with_settings(mut self, settings: RunSettings) -> Build {
        self.task.settings = settings;
        self
    }

    /// Counts the progress of all steps in `counter`, which another thread may read.
    #[must_use]
    pub fn with_counter(mut self, counter: Arc<BuildCounter>) -> Build {
        self.task.counter = counter;
        self
    }

    /// Returns the counter of the progress of all steps.
    pub fn counter(&self) -> Arc<BuildCounter> {
        self.task.counter.clone()
    }

    /// Returns the folder or the URL of the data set, as it was given.
    pub fn out(&self) -> &Path {
        &self.task.out
    }

    /// Returns the uploads of earlier attempts, if the request asked for a fresh start in a store.
    pub fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Scans the sources, or reads what several machines have scanned, and plans the shards. Writes
    /// the plan to the working folder, unless the build ends here.
    ///
    /// # Errors
    /// Returns an error for wrong usage (an invalid source, an output folder in use, a folder without
    /// samples), for failures of the machine, and after an interruption.
    pub fn plan(self) -> Result<Planned, Failure> {
        let task = self.task;
        let prepared = prepare(&task.request, &task.counter.scan)?;
        Ok(match prepared {
            Prepared::Published { manifest, lacks_entry_points } => {
                Planned::Published { manifest, lacks_entry_points }
            }
            Prepared::Nothing { manifest, scanned } => Planned::Nothing { manifest, scanned },
            Prepared::Refused(scanned, plan) => {
                Planned::Refused(Box::new(RefusedPlan::new(task, scanned, plan)))
            }
            Prepared::Dry(plan, scanned) => {
                Planned::Dry(Box::new(DryRun::new(task, scanned, plan)))
            }
            Prepared::Ready(ready) => Planned::Ready(Box::new(PlannedBuild::new(task, ready))),
        })
    }

    /// Scans one of several parts of the source folders, and writes what it found to a file in the
    /// output folder. A build whose options name the files of all parts plans from them.
    ///
    /// # Errors
    /// Returns an error for sources that are not folders, for an output folder inside a source, for
    /// failures of the machine, and after an interruption.
    pub fn scan_part(self, subtree: Subtree) -> Result<PartReport, Failure> {
        scan_part(&self.task.request, subtree, &self.task.counter.scan)
    }
}
