//! `Batch`: a mapping from names to columns.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyString};
use tarflume::DeviceBatch;
use tarflume::internal::ObjectRows;

use crate::arguments::words::dtype_name;
use crate::batches::bucket_column::of_bucket;
use crate::batches::column::{Column, of_batch};
use crate::batches::device::{DeviceColumn, stream_of};
use crate::batches::device_ragged::DeviceRagged;
use crate::batches::draws::{self, Given};
use crate::batches::objects;
use crate::batches::ragged::Ragged;
use crate::batches::table::RecordBatch;
use crate::buffers::memory::{KEY, ROW};
use crate::faults::errors::{OrRaise, usage};
use tarflume_formats::IgnorePoison;

/// Some samples, decoded: a mapping from names to columns.
///
/// `batch["image"]` is a `Column`, columns of files and texts are `Ragged`, `batch["key"]` is a list
/// of `str`. Columns are views: each keeps the batch's memory as long as it lives. With `Loader(device=)`,
/// columns whose rows have one length are `DeviceColumn`s, and those of objects, such as boxes, `DeviceRagged`. `batch.host` has all columns in host memory; of
/// those that the GPU computed (`batch.device_columns`) it has the input.
#[pyclass(frozen, mapping, module = "tarflume")]
pub struct Batch {
    batch: Arc<tarflume::Batch>,
    /// The batch in device memory, of a loader with a device; `None` inside after `release`.
    device: Option<Mutex<Option<Arc<DeviceBatch>>>>,
    /// Names of the columns that the device computed.
    computed: Vec<String>,
    given: Given,
}

impl Batch {
    pub(crate) fn new(batch: tarflume::Batch, given: Given) -> Batch {
        Batch { batch: Arc::new(batch), device: None, computed: Vec::new(), given }
    }

    pub(crate) fn on_device(batch: DeviceBatch, given: Given) -> Batch {
        let host = batch.host_shared();
        let batch = Arc::new(batch);
        let computed = host.names().filter(|name| batch.makes(name)).map(str::to_string).collect();
        Batch { batch: host, device: Some(Mutex::new(Some(batch))), computed, given }
    }

    /// The column in device memory; `None` if it is in host memory.
    fn column_there<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(device) = &self.device else { return Ok(None) };
        let held = device.lock().ignore_poison().clone();
        let batch = held.ok_or_else(|| usage(py, "this batch was released"))?;
        if let Ok(column) = batch.column(name) {
            return Ok(Some(Bound::new(py, DeviceColumn::new(&batch, column))?.into_any()));
        }
        let Ok(values) = batch.objects(name) else { return Ok(None) };
        let host = Ragged::new(&self.batch, name, false, self.given.objects(name));
        Ok(Some(Bound::new(py, DeviceRagged::new(&batch, values, host))?.into_any()))
    }

    /// # Errors
    /// A column exists in GPU memory only.
    fn check_host(&self, py: Python<'_>) -> PyResult<()> {
        let Some(name) = self.computed.first() else { return Ok(()) };
        let text = format!(
            "column {name:?} was computed on the GPU and exists in its memory only: \
             torch.from_dlpack(batch[{name:?}]).cpu() copies it, and batch.host has the input"
        );
        Err(usage(py, text))
    }

    /// A column in a `repr`.
    fn described(&self, column: &tarflume::Column<'_>) -> String {
        let name = column.name();
        let dtype = dtype_name(column.dtype());
        let ragged = column.offsets().is_some();
        if self.given.is_text(name) {
            format!("{name} str")
        } else if ragged {
            format!("{name} {dtype} of different lengths")
        } else {
            format!("{name} {dtype} {:?}", column.shape())
        }
    }

    /// The name of the column that says which sample is in each row.
    fn identity(&self) -> &'static str {
        if self.given.of_arrays { ROW } else { KEY }
    }

    /// The keys of the samples, or the numbers of rows of arrays.
    fn identities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.given.of_arrays {
            let numbers = self.batch.ordinals().map(|number| number as i64).collect();
            return Ok(Bound::new(py, Column::signed(numbers))?.into_any());
        }
        Ok(self.keys_of_rows(py)?.into_any())
    }

    fn names(&self) -> Vec<&str> {
        self.batch.names().chain([self.identity()]).collect()
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name == self.identity() {
            return self.identities(py);
        }
        let found = self.batch.column(name).map_err(|_| {
            let names = self.names().join(", ");
            PyKeyError::new_err(format!("no column {name:?}; there are {names}"))
        })?;
        if let Some(column) = self.column_there(py, name)? {
            return Ok(column);
        }
        if self.given.is_sized_by_bucket(name) {
            let is_plane = self.given.objects(name).is_some();
            return Ok(Bound::new(py, of_bucket(py, &self.batch, name, is_plane)?)?.into_any());
        }
        if found.offsets().is_some() {
            let text = self.given.is_text(name);
            let objects = self.given.objects(name);
            return Ok(Bound::new(py, Ragged::new(&self.batch, name, text, objects))?.into_any());
        }
        Ok(Bound::new(py, of_batch(py, &self.batch, name)?)?.into_any())
    }

    /// The columns that the loader was given, in their order.
    pub(crate) fn given<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.batch.names().map(|name| self.column(py, name)).collect()
    }

    /// Names and columns, with the keys.
    pub(crate) fn all<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let mut all = Vec::new();
        for name in self.names() {
            all.push((name.to_string(), self.column(py, name)?));
        }
        Ok(all)
    }

    fn keys_of_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys = (0..self.batch.len()).map(|row| self.batch.key(row));
        let keys: PyResult<Vec<_>> = keys.map(|key| key_text(py, key)).collect();
        PyList::new(py, keys?)
    }
}

