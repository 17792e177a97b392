//! Where the bytes of a stream come from, and the members in them.

pub(super) mod list;
#[cfg(feature = "remote")]
pub(super) mod stores;
pub(super) mod tar;
