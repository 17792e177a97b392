//! The Python module `tarflume._core`: its list of classes and functions.

/// The compiled half of the package `tarflume`.
#[pyo3::pymodule(gil_used = false)]
pub(crate) mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::gate::install(module.py())?;
        tarflume_formats::panics::silence();
        tarflume::tell_profilers_by(&crate::settings::libraries(module.py()));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::arrays::{ArrayBatches, ArrayDataset};
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::column::{Column, copied_column};
    #[pymodule_export]
    use crate::device::DeviceColumn;
    #[pymodule_export]
    use crate::epoch::Epoch;
    #[pymodule_export]
    use crate::export::pack_export;
    #[pymodule_export]
    use crate::launcher::launcher_rank;
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::loader::Loader;
    #[pymodule_export]
    use crate::outputs::{check_outside, check_statistics_file};
    #[pymodule_export]
    use crate::pack::{
        pack_append, pack_build, pack_command, pack_index, pack_tokens, pack_verify,
    };
    #[pymodule_export]
    use crate::packing::Work;
    #[pymodule_export]
    use crate::parts::{Apply, ClassLabel, Image, Json, Npy, Raw, Text};
    #[pymodule_export]
    use crate::ragged::Ragged;
    #[pymodule_export]
    use crate::recognized::advice_for;
    #[pymodule_export]
    use crate::reshard::pack_reshard;
    #[pymodule_export]
    use crate::resident::Resident;
    #[pymodule_export]
    use crate::selecting::Selection;
    #[pymodule_export]
    use crate::shards::Dataset;
    #[pymodule_export]
    use crate::sidecar::write_sidecar;
    #[pymodule_export]
    use crate::stream::{TarStores, TarStream};
    #[pymodule_export]
    use crate::table::{RecordBatch, Table};
    #[pymodule_export]
    use crate::tokens::Tokens;
    #[pymodule_export]
    use crate::transforms::{
        CenterCrop, OriginalSize, RandomResizedCrop, Resize, ResizeCenterCrop,
    };
    #[pymodule_export]
    use crate::writer::{Writer, merge_parts};
}
