//! The commands that index, copy, convert and unpack shards.

#[cfg(feature = "remote")]
pub(super) mod cache;
pub(super) mod export;
pub(super) mod index;
pub(super) mod repair;
pub(super) mod sign;
pub(super) mod sync;
pub(super) mod unpack;