/// A key as Python represents file names: bytes that are not UTF-8 become surrogates.
pub(crate) fn key_text<'py>(py: Python<'py>, key: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(text) = std::str::from_utf8(key) {
        return Ok(PyString::new(py, text).into_any());
    }
    let bytes = pyo3::types::PyBytes::new(py, key);
    bytes.call_method1("decode", ("utf-8", "surrogateescape"))
}

/// The bytes of a key that Python gives as text or as bytes: the inverse of [`key_text`].
pub(crate) fn key_bytes(key: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = key.cast::<pyo3::types::PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    key.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()
}

/// An index as it is written between brackets.
fn between_brackets(index: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(slice) = index.cast::<PySlice>() else { return Ok(index.repr()?.to_string()) };
    Ok(format!("{}:{}", end_of(slice, "start")?, end_of(slice, "stop")?))
}

/// An end of a slice as it is written; empty if it has none.
fn end_of(slice: &Bound<'_, PySlice>, name: &str) -> PyResult<String> {
    let end = slice.getattr(name)?;
    if end.is_none() { Ok(String::new()) } else { Ok(end.repr()?.to_string()) }
}

/// A list of rows; those that are arrays become NumPy arrays.
fn arrays<'py>(list: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let rows = list.try_iter()?.map(|row| {
        let row = row?;
        if row.hasattr("numpy")? { row.call_method0("numpy") } else { Ok(row) }
    });
    let rows = rows.collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(list.py(), rows)?.into_any())
}

#[pymethods]
impl Batch {
    /// The number of samples. It is less than `batch_size` in the last batch of an epoch, and where bad
    /// samples were skipped.
    #[getter]
    pub(crate) fn rows(&self) -> usize {
        self.batch.len()
    }

    /// The number of the epoch.
    #[getter]
    pub(crate) fn epoch(&self) -> u64 {
        self.batch.epoch()
    }

    /// The number of the batch in the epoch, from 0, counted from where the epoch started or was resumed.
    #[getter]
    pub(crate) fn step(&self) -> u64 {
        self.batch.step()
    }

    /// The number of each row's sample in the data set: uint64.
    #[getter]
    fn ordinals(&self) -> Column {
        Column::numbers(self.batch.ordinals().collect())
    }

