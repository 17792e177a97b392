//! Scans a part of the source folders on one of several machines; `prepare` joins the parts to a plan.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::{create_folders, sweep};
use tarflume_scan::folders::walk::{ScanCounter, Watch};
use tarflume_scan::lists::scan_lists;
use tarflume_scan::parts::stored::write::write;
use tarflume_scan::parts::subtree::{self, Subtree};

use super::sources::check_folders;
use crate::build::requests::request::Request;

/// Result of [`Build::scan_part`](crate::session::Build::scan_part).
#[derive(Debug)]
pub struct PartReport {
    /// The file that was written.
    pub path: PathBuf,
    /// Samples of the part.
    pub samples: u64,
    /// Problems of the part, which `pack plan` reports.
    pub problems: usize,
}

/// Scans a part of the folders of `request`, and writes what it found to a file in its output folder.
///
/// # Errors
/// Returns an error for sources that are not folders, for an output folder inside a source, and for
/// failures of the machine.
pub(crate) fn scan_part(
    request: &Request,
    subtree: Subtree,
    counter: &ScanCounter,
) -> Result<PartReport, Failure> {
    if !request.sources.is_empty() || !request.pair.is_empty() || request.group.is_some() {
        let text = message!("only folders are scanned in parts; `{plan}` reads other sources, {pair} and {group} at once"; plan = Call::of(Task::Plan), pair = Name::Pair, group = Name::Group);
        return Err(Failure::usage(text));
    }
    let Request { roots, out, scan: options, stop, jobs, .. } = request;
    let watch = Watch { counter, stop };
    check_folders(roots, out)?;
    Failure::check_threads(*jobs)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(*jobs).build();
    let pool = pool.map_err(|e| Failure::no_thread(&e))?;
    let found = pool.install(|| match request.lists.as_slice() {
        [] => subtree::scan_part(roots, options, subtree, watch),
        lists => scan_lists(roots, lists, options, watch),
    })?;
    create_folders(out)?;
    sweep(out)?;
    let path = out.join(format!("part-{:05}-of-{:05}.scan", subtree.part, subtree.count));
    write(&path, &found, subtree, roots, request.options_of_scan())?;
    Ok(PartReport { path, samples: found.samples(), problems: found.problems() })
}
