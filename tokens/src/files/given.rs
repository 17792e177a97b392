//! Errors of files that the user named: one that does not exist is wrong usage.

use tarflume_base::{Failure, FailureKind};
use tarflume_formats::Error;

/// Returns the failure for an error of a named file.
pub(crate) fn failure(error: Error) -> Failure {
    let missing = error.is_missing();
    let failure = Failure::from(error);
    if missing { failure.with_kind(FailureKind::Usage) } else { failure }
}
