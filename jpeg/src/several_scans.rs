//! Pictures whose coefficients come in several scans.

pub(super) mod coefficients;
pub(super) mod multiscan;
pub(super) mod scans;
