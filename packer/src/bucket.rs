//! `Bucket`: a build whose plan, shards, records and manifest are objects of an object store.
//!
//! ```text
//! PREFIX/.pack/plan                  the plan
//! PREFIX/.pack/policy                handling of problems: fail, skip or quarantine
//! PREFIX/.pack/uploads/NAME-WORD     note of an upload that may be open
//! PREFIX/NAME.tar, NAME.index        finished shards and their sidecars, under their final names
//! PREFIX/.pack/records/NAME.tar      and their records, written last
//! PREFIX/.pack/claims/NAME.tar-1     notes of shards that a machine is packing
//! PREFIX/dataset.json                the manifest, written once all shards are finished
//! ```
//!
//! Machines share the bucket and nothing else. Each object appears at once and whole, so shards go
//! to their final names directly; the manifest is the commit. This module knows no network: see
//! [`Objects`].

mod begin;
mod claims;
mod data_set;
mod delivery;
mod finalize;
mod layout;
pub(crate) mod objects;
mod probe;
mod sharing;
#[cfg(feature = "remote")]
mod stored;
#[cfg(test)]
mod tests;
mod uploads;
mod written;

pub(crate) use begin::expect_no_quarantine;
pub use data_set::Bucket;
pub use finalize::Publication;
pub use objects::{ObjectState, Objects, Put, Stored, UploadHooks};
pub(crate) use sharing::Offered;
pub use uploads::Leftovers;
