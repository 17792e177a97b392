//! Python bindings: translation only, every decision lives in the crates below.
//!
//! Floors, lower ones first:
//!
//! 1. `keywords`: names of a loader's keywords; `errors`: exceptions; `words`: options that users write as
//!    text; `again`: arguments of a class, for `repr` and pickling; `numbers`: whole numbers as arguments;
//!    `json`: values of the crates below as Python objects;
//! 2. `memory`: bytes that views keep alive; `dlpack`: those as capsules (a room for unsafe code);
//! 3. `column`: an array of a batch (another such room), `device`: one in the memory of a GPU, `ragged`:
//!    rows of different lengths;
//!    `batch`: all columns by name;
//! 4. `transforms`, `parts`: what becomes of a part of a sample; below them `gate` and `apply`: with a
//!    function of Python's;
//! 5. `shards`: data sets, opened; `settings`: the keywords of a loader;
//! 6. `ledger`, `epoch`, `loader`; `stream`: tars without a sidecar; `sidecar`: makes one;
//! 7. `failures`: why something was not packed; `packing`: work under way; `pack`: how it is asked for;
//!    `writer`: shards of samples that a program makes;
//! 8. `package`: what Python sees of all this.
#![deny(unsafe_code)]
// Documented for Python, where they are seen.
#![allow(missing_docs, unreachable_pub)]

mod again;
mod any_loader;
mod apply;
mod batch;
mod column;
mod device;
mod dlpack;
mod epoch;
mod errors;
mod failures;
mod gate;
mod json;
mod keywords;
mod ledger;
mod loader;
mod memory;
mod numbers;
mod pack;
mod package;
mod packing;
mod parts;
mod ragged;
mod resident;
mod settings;
mod shards;
mod sidecar;
mod stream;
mod transforms;
mod words;
mod writer;
