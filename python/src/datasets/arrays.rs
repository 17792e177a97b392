//! `ArrayDataset` and `ArrayBatches`: rows of arrays in npy, raw, HDF5 and Parquet files, and in folders of Zarr.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tarflume::{ArrayOrder, ArrayPlace, DType, DecodeRows, Error, ErrorKind, Size};
use tarflume_base::{Failure, FailureKind};
use tarflume_formats::files;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::url::url_of;
use tarflume_sources::arrays::{self, CellFault, FoundArray, FoundRows, ReadBlock};

use crate::arguments::numbers::Shape;
use crate::arguments::storage::{self, Pairs};
use crate::arguments::words;
use crate::batches::column::Column;
use crate::buffers::memory::VecMemory;
use crate::buffers::row_index::RowIndex;
use crate::faults::errors::{OrRaise, usage};
use crate::faults::failures::JobFailure;
use crate::faults::unknown_keywords;

/// Rows of an array in a file, read where they are: `.npy`, raw numbers, a data set of HDF5, a column of numbers of
/// Parquet, or an array of Zarr (version 3 or 2). Only the pages of the requested rows are read. Also the parts `NAME.npy`
/// of a data set of shards, whose rows follow each other: what `pack build 'parquet:FILE?rows=4096'` writes.
///
/// Rows that are not in the file as they are (chunked or compressed HDF5, compressed or encoded Parquet, Zarr) are decoded
/// by blocks: the rows of a chunk, of an inner chunk of shards, or of a row group. `memory_limit` is how many bytes of
/// decoded blocks are kept; a larger block is an error. `block_rows` is the number of rows of a block, None for rows that are as they are.
///
///     rows = tarflume.ArrayDataset("embeddings.npy")
///     rows = tarflume.ArrayDataset("train.h5", "/images")
///     rows = tarflume.ArrayDataset("table.parquet", "vector")
///     rows = tarflume.ArrayDataset("train.zarr", "images")     # or "train.zarr/images"
///     rows = tarflume.ArrayDataset("s3://bucket/train.zarr", "images", storage={"region": "eu-west-1"})
///     rows = tarflume.ArrayDataset("shards/", "price.npy")
///     rows = tarflume.ArrayDataset("memmap.dat", dtype="float32", shape=(768,))
///     rows[5], rows[10:20], rows[[7, 3, 7]]        # views of shape [768], [10, 768], [3, 768]
///     rows[norms > 1]                              # a mask: as many booleans as rows, as in NumPy
#[pyclass(frozen, module = "tarflume")]
pub struct ArrayDataset {
    array: tarflume::ArrayDataset,
    /// The arguments, for pickling.
    path: PathBuf,
    name: Option<String>,
    raw: Option<(String, Vec<usize>, u64)>,
    memory_limit: Option<String>,
    storage: Pairs,
}

/// The decoded blocks that an array keeps, by default.
const KEPT: &str = "1GiB";

/// Returns true for a data set of shards, or one of its shards.
///
/// # Errors
/// The operating system refuses to tell what it is.
fn is_packed(path: &Path) -> tarflume::Result<bool> {
    let name = path.to_string_lossy();
    let is_named =
        url_of(path).is_some() || name.ends_with(".tar") || name.ends_with("dataset.json");
    Ok(is_named || files::is_folder(path)?)
}

/// The array of Zarr `name` in a folder or at a URL; `None` if it has no metadata of Zarr there. Parts of data sets have names
/// that end with `npy`.
///
/// # Errors
/// It is a group, or an array that is not read; the operating system or the store refuses to tell what it is.
fn zarr(
    path: &Path,
    name: &str,
    storage: &[(String, String)],
) -> Result<Option<FoundArray>, Failure> {
    if let Some(url) = url_of(path) {
        let is_part = name.ends_with("npy");
        return if is_part { Ok(None) } else { arrays::find_in_store(url, name, storage) };
    }
    let is_zarr = files::is_folder(path)?
        && (arrays::is_zarr(path)? || arrays::is_zarr(&path.join(name.trim_matches('/')))?);
    if is_zarr { arrays::find(path, name).map(Some) } else { Ok(None) }
}

