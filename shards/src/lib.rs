//! Finished shards: their sidecars, their samples, and the folder they are in.
//!
//! | module | task |
//! |---|---|
//! | [`index`] | makes sidecars and manifests for tars of other tools, and proves a sidecar |
//! | [`listing`] | lists samples and reads their parts |
//! | [`clashes`] | finds keys that are repeated in a set of shards |
//! | [`cursor`] | compares the rows of a sidecar with the members of its tar |
//! | [`kinds`] | turns errors of formats into problems |
//! | [`workdir`] | the state of a build on disk |
//! | [`remote_folder`], [`shard_bytes`] | shards in stores as files, and their bytes |
//! | [`braces`] | `shards/{000..765}.tar` as paths |
#![warn(missing_docs)]

pub mod braces;
pub mod clashes;
pub mod cursor;
pub mod index;
mod irregular;
pub mod kinds;
pub mod listing;
pub mod remote_folder;
pub mod shard_bytes;
pub mod workdir;

pub use irregular::irregular_note;
