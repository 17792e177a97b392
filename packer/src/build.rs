//! The options of a build -> its request -> a plan in place; and finished shards -> a published data set.
//!
//! [`crate::run`] packs; this folder decides what is packed and what is published. The steps are those
//! of a [`session::Build`](crate::session::Build).

mod advice;
pub(crate) mod append;
pub(crate) mod finalize;
mod joined;
pub(crate) mod options;
pub(crate) mod prepare;
pub(crate) mod publish;
mod rehearse;
mod replan;
pub(crate) mod request;
pub(crate) mod scan_part;
mod selection;
mod sources;

pub use append::AppendOptions;
pub use options::{BuildOptions, SHARD_SIZE, jobs};
pub use prepare::Scanned;
pub use publish::{kept, mend};
#[doc(hidden)]
pub use rehearse::rehearse;
pub use request::Request;
pub use scan_part::PartReport;
pub use selection::{Selection, Tars};

pub use tarflume_sources::rows::KeyBy;

pub use crate::plan::warnings::of as warnings;
pub use tarflume_scan::parts::subtree::Subtree;