/// Opens the parts with an extension of a data set.
fn packed(
    py: Python<'_>,
    path: &Path,
    ext: &str,
    kept: Size,
    pairs: &[(String, String)],
) -> PyResult<tarflume::ArrayDataset> {
    let storage = storage::storage(py, pairs)?;
    let opened = py.detach(|| {
        tarflume::Dataset::open_with(path, &storage)
            .and_then(|dataset| tarflume::ArrayDataset::packed(&dataset, ext, kept.bytes()))
    });
    let array = opened.or_raise(py)?;
    let largest = array.block_rows().unwrap_or(0);
    let bytes = largest.saturating_mul(array.row_bytes() as u64);
    if bytes > kept.bytes() {
        return Err(usage(py, too_large(path, ext, largest, bytes, kept)));
    }
    Ok(array)
}

fn refused(py: Python<'_>, failure: Failure) -> PyErr {
    JobFailure::failure(failure).raised(py)
}

/// Opens an array with a name.
fn named(
    py: Python<'_>,
    path: &Path,
    name: &str,
    kept: Size,
    storage: &[(String, String)],
) -> PyResult<tarflume::ArrayDataset> {
    if let Some(found) = py.detach(|| zarr(path, name, storage)).map_err(|e| refused(py, e))? {
        return opened(py, path, name, kept, found);
    }
    if is_packed(path).or_raise(py)? {
        return packed(py, path, name, kept, storage);
    }
    let found = py.detach(|| arrays::find(path, name)).map_err(|e| refused(py, e))?;
    opened(py, path, name, kept, found)
}

/// Opens an array that was found. Of one that is decoded block by block, blocks of `kept` bytes are kept.
fn opened(
    py: Python<'_>,
    path: &Path,
    name: &str,
    kept: Size,
    found: FoundArray,
) -> PyResult<tarflume::ArrayDataset> {
    let dtype: DType = words::dtype(py, &found.dtype)?;
    let row: Vec<usize> = found.row.iter().map(|&n| n as usize).collect();
    match found.rows {
        FoundRows::Places(places) => {
            let places = places.iter().map(|&(at, rows)| ArrayPlace { at, rows });
            let places: Vec<ArrayPlace> = places.collect();
            tarflume::ArrayDataset::placed(path, dtype, &row, &places).or_raise(py)
        }
        FoundRows::Blocks(blocks, read) => {
            let largest = blocks.largest();
            let elements = row.iter().fold(dtype.size(), |size, &dim| size.saturating_mul(dim));
            let bytes = largest.saturating_mul(elements as u64).max(read.piece_bytes());
            if bytes > kept.bytes() {
                return Err(usage(py, too_large(path, name, largest, bytes, kept)));
            }
            let decode = Arc::new(Blocks(read));
            let kept = kept.bytes();
            tarflume::ArrayDataset::in_blocks(path, dtype, &row, blocks, decode, kept).or_raise(py)
        }
    }
}

/// The message about a block that is larger than what is kept.
fn too_large(path: &Path, name: &str, rows: u64, bytes: u64, kept: Size) -> String {
    let lead = if name.is_empty() { String::new() } else { format!("{name}: ") };
    format!(
        "{}: {lead}its rows are decoded in blocks of {rows}, which have {bytes} bytes, more than memory_limit={kept}: give \
         memory_limit={:?}, or write smaller blocks (in h5py and zarr-python: chunks=(1, ...), in pyarrow: row_group_size=10_000, in pack build: rows=4096)",
        path.shown(),
        Size::new(bytes).to_string()
    )
}

/// Blocks of a file, for an array.
#[derive(Debug)]
struct Blocks(Arc<dyn ReadBlock>);

impl DecodeRows for Blocks {
    fn decode(&self, rows: Range<u64>) -> tarflume::Result<Vec<u8>> {
        self.0.read(rows).map_err(|fault| match fault {
            CellFault::Data(why) | CellFault::Placed(why) => Error::new(ErrorKind::Decode, why),
            CellFault::Failure(failure) => {
                let kind = match failure.kind() {
                    FailureKind::TryAgain => ErrorKind::Machine,
                    FailureKind::Barred => ErrorKind::Io,
                    _ => ErrorKind::Stale,
                };
                Error::new(kind, failure.message())
            }
        })
    }
}

