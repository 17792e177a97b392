//! Building: a plan in place -> all its shards packed, then published, or refused.

use tarflume_formats::Manifest;

use crate::failure::Failure;
use crate::finalize::{finalize, write_problems};
use crate::prepare::Ready;
use crate::problem::Problem;
use crate::running::Ran;

/// What a build came to.
#[derive(Debug)]
pub enum Built {
    /// Samples have problems, and the policy is to fail: finished shards are kept, nothing is published.
    Refused(Ran),
    /// The data set stands.
    Published(Manifest, Ran),
}

/// Publishes what a run of all shards gave; or, where it refused some, lists all problems.
///
/// # Errors
/// As [`finalize`] and [`write_problems`].
pub fn conclude(ready: &Ready, ran: Ran) -> Result<Built, Failure> {
    let foot = ready.plan.foot();
    if ran.refused == 0 {
        let manifest = finalize(&ready.staging, foot, ran.durability)?;
        return Ok(Built::Published(manifest, ran));
    }
    let mut values = foot.problems.clone();
    values.extend(ran.problems.iter().map(Problem::to_value));
    write_problems(&ready.staging.problems_path(), &values)?;
    Ok(Built::Refused(ran))
}

/// What to do about a scan that was refused.
pub const MEND: &str =
    "nothing was packed; mend the files, or leave them out with --on-problem skip|quarantine";

/// What to do about a run that was refused.
pub fn kept(ran: &Ran) -> String {
    format!(
        "nothing was published; {} kept. To leave the bad samples out, run the same command with \
         --on-problem skip|quarantine; after mending the files, with --fresh",
        crate::units::counted(ran.packed + ran.skipped, "finished shard is", "finished shards are")
    )
}