    /// True for each row of the last batch that repeats a sample of this epoch: see `drop_last`.
    #[getter]
    fn padding(&self) -> Vec<bool> {
        self.batch.rows().map(|row| row.padding).collect()
    }

    /// The number of packs, which are the rows of packed columns; `None` without `Loader(pack=)`.
    #[getter]
    fn packs(&self) -> Option<usize> {
        self.batch.packs()
    }

    /// The number of each sample's pack in the batch: uint64.
    #[getter]
    fn pack_of_row(&self) -> Column {
        Column::numbers(self.batch.rows().map(|row| u64::from(row.pack)).collect())
    }

    /// The bounds of the documents of all packs, for attention over sequences of different lengths: a list of whole numbers,
    /// from 0 to the number of all tokens. `column` has the number of the document of each token, 0 for padding. The padding of a
    /// pack counts as one document.
    #[pyo3(signature = (column = "segment_ids"))]
    fn cu_seqlens(&self, py: Python<'_>, column: &str) -> PyResult<Vec<i32>> {
        self.batch.cu_seqlens(column).or_raise(py)
    }

    /// The same batch with all columns in host memory; the batch itself without a device.
    #[getter]
    fn host(slf: &Bound<'_, Self>) -> PyResult<Py<Batch>> {
        let batch = slf.get();
        if batch.device.is_none() {
            return Ok(slf.clone().unbind());
        }
        let host = batch.batch.clone();
        let given = batch.given.clone();
        Py::new(slf.py(), Batch { batch: host, device: None, computed: Vec::new(), given })
    }

    /// Names of the columns that the GPU computed, and that exist in its memory only: pictures that it
    /// converted, cropped or decoded, and rows of a resident data set.
    #[getter]
    fn device_columns(&self) -> Vec<String> {
        self.computed.clone()
    }

