//! Commands that are killed, and machines that fail.

pub(super) mod disk_failures;
pub(super) mod faults;
pub(super) mod kills;
pub(super) mod leftovers;
pub(super) mod machine_trouble;
pub(super) mod reports;
pub(super) mod restart;
pub(super) mod streams;
