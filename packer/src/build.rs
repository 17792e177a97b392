//! The options of a build -> its request -> a plan in place; and finished shards -> a published data set.
//!
//! [`crate::run`] packs; this folder decides what is packed and what is published. The steps are those
//! of a [`session::Build`](crate::session::Build).

mod advice;
pub(crate) mod finalize;
pub(crate) mod prepare;
pub(crate) mod publish;
mod rehearse;
mod replan;
pub(crate) mod requests;
pub(crate) mod scan_part;
mod sources;

pub use prepare::Scanned;
pub use publish::{kept, mend};
#[doc(hidden)]
pub use rehearse::rehearse;
pub use requests::append::AppendOptions;
pub use requests::options::{BuildOptions, SHARD_SIZE, jobs};
pub use requests::request::Request;
pub use requests::selection::{Selection, Tars};
pub use scan_part::PartReport;

pub use tarflume_sources::rows::KeyBy;

pub use crate::plan::warnings::of as warnings;
pub use tarflume_scan::parts::subtree::Subtree;
