//! Faults that are known to end otherwise than they must.

use super::tracer::Call;

/// Errors while the source is scanned and read count against its samples, until scan and run ask
/// `tarflume_formats::Blame` whose fault they are. Then this must be false for all.
pub(super) fn until_the_table(call: &Call, exit: i32) -> bool {
    call.path.starts_with("photos") && matches!(exit, 0 | 1 | 2 | 65 | 75)
}
