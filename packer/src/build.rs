//! A build: options -> request -> plan in place -> packed shards -> published data set.
//!
//! [`crate::run`] packs; this folder decides what is packed and what is published.

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
mod scan_part;
mod selection;
mod sources;

pub use append::AppendOptions;
pub use finalize::finalize;
pub use options::{BuildOptions, SHARD_SIZE, jobs};
pub use prepare::{Prepared, Ready, Scanned, prepare};
pub use publish::{Built, conclude, empty_columns, kept, look_at_contents, mend};
#[doc(hidden)]
pub use rehearse::rehearse;
pub use request::Request;
pub use scan_part::{PartReport, scan_part};
pub use selection::{Selection, Tars};

pub use crate::rows::KeyBy;

pub use crate::plan::warnings::of as warnings;
pub use crate::scan::subtree::Subtree;