    /// What recipes drew, of a loader with `keep_transforms=True`: for each column of pictures that has a recipe, a list of
    /// actions for each row, such as `[{"crop": {"top": 3, "left": 0, "height": 80, "width": 90}}, {"horizontal_flip": {}}]`.
    /// `tarflume.transforms.apply` applies them to the decoded picture, upright and in its full size. A row that was mixed
    /// with another one of the batch ends with `{"mixup": {"partner": row, "lam": weight}}` or with `{"cutmix": {"partner":
    /// row, "lam": weight, "top": ..., "left": ..., "height": ..., "width": ...}}`.
    fn transforms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        draws::transforms(py, &self.batch, &self.given)
    }

    /// What lies on each picture, of a loader with `boxes=`, `masks=` or `keypoints=`: a dict for each row, with the columns of
    /// annotations by their names: `{"boxes": Column [objects, 4], "labels": Column [objects], ...}`. Each is a view. With
    /// `Loader(device=)` they are `DeviceColumn`s.
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut columns = Vec::new();
        for name in self.given.names() {
            let objects = self.given.objects(name);
            if matches!(objects, Some(ObjectRows::Numbers(_) | ObjectRows::Masks)) {
                columns.push((name, self.column(py, name)?));
            }
        }
        objects::targets(py, &columns, self.batch.len())
    }

    /// Returns the device memory to the loader once all views are dropped, too. `stream` also used it: a
    /// number as DLPack defines it, or a stream of PyTorch or CuPy. Does nothing in host memory.
    #[pyo3(signature = (stream = None))]
    fn release(&self, py: Python<'_>, stream: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream.map(|stream| stream_of(Some(&stream))).transpose()?.flatten();
        let Some(device) = &self.device else { return Ok(()) };
        let held = device.lock().ignore_poison().take();
        if let (Some(batch), Some(stream)) = (&held, stream) {
            batch.used_on(stream);
        }
        py.detach(|| drop(held));
        Ok(())
    }

    /// Registers `stream` as a further user of the memory. The memory is not written again before all work
    /// that is queued on the stream until the batch is dropped has finished. The caller orders the stream
    /// behind the copy. Needed for side streams that use a column which was taken with `stream=-1` or on
    /// another stream. Does nothing in host memory.
    fn used_on(&self, stream: Bound<'_, PyAny>) -> PyResult<()> {
        let stream = stream_of(Some(&stream))?;
        if let (Some(device), Some(stream)) = (&self.device, stream)
            && let Some(batch) = &*device.lock().ignore_poison()
        {
            batch.used_on(stream);
        }
        Ok(())
    }

    /// The number of samples, as `rows`; `len(batch.keys())` is the number of columns.
    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn __getitem__<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(text) = name.extract::<String>() else {
            let text = format!(
                "a batch takes the name of a column, and the column its rows: batch[{:?}][{}]",
                self.names()[0],
                between_brackets(name)?
            );
            return Err(PyTypeError::new_err(text));
        };
        self.column(name.py(), &text)
    }

    fn __getattr__(&self, name: &str) -> PyResult<()> {
        let mut text = format!("'Batch' object has no attribute '{name}'");
        if self.names().contains(&name) {
            text += &format!("; a column is taken by its name: batch[{name:?}]");
        } else if matches!(name, "to" | "cuda" | "cpu" | "pin_memory") {
            text += "; Loader(device=\"cuda\") delivers batches in GPU memory, and the batches of \
                     tarflume.torch.Loader are dicts of tensors";
        } else if !name.starts_with('_') {
            let columns: Vec<String> =
                self.names().iter().map(|column| format!("batch[{column:?}]")).collect();
            text += &format!("; its columns are {}", columns.join(", "));
        }
        Err(PyAttributeError::new_err(text))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.names().contains(&name.as_str()))
    }

    /// Names of all columns. Unpacking into several variables, `images, labels = batch`, is an error.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = self.keys(py)?;
        py.import("tarflume.unpacking")?.getattr("_check")?.call1((&names,))?;
        Ok(names.try_iter()?.into_any())
    }

    /// Names of all columns.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.names())
    }

    /// All columns.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.names().into_iter().map(|name| self.column(py, name)).collect()
    }

    /// Names and columns.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        self.all(py)
    }

    /// The column of this name, or `default` if there is none.
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.names().contains(&name) { self.column(py, name).map(Some) } else { Ok(default) }
    }

    /// All columns as NumPy arrays in host memory, without a copy. Pictures of different sizes are a list of
    /// arrays; files, texts and keys are lists.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        slf.get().check_host(py)?;
        let host = Batch::host(slf)?;
        let host = host.get();
        let made = PyDict::new(py);
        for name in host.names() {
            let column = host.column(py, name)?;
            let column = if column.hasattr("numpy")? {
                column.call_method0("numpy")?
            } else if name == KEY {
                column
            } else {
                arrays(&column.call_method0("tolist")?)?
            };
            made.set_item(name, column)?;
        }
        Ok(made)
    }

    /// All columns as an Arrow record batch in host memory, without a copy, with columns `key` and `ordinal`:
    /// `pyarrow.record_batch(batch.arrow())`, `polars.DataFrame(batch.arrow())`.
    fn arrow(&self, py: Python<'_>) -> PyResult<RecordBatch> {
        self.check_host(py)?;
        RecordBatch::new(py, &self.batch, &self.given.texts)
    }

    /// Thumbnails and columns of the first rows, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tarflume.notebook")?.getattr("_batch")?.call1((slf,))
    }

    /// `Batch(32 rows of epoch 0, step 3: image uint8 [32, 224, 224, 3], label int64 [32], key)`
    fn __repr__(&self) -> String {
        let epoch = self.batch.epoch();
        let step = self.batch.step();
        let mut columns: Vec<String> =
            self.batch.columns().map(|column| self.described(&column)).collect();
        columns.push(self.identity().to_string());
        let columns = columns.join(", ");
        format!("Batch({} rows of epoch {epoch}, step {step}: {columns})", self.batch.len())
    }
}