/// Makes PyTorch's DataLoader take columns, if PyTorch is imported: a data set of rows is used there without more.
fn teach_torch(py: Python<'_>) -> PyResult<()> {
    static TAUGHT: AtomicBool = AtomicBool::new(false);
    if TAUGHT.load(Ordering::Relaxed) {
        return Ok(());
    }
    let modules = py.import("sys")?.getattr("modules")?;
    if modules.contains("torch.utils.data")? {
        py.import("tarflume.arrays")?.getattr("_teach_torch")?.call0()?;
        TAUGHT.store(true, Ordering::Relaxed);
    }
    Ok(())
}

impl ArrayDataset {
    /// Reads rows into a column.
    fn column(&self, py: Python<'_>, rows: &[u64], shape: &[usize]) -> PyResult<Column> {
        let mut bytes = vec![0u8; rows.len() * self.array.row_bytes()];
        py.detach(|| self.array.read_rows(rows, &mut bytes)).or_raise(py)?;
        Ok(Column::new(Arc::new(VecMemory(bytes)), self.array.dtype(), shape))
    }

    /// The array, whose file is shared.
    pub(crate) fn rows(&self) -> tarflume::ArrayDataset {
        self.array.clone()
    }

    fn shape_of(&self, rows: usize) -> Vec<usize> {
        [&[rows], self.array.row_shape()].concat()
    }
}

#[pymethods]
impl ArrayDataset {
    #[new]
    #[pyo3(signature = (path, name=None, *, dtype=None, shape=None, offset=0, memory_limit=None, storage=None, **unknown),
           text_signature = "(path, name=None, *, dtype=None, shape=None, offset=0, memory_limit=None, storage=None)")]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    fn new(
        py: Python<'_>,
        path: PathBuf,
        name: Option<String>,
        #[pyo3(from_py_with = words::some_dtype_word)] dtype: Option<&str>,
        shape: Option<Shape>,
        offset: u64,
        memory_limit: Option<String>,
        storage: Option<&Bound<'_, PyAny>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ArrayDataset> {
        unknown_keywords::refuse::<ArrayDataset>(py, unknown)?;
        let storage = storage::pairs(py, storage)?;
        let shape = shape.map(|Shape(shape)| shape);
        let raw = dtype.map(|dtype| (dtype.to_string(), shape.clone().unwrap_or_default(), offset));
        let kept = memory_limit.as_deref().unwrap_or(KEPT).parse::<Size>().or_raise(py)?;
        let array = match (&name, &raw) {
            (Some(name), None) => named(py, &path, name, kept, &storage)?,
            (None, Some((dtype, shape, offset))) => {
                let dtype = words::dtype(py, dtype)?;
                tarflume::ArrayDataset::raw(&path, dtype, shape, *offset).or_raise(py)?
            }
            (None, None) if shape.is_none() => {
                match py.detach(|| zarr(&path, "", &storage)).map_err(|e| refused(py, e))? {
                    Some(found) => opened(py, &path, "", kept, found)?,
                    None => tarflume::ArrayDataset::open(&path).or_raise(py)?,
                }
            }
            (None, None) => return Err(usage(py, "shape= is of raw numbers, which need dtype=")),
            (Some(_), Some(_)) => {
                let text = "dtype= is of raw numbers; an array with a name has its own type";
                return Err(usage(py, text));
            }
        };
        Ok(ArrayDataset { array, path, name, raw, memory_limit, storage })
    }

    fn __len__(&self) -> usize {
        self.array.len() as usize
    }

    /// Rows, then the shape of a row.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape_of(self.array.len() as usize))
    }

    /// The type of an element, by its NumPy name.
    #[getter]
    fn dtype(&self) -> &'static str {
        words::dtype_name(self.array.dtype())
    }

    /// The number of rows that are decoded together; None if rows are in the file as they are.
    #[getter]
    fn block_rows(&self) -> Option<u64> {
        self.array.block_rows()
    }

    /// One row, or the rows of a slice, of a list of row numbers, or of a mask, as a column. A row that is a number is
    /// NumPy's.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        teach_torch(py)?;
        let rows = match RowIndex::of(index, self.array.len())? {
            RowIndex::One(row) => {
                let shape = self.array.row_shape();
                let row = Bound::new(py, self.column(py, &[row], shape)?)?.into_any();
                // NumPy has no number of this type.
                let is_number = shape.is_empty() && self.array.dtype() != DType::Bf16;
                return if is_number { row.call_method0("numpy")?.get_item(()) } else { Ok(row) };
            }
            RowIndex::Several(rows) => rows,
        };
        Ok(Bound::new(py, self.column(py, &rows, &self.shape_of(rows.len()))?)?.into_any())
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_ref().map_or(String::new(), |name| format!(", {name:?}"));
        let shape = self.shape_of(self.array.len() as usize);
        format!(
            "tarflume.ArrayDataset({:?}{name}): {} {shape:?}",
            self.path.shown().to_string(),
            self.dtype()
        )
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<crate::arguments::constructor_args::NewArgs<'py>> {
        let words = PyDict::new(py);
        if let Some(limit) = &self.memory_limit {
            words.set_item("memory_limit", limit)?;
        }
        if !self.storage.is_empty() {
            words.set_item("storage", self.storage.iter().cloned().collect::<HashMap<_, _>>())?;
        }
        if let Some((dtype, shape, offset)) = &self.raw {
            words.set_item("dtype", dtype)?;
            words.set_item("shape", shape)?;
            words.set_item("offset", offset)?;
        }
        let name = self.name.clone();
        // A path of Python would lose a slash of a URL.
        let place = match url_of(&self.path) {
            Some(url) => (url, name).into_pyobject(py)?,
            None => (self.path.clone(), name).into_pyobject(py)?,
        };
        Ok((place, words))
    }
}

