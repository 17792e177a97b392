//! The arrays of a loader, in place of shards.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffers::memory::ROW;
use crate::datasets::arrays::ArrayDataset;
use crate::faults::errors::usage;
use crate::loading::keywords::loader_keywords::Keywords;

/// Arrays by the names of their columns.
pub(crate) type NamedArrays = Vec<(String, tarflume::ArrayDataset)>;

/// Runs of rows, as a shuffle by blocks takes them.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    /// Rows of a run.
    pub(crate) block: u64,
    /// Runs that are shuffled together.
    pub(crate) window: u64,
}

/// The runs of a shuffle by blocks: without arrays that are decoded block by block those of every loader; otherwise the
/// rows of the largest block, and half of the blocks that are kept. The other half is for the next window.
pub(crate) fn runs(arrays: Option<&NamedArrays>) -> Runs {
    let stored = arrays.into_iter().flatten();
    let stored = stored.filter_map(|(_, array)| Some((array.block_rows()?, array.blocks_kept())));
    let runs = stored.map(|(block, kept)| Runs { block: block.max(1), window: (kept / 2).max(1) });
    let joined = runs.reduce(|one, other| Runs {
        block: one.block.max(other.block),
        window: one.window.min(other.window),
    });
    joined.unwrap_or(Runs { block: 256, window: 64 })
}

/// Keywords that choose or read samples of shards.
const OF_SHARDS: [&str; 23] = [
    "cache",
    "classes",
    "columns",
    "copy_paste",
    "exclude",
    "image",
    "keep_transforms",
    "label",
    "mix",
    "mosaic",
    "resident",
    "select",
    "source",
    "split",
    "storage",
    "verify",
    "version",
    "views",
    "boxes",
    "masks",
    "keypoints",
    "mask",
    "weights",
];

/// The arrays of a loader, if `shards` is a dict of them.
///
/// # Errors
/// A value is no array, or a keyword needs shards.
pub(crate) fn arrays(
    shards: &Bound<'_, PyAny>,
    given: &Keywords<'_>,
) -> PyResult<Option<NamedArrays>> {
    let Ok(dict) = shards.cast::<PyDict>() else { return Ok(None) };
    let py = shards.py();
    let mut arrays = Vec::new();
    for (name, array) in dict {
        let name: String = name.extract()?;
        if name == ROW {
            let text =
                format!("the column {ROW:?} has the row numbers; give the array another name");
            return Err(usage(py, text));
        }
        let Ok(array) = array.cast::<ArrayDataset>() else {
            let text = format!(
                "{name:?} is a {}, and a loader of arrays takes a dict of them: {{{name:?}: tarflume.ArrayDataset(path)}}",
                array.get_type().name()?
            );
            return Err(usage(py, text));
        };
        arrays.push((name, array.get().rows()));
    }
    for name in OF_SHARDS {
        if given.has(name)? {
            let text = format!(
                "a loader of arrays takes no {name}=, which is for shards: its columns are the arrays, whole; \
                 tarflume.pack.build(\"npy:x.npy\", out) packs arrays"
            );
            return Err(usage(py, text));
        }
    }
    Ok(Some(arrays))
}
