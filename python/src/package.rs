//! The Python module `tarflume._core`: its list of classes and functions.

/// The compiled half of the package `tarflume`.
#[pyo3::pymodule(gil_used = false)]
pub(crate) mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::decoders::gate::install(module.py())?;
        tarflume_formats::panics::silence();
        tarflume::tell_profilers_by(&crate::loading::settings::libraries(module.py()));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::annotations::boxes::Boxes;
    #[pymodule_export]
    use crate::annotations::mask::Mask;
    #[pymodule_export]
    use crate::annotations::points::Keypoints;
    #[pymodule_export]
    use crate::annotations::segments::Masks;
    #[pymodule_export]
    use crate::batches::batch::Batch;
    #[pymodule_export]
    use crate::batches::column::{Column, copied_column};
    #[pymodule_export]
    use crate::batches::device::DeviceColumn;
    #[pymodule_export]
    use crate::batches::device_ragged::DeviceRagged;
    #[pymodule_export]
    use crate::batches::ragged::Ragged;
    #[pymodule_export]
    use crate::batches::table::{RecordBatch, Table};
    #[pymodule_export]
    use crate::building::append::pack_append;
    #[pymodule_export]
    use crate::building::chats::{Chats, FittedLengths};
    #[pymodule_export]
    use crate::building::export::pack_export;
    #[pymodule_export]
    use crate::building::integrity::{pack_repair, pack_sign};
    #[pymodule_export]
    use crate::building::outputs::{check_outside, check_statistics_file};
    #[pymodule_export]
    use crate::building::pack::{pack_build, pack_command, pack_index, pack_tokens, pack_verify};
    #[pymodule_export]
    use crate::building::packing::Work;
    #[pymodule_export]
    use crate::building::reshard::pack_reshard;
    #[pymodule_export]
    use crate::building::sidecar::write_sidecar;
    #[pymodule_export]
    use crate::building::writer::{Writer, merge_parts};
    #[pymodule_export]
    use crate::datasets::arrays::{ArrayBatches, ArrayDataset};
    #[pymodule_export]
    use crate::datasets::selecting::Selection;
    #[pymodule_export]
    use crate::datasets::shards::Dataset;
    #[pymodule_export]
    use crate::decoders::class_label::ClassLabel;
    #[pymodule_export]
    use crate::decoders::parts::one::{PartDecoder, sample_seed};
    #[pymodule_export]
    use crate::decoders::parts::{Apply, Image, Json, Npy, Raw, Text};
    #[pymodule_export]
    use crate::decoders::piece_columns::patches::Patches;
    #[pymodule_export]
    use crate::decoders::piece_columns::views::ViewsColumn;
    #[pymodule_export]
    use crate::decoders::pieces::patches::patch_size;
    #[pymodule_export]
    use crate::decoders::pieces::views::Views;
    #[pymodule_export]
    use crate::decoders::recipes::annotations::{
        kept_boxes, mask_actions, mirrors, move_annotations,
    };
    #[pymodule_export]
    use crate::decoders::recipes::{apply_actions, apply_recipe, draw_actions, draw_many};
    #[pymodule_export]
    use crate::decoders::tokens::Tokens;
    #[pymodule_export]
    use crate::decoders::transforms::{
        CenterCrop, OriginalSize, RandomResizedCrop, Resize, ResizeCenterCrop,
    };
    #[pymodule_export]
    use crate::faults::recognized::advice_for;
    #[pymodule_export]
    use crate::loading::epoch::Epoch;
    #[pymodule_export]
    use crate::loading::keywords::bucket_keywords::{aspect_bucket, aspect_sizes};
    #[pymodule_export]
    use crate::loading::launcher::{device_of_process, launcher_rank};
    #[pymodule_export]
    use crate::loading::ledger::Ledger;
    #[pymodule_export]
    use crate::loading::loader::Loader;
    #[pymodule_export]
    use crate::loading::resident::Resident;
    #[pymodule_export]
    use crate::loading::stream::{TarStores, TarStream};
}
