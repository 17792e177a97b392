//! Packs folders of images and JSON into WebDataset shards with a sidecar index, verifies shards,
//! and makes sidecars for tars of other tools. The library of the command `pack`; prints nothing.
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
//! | [`mod@arrays`] | finds arrays in HDF5 and Parquet files |
//! | [`scan`], [`mod@run`], [`workdir`] | what the steps of a build report, and the state on disk that they share |
//! | [`bucket`] | the place of a data set in an object store |
//! | [`pictures`] | prepares images while they are packed |
//! | [`writer`] | packs samples that a program makes |
//! | [`filter`] | selects samples by conditions |
//! | [`recognize`] | names what a path is, and the step from it to a data set |
//! | [`verify`] | checks shards, sidecars and the manifest |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`index`] | makes sidecars for tars of other tools |
//! | [`mod@dedupe`] | finds images that occur twice or look alike |
//! | [`mod@diff`] | compares the samples of two data sets |
//! | [`foreign_index`] | makes the index files of other readers |
//! | [`mod@stats`] | measures sizes, dimensions, classes, and what is unusual |
//! | [`listing`], [`survey`] | lists samples, and counts and measures a data set |
//! | [`mod@sync`] | copies a data set between folders and stores |
//! | [`unpack`] | restores files from shards |
//! | [`view`] | makes a page that shows a data set |
//! | [`text_column`] | reads texts of a Parquet file; needs the feature `tables` |
//! | [`mod@export`] | writes the formats of other loaders; the feature `tables` adds Parquet |
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
