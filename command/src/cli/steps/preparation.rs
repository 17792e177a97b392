//! The first steps of a build with progress: begins it in a folder or in a store, scans and plans.

use std::path::Path;

use tarflume_base::{Exit, Failure};
use tarflume_packer::bucket::Bucket;
use tarflume_packer::build::Request;
use tarflume_packer::session::{Build, BuildCounter, Planned, PlannedBuild};

use super::summary;
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::output::progress;

/// Begins a build in the store, or in the folder of the request if there is none.
pub(in crate::cli) fn begin(
    bucket: Option<Bucket>,
    request: Request,
    single_writer: bool,
    show: ShowArgs,
) -> Result<Build, Failure> {
    let Some(bucket) = bucket else { return Ok(Build::new(request)) };
    let build = Build::in_bucket(bucket, request, single_writer)?;
    summary::leftovers(build.leftovers(), show);
    Ok(build)
}

/// Scans and plans.
pub(in crate::cli) fn plan(build: Build, show: ShowArgs) -> Result<Planned, Failure> {
    let counter = build.counter();
    progress::during_scan(show.mode(), &counter, || build.plan())
}

/// Prints the outcome of a plan if there is nothing to pack. Checks the contents of a plan that is not
/// run. `out` is shown as the place of the data set.
pub(in crate::cli) fn ready(
    planned: Planned,
    out: &Path,
    counter: &BuildCounter,
    show: ShowArgs,
) -> Result<Result<Box<PlannedBuild>, Exit>, Failure> {
    match planned {
        Planned::Published { manifest, lacks_entry_points } => {
            summary::already_published(out, &manifest, show);
            if lacks_entry_points {
                summary::lacks_entry_points(out, show);
            }
            Ok(Err(Exit::Done))
        }
        Planned::Nothing { manifest, scanned } => {
            summary::nothing_new(out, &manifest, &scanned, show);
            Ok(Err(Exit::Done))
        }
        Planned::Refused(mut refused) => {
            let looked = progress::during_run(show.mode(), counter, "checking", || refused.look());
            summary::refused_scan(out, refused.scanned(), show);
            looked.map(|()| Err(Exit::Problems))
        }
        Planned::Dry(mut dry) => {
            progress::during_run(show.mode(), counter, "checking", || dry.look())?;
            summary::dry_run(dry.foot(), dry.scanned(), show);
            let faults = dry.scanned().problems.iter().any(|p| !p.kind.is_notice());
            Ok(Err(if faults { Exit::Problems } else { Exit::Done }))
        }
        Planned::Ready(planned) => Ok(Ok(planned)),
    }
}
