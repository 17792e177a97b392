//! The commands that measure a machine or forecast an epoch.

pub(super) mod bench;
pub(super) mod doctor;
pub(super) mod plan_epoch;
