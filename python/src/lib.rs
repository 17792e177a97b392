//! Python bindings: they translate only; all decisions are in the crates below.
//!
//! Floors, lower ones first:
//!
//! 1. `keywords`: names of a loader's keywords; `errors`: exceptions; `words`: options that users write as
//!    text; `constructor_args`: arguments of a class, for `repr` and pickling; `numbers`: whole numbers as arguments;
//!    `json`: values of the crates below as Python objects;
//! 2. `memory`: bytes that views keep alive; `dlpack`: capsules of them (with unsafe code); `arrow`: Arrow's C
//!    interface, out and in, and `arrow_view`: columns of other libraries (both with unsafe code);
//! 3. `column`: an array of a batch (with unsafe code); `device`: an array in GPU memory; `ragged`: rows of
//!    different lengths; `table`: the samples of a data set and the columns of a batch for Arrow; `batch`: all
//!    columns by name; `deliver`: what a loader yields for a batch;
//! 4. `gate`: access to the interpreter; `apply`: a decoder that calls a Python function; `tokens`: columns of
//!    token blocks, and a tokenizer that is a Python function; `fallback`: pictures that Pillow decodes;
//!    `conversion`: how samples become numbers; `transforms`, `parts`: the decoders by name;
//! 5. `selecting`: samples that a table selects; `shards`: open data sets; `resident`: the options of a
//!    resident data set; `settings`: the keywords of a
//!    loader;
//! 6. `any_loader`, `ledger`, `epoch`, `loader`; `stream`: tars without a sidecar; `sidecar`: makes one;
//!    `launcher`: the rank of this process;
//! 7. `failures`: errors of packing; `packing`: running jobs; `pack`, `export`, `reshard`: their
//!    functions; `writer`: shards from samples of a program;
//! 8. `package`: the Python module.
#![deny(unsafe_code)]
// The documentation is for Python.
#![allow(missing_docs, unreachable_pub)]

mod any_loader;
mod apply;
mod array_format;
mod arrays;
mod arrow;
mod arrow_view;
mod batch;
mod column;
mod constructor_args;
mod conversion;
mod deliver;
mod device;
mod dlpack;
mod epoch;
mod errors;
mod export;
mod failures;
mod fallback;
mod fetch_stats;
mod gate;
mod json;
mod json_default;
mod keywords;
mod labels;
mod launcher;
mod ledger;
mod loader;
mod loader_columns;
mod loader_keywords;
mod memory;
mod missing;
mod numbers;
mod outputs;
mod pack;
mod package;
mod packing;
mod packing_words;
mod parts;
mod ragged;
mod recognized;
mod reshard;
mod resident;
mod row_index;
mod selecting;
mod settings;
mod shards;
mod sidecar;
mod storage;
mod stream;
mod table;
mod tokens;
mod transforms;
mod unknown_keywords;
mod url;
mod words;
mod writer;
