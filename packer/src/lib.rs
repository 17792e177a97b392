//! Packs folders of images and JSON into WebDataset shards with a sidecar index. The library of the
//! command `pack build`; prints nothing.
//!
//! ```no_run
//! use tarflume_packer::build::BuildOptions;
//! use tarflume_packer::session::{Build, Finalized, Planned, StoreOutcome};
//!
//! # fn main() -> Result<(), tarflume_packer::Failure> {
//! let request = BuildOptions::new(vec!["photos/".into()], "shards/".into()).request()?;
//! if let Planned::Ready(planned) = Build::new(request).plan()?
//!     && let StoreOutcome::Ready(stored) = planned.store()?
//!     && let Finalized::Published(done) = stored.run()?.finalize()?
//! {
//!     println!("{} samples", done.manifest.samples);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A build has four steps: it scans folders for samples, plans which shard gets which sample, runs the
//! packing of the shards, and finalizes: it publishes the data set. [`session`] has them in this order,
//! for a folder and for an object store, on one machine and on several.
//!
//! | module | task |
//! |---|---|
//! | [`build`] | the options of a build |
//! | [`session`] | a build, step by step |
//! | [`mod@run`], [`progress`] | the counters and the report of the packing, and the progress that they show |
//! | [`bucket`] | the place of a data set in an object store |
//! | [`pictures`] | prepares images while they are packed |
//! | [`writer`] | packs samples that a program makes |
//! | [`recognize`] | names what a path is, and the step from it to a data set |
//! | [`mod@sync`] | copies a data set between folders and stores |
//!
//! The scan is `tarflume-scan`, other sources are `tarflume-sources`. What is done with a finished data set
//! is in `tarflume-shards`, `tarflume-verify`, `tarflume-export` and `tarflume-inspect`.
#![warn(missing_docs)]

pub mod bucket;
pub mod build;
mod label;
pub mod pictures;
mod plan;
pub mod progress;
pub mod recognize;
pub mod run;
pub mod session;
pub mod sync;
pub mod writer;

// What the signatures of this crate name.
pub use tarflume_base::check::CheckLevel;
pub use tarflume_base::compress::Compress;
pub use tarflume_base::{
    Choice, Columns, Failure, FailureKind, Outcome, Problem, ProblemKind, Problems, Stop,
};
