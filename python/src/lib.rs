//! Python bindings: translation only, every decision lives in the crates below.
//!
//! Floors, lower ones first:
//!
//! 1. `errors`, `words`, `again`: exceptions; what users write as text, and how it is said again elsewhere;
//! 2. `memory`: bytes that views keep alive; `dlpack`: those as capsules (a room for unsafe code);
//! 3. `column`: an array of a batch (another such room), `ragged`: rows of different lengths;
//!    `batch`: all columns by name;
//! 4. `transforms`, `parts`: what becomes of a part of a sample;
//! 5. `shards`: data sets, opened; `settings`: the keywords of a loader;
//! 6. `ledger`, `epoch`, `loader`; `stream`: tars without a sidecar; `sidecar`: makes one.
#![deny(unsafe_code)]
// Documented for Python, where they are seen.
#![allow(missing_docs, unreachable_pub)]

mod again;
mod batch;
mod column;
mod dlpack;
mod epoch;
mod errors;
mod ledger;
mod loader;
mod memory;
mod parts;
mod ragged;
mod settings;
mod shards;
mod sidecar;
mod stream;
mod transforms;
mod words;

/// The compiled half of the package `tarflume`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::column::Column;
    #[pymodule_export]
    use super::epoch::Epoch;
    #[pymodule_export]
    use super::ledger::Ledger;
    #[pymodule_export]
    use super::loader::Loader;
    #[pymodule_export]
    use super::parts::{Class, Image, Json, Npy, Raw, Text};
    #[pymodule_export]
    use super::ragged::Ragged;
    #[pymodule_export]
    use super::shards::Dataset;
    #[pymodule_export]
    use super::sidecar::write_sidecar;
    #[pymodule_export]
    use super::stream::TarStream;
    #[pymodule_export]
    use super::transforms::{CentreCrop, RandomResizedCrop, Resize, ResizeCentreCrop, Whole};
}
