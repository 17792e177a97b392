//! The decoder: a call with one picture or a group.

pub(super) mod decoder;
pub(super) mod group;
pub(super) mod memory;
