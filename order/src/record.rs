//! Records of an epoch: where it stopped, and what was delivered.

pub(super) mod ledger;
pub(super) mod state;
