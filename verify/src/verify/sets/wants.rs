//! Says what is read of each shard.

use tarflume_base::Failure;
use tarflume_formats::files;

use super::{Set, Target};
use crate::scope::Scope;
use crate::scope::runs::{Placed, Want};
use crate::scope::touched::Touched;

/// Sets what is wanted of each shard.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub(crate) fn assign(
    sets: &mut [Set],
    scope: &Scope,
    touched: Option<&Touched>,
) -> Result<(), Failure> {
    let mut lengths = Vec::new();
    if scope.share.is_some() {
        for target in sets.iter().flat_map(|set| &set.targets) {
            lengths.push(length(target)?);
        }
    }
    let total = lengths.iter().fold(0u64, |sum, &length| sum.saturating_add(length));
    let pieces = scope.share.as_ref().map(|share| share.over(total));
    let mut lengths = lengths.into_iter();
    let mut start = 0u64;
    for target in sets.iter_mut().flat_map(|set| &mut set.targets) {
        let here = start;
        start = start.saturating_add(lengths.next().unwrap_or(0));
        target.want = match pieces {
            _ if scope.manifest_only => Want::Stated,
            _ if is_untouched(target, touched)? => Want::Quick,
            Some(pieces) => Want::Share(Placed { pieces, start: here }),
            None => Want::Level,
        };
    }
    Ok(())
}

fn is_untouched(target: &Target, touched: Option<&Touched>) -> Result<bool, Failure> {
    match touched {
        Some(touched) if target.remote.is_none() => Ok(!touched.has(&target.tar)?),
        _ => Ok(false),
    }
}

/// Returns the bytes of a tar, as the manifest lists them; of a tar that is in none, those that it has.
fn length(target: &Target) -> Result<u64, Failure> {
    if let Some(entry) = &target.entry {
        return Ok(entry.bytes);
    }
    match files::metadata(&target.tar, "find the shard") {
        Ok(found) => Ok(found.len()),
        Err(error) if error.blame().is_machine() => Err(error.into()),
        Err(_) => Ok(0), // reported where it is verified
    }
}
