//! Python bindings: they translate only; all decisions are in the crates below.
//!
//! Rooms, lower ones first:
//!
//! 1. `faults`: exceptions; `buffers`: memory that NumPy, Arrow and DLPack view (with unsafe code);
//! 2. `arguments`: numbers, words, labels and options of a store, which Python code gives;
//! 3. `batches`: batches, tables and their columns; `decoders`: decoders and transforms by name;
//! 4. `annotations`: what lies on pictures; `datasets`: open data sets and selections of their samples; `building`: packing, exporting, verifying;
//! 5. `loading`: loaders and their epochs;
//! 6. `package`: the Python module.
#![deny(unsafe_code)]
// The documentation is for Python.
#![allow(missing_docs, unreachable_pub)]

mod annotations;
mod arguments;
mod batches;
mod buffers;
mod building;
mod datasets;
mod decoders;
mod faults;
mod loading;
mod package;
