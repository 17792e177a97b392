//! Numbers of arrays: their types and fill values, filters that store them in other words, and limits on their bytes.

pub(super) mod delta;
pub(super) mod element;
pub(super) mod limits;
pub(super) mod shuffle;
