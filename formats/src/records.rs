//! What is recorded about a data set beside its shards: the manifest, records of shards, lists of keys.

pub(super) mod about;
pub(super) mod key_list;
pub mod manifest;
pub(super) mod objects;
pub(super) mod record;