/// A rank, counted from 0, and the number of ranks: in Python `(rank, world)`.
struct RankOfWorld {
    rank: u64,
    world: u64,
}

impl<'a, 'py> FromPyObject<'a, 'py> for RankOfWorld {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (rank, world) = object.extract()?;
        Ok(RankOfWorld { rank, world })
    }
}

/// The batches of one epoch: dicts of columns. Made by `tarflume.ArrayLoader`.
#[pyclass(frozen, module = "tarflume._core")]
pub struct ArrayBatches {
    batches: Mutex<tarflume::ArrayBatches>,
    /// Name, type and row shape of each column.
    columns: Vec<(String, DType, Vec<usize>)>,
}

#[pymethods]
impl ArrayBatches {
    #[new]
    #[pyo3(signature = (arrays, batch, *, seed, epoch, rank, drop_last, first, threads))]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    fn new(
        py: Python<'_>,
        arrays: &Bound<'_, PyDict>,
        batch: u64,
        seed: Option<u64>,
        epoch: u64,
        rank: RankOfWorld,
        drop_last: bool,
        first: u64,
        threads: usize,
    ) -> PyResult<ArrayBatches> {
        let mut columns = Vec::new();
        let mut opened = Vec::new();
        for (name, array) in arrays {
            let array = array.cast::<ArrayDataset>()?.get().array.clone();
            columns.push((name.extract()?, array.dtype(), array.row_shape().to_vec()));
            opened.push(array);
        }
        let RankOfWorld { rank, world } = rank;
        let order = ArrayOrder { batch, seed, epoch, rank: (rank, world), drop_last };
        let batches = tarflume::ArrayBatches::new(opened, order, first, threads).or_raise(py)?;
        Ok(ArrayBatches { batches: Mutex::new(batches), columns })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let batch =
            py.detach(|| self.batches.lock().unwrap_or_else(PoisonError::into_inner).next());
        let Some(batch) = batch else { return Ok(None) };
        let batch = batch.or_raise(py)?;
        let made = PyDict::new(py);
        for ((name, dtype, row), bytes) in self.columns.iter().zip(batch.columns) {
            let shape = [&[batch.rows.len()], row.as_slice()].concat();
            made.set_item(name, Column::new(Arc::new(VecMemory(bytes)), *dtype, &shape))?;
        }
        made.set_item("row", Column::numbers(batch.rows))?;
        Ok(Some(made))
    }

    fn __length_hint__(&self) -> usize {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.remaining() as usize
    }
}
