//! The commands that show and check a data set.

pub(super) mod browser;
pub(super) mod cat;
pub(super) mod dedupe;
pub(super) mod diff;
pub(super) mod explain;
pub(super) mod info;
pub(super) mod ls;
pub(super) mod policy;
pub(super) mod stats;
pub(super) mod verify;
pub(super) mod view;
