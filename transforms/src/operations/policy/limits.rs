//! Limits on the arguments of policies.

use tarflume_types::{Error, Result};

/// The most changes of one sample, and the most chains of a mix.
pub(super) const MOST: u32 = 100;

/// Checks the number of strengths, of which each table has the first and the last.
pub(super) fn bins(operation: &str, bins: u32) -> Result<()> {
    if (2..=1_000_000).contains(&bins) {
        return Ok(());
    }
    let text = format!("{operation}: num_magnitude_bins is {bins}; it must be 2 to 1,000,000");
    Err(Error::usage(text))
}
