//! The decoder: a call with one picture or a group; and what another decoder needs.

pub(super) mod decoder;
pub(super) mod group;
pub(super) mod memory;
pub(super) mod offload;
