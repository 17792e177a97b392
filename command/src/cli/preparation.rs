//! Scanning and planning with progress, for builds into folders and into stores.

use std::path::Path;

use tarflume_packer::build::{Prepared, Ready, Request, prepare};
use tarflume_packer::scan::ScanCounter;
use tarflume_packer::{Exit, Failure};

use super::source_args::ShowArgs;
use super::{packing, progress, summary};

/// Scans and plans, and prints the outcome if there is nothing to pack. `out` is shown as the place
/// of the data set.
pub(super) fn prepared(
    request: &Request,
    out: &Path,
    show: ShowArgs,
) -> Result<Result<Box<Ready>, Exit>, Failure> {
    let counter = ScanCounter::default();
    let prepared = progress::during_scan(show.mode(), &counter, || prepare(request, &counter))?;
    match prepared {
        Prepared::Published { manifest, lacks_entry_points } => {
            summary::already_published(out, &manifest, show);
            if lacks_entry_points {
                summary::lacks_entry_points(out, show);
            }
            Ok(Err(Exit::Done))
        }
        Prepared::Nothing { manifest, scanned } => {
            summary::nothing_new(out, &manifest, &scanned, show);
            Ok(Err(Exit::Done))
        }
        Prepared::Refused(mut scanned, others) => {
            let looked = others.map(|plan| packing::look_shown(request, &plan, &mut scanned, show));
            summary::refused_scan(out, &scanned, show);
            looked.unwrap_or(Ok(())).map(|()| Err(Exit::Problems))
        }
        Prepared::Dry(plan, mut scanned) => {
            packing::look_shown(request, &plan, &mut scanned, show)?;
            summary::dry_run(plan.foot(), &scanned, show);
            let faults = scanned.problems.iter().any(|p| !p.kind.is_notice());
            Ok(Err(if faults { Exit::Problems } else { Exit::Done }))
        }
        Prepared::Ready(ready) => Ok(Ok(ready)),
    }
}
