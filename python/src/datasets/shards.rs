//! `Dataset`: open shards with their sidecars, and samples by number and by key.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString};
use tarflume::{ClassTable, Shards, Storage};
use tarflume_formats::IgnorePoison;
use tarflume_formats::message;

use crate::arguments::numbers::Number;
use crate::arguments::storage::{self, Pairs};
use crate::batches::batch::{key_bytes, key_text};
use crate::batches::column::{Column, own};
use crate::batches::table::Table;
use crate::datasets::selecting::{self, Selection};
use crate::faults::errors::{OrRaise, usage};
use crate::faults::json::from_json;
use crate::faults::recognized::explained;
use crate::faults::{unknown_keywords, url};

/// A data set: a folder of shards, a `dataset.json`, one tar, a pattern (`"shards/{000..765}.tar"`,
/// `"shards/*.tar"`), or a list of these. It takes little memory, and processes share it: sidecars are
/// mapped, not parsed.
///
/// `dataset[n]` is sample `n` as a dict of `bytes`, with `"__key__"`; `dataset["key"]` is the sample with
/// this key, and `dataset[10:20]` a list of samples.
///
/// `split`: the samples of one split (`splits` lists all). `version`: the data set as it was after this
/// number of builds, without those that `pack append` added later.
///
/// A data set in an object store is named by its URL: `s3://`, `gs://`, `az://`, `hf://datasets/`,
/// `https://`; a file `NAME.urls` is a list of presigned URLs. Credentials and
/// endpoints come from the environment, as the tools of the stores read them; `storage` is a dict of what to use instead,
/// such as `{"endpoint": ..., "profile": ..., "anonymous": True}`; its `readahead` limits the bytes that are fetched
/// ahead ("256MiB"), and its `hole` is how many bytes of a JPEG that no crop needs are fetched to save a request
/// ("128KiB"). Pickling includes it. `cache`: the size of a cache on a local disk ("200GiB") that all processes of
/// this machine share; its folder is `TARFLUME_CACHE`, or `"cache_folder"` of `storage`.
#[pyclass(frozen, module = "tarflume")]
pub struct Dataset {
    /// As it was opened; see [`Dataset::here`].
    dataset: tarflume::Dataset,
    /// The process that has opened it, and the data set in a process that was forked from that one.
    process: u32,
    forked: Mutex<Option<(u32, tarflume::Dataset)>>,
    /// The paths that it was opened with, for pickling.
    named: Option<Vec<PathBuf>>,
    part: DataPart,
    storage: Pairs,
}

/// The part of a data set that is read: one split, or the first builds.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataPart {
    pub(crate) split: Option<String>,
    pub(crate) version: Option<usize>,
}

impl DataPart {
    /// This part of a data set.
    pub(crate) fn of(&self, dataset: &tarflume::Dataset) -> tarflume::Result<tarflume::Dataset> {
        let dataset = match self.version {
            Some(version) => dataset.version(version)?,
            None => dataset.clone(),
        };
        match &self.split {
            Some(split) => dataset.split(split).map_err(|error| match split.as_str() {
                "sample" | "shard" => tarflume::Error::usage(message!(
                    "{told}; divide=\"{split}\" is how ranks divide the data set";
                    told = error.message()
                )),
                _ => error,
            }),
            None => Ok(dataset),
        }
    }
}

/// Classes as a dict of names by id.
pub(crate) fn class_names<'py>(
    py: Python<'py>,
    classes: Option<&ClassTable>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(classes) = classes else { return Ok(None) };
    let made = PyDict::new(py);
    for (place, name) in classes.names.iter().enumerate() {
        made.set_item(classes.id(place), name)?;
    }
    Ok(Some(made))
}

/// The arguments of the constructor: paths, split, version, storage.
type NewArgs = (Vec<PathBuf>, Option<String>, Option<usize>, HashMap<String, String>);

/// Opens the value of a `shards` argument. `storage`: see [`storage`].
pub(crate) fn open(
    py: Python<'_>,
    shards: &Bound<'_, PyAny>,
    storage: &[(String, String)],
) -> PyResult<tarflume::Dataset> {
    if let Ok(dataset) = shards.cast::<Dataset>() {
        return dataset.get().here(py).map(Cow::into_owned);
    }
    let paths = paths(py, shards)?;
    let storage = storage::storage(py, storage)?;
    let opened = py.detach(|| {
        let opened = tarflume::Dataset::open_with(Shards::from(&paths[..]), &storage);
        opened.map_err(|error| explained(error, &paths))
    });
    opened.or_raise(py)
}

fn paths(py: Python<'_>, shards: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if let Ok(path) = shards.extract::<PathBuf>() {
        return Ok(vec![url::restored(path)]);
    }
    let paths = shards.extract::<Vec<PathBuf>>().map_err(|_| {
        usage(
            py,
            "shards are a folder, a dataset.json, a tar, a pattern, a URL, or a list of these",
        )
    })?;
    Ok(paths.into_iter().map(url::restored).collect())
}

impl Dataset {
    /// The data set for the calling process. Connections to a store belong to the process that has opened them, so a
    /// forked child opens the data set again.
    ///
    /// # Errors
    /// In a forked child: the store refuses or does not answer, or has other data now.
    pub(crate) fn here(&self, py: Python<'_>) -> PyResult<Cow<'_, tarflume::Dataset>> {
        let process = std::process::id();
        if process == self.process || !self.dataset.is_remote() {
            return Ok(Cow::Borrowed(&self.dataset));
        }
        let known = self.forked.lock().ignore_poison().clone();
        if let Some((_, dataset)) = known.filter(|(owner, _)| *owner == process) {
            return Ok(Cow::Owned(dataset));
        }
        let dataset = self.again(py)?;
        let older = self.forked.lock().ignore_poison().replace((process, dataset.clone()));
        std::mem::forget(older); // what another process has opened is not closed here
        Ok(Cow::Owned(dataset))
    }

    /// Opens the data set again, which must be the same.
    fn again(&self, py: Python<'_>) -> PyResult<tarflume::Dataset> {
        let Some(named) = self.named.clone() else {
            let text = "this data set was made from another one before the process was forked, and cannot be opened \
                        again: open it from its URL";
            return Err(usage(py, text));
        };
        let storage = storage::storage(py, &self.storage)?;
        py.detach(|| self.reopened(Shards::from(named), &storage)).or_raise(py)
    }

    fn reopened(&self, named: Shards, storage: &Storage) -> tarflume::Result<tarflume::Dataset> {
        let opened = tarflume::Dataset::open_with(named, storage)?;
        let opened = self.part.of(&opened)?;
        if opened.fingerprint()? == self.dataset.fingerprint()? {
            return Ok(opened);
        }
        let text =
            "the data set is not the one that the parent process has opened; open it in the child";
        Err(tarflume::Error::new(tarflume::ErrorKind::Stale, text))
    }

    fn ordinal(&self, n: isize) -> PyResult<u64> {
        let len = self.dataset.len();
        let at = if n < 0 { (n as i64).checked_add_unsigned(len) } else { Some(n as i64) };
        match at {
            Some(at) if at >= 0 && (at as u64) < len => Ok(at as u64),
            _ => Err(PyIndexError::new_err(format!("sample {n} of {len}"))),
        }
    }

    fn numbered<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyDict>> {
        let ordinal = self.ordinal(n)?;
        let data = self.here(py)?;
        let sample = py.detach(|| data.get(ordinal)).or_raise(py)?;
        self.sample(py, &sample)
    }

    fn keyed<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let py = key.py();
        let bytes = key_bytes(key)?;
        let data = self.here(py)?;
        let found = py.detach(|| data.get_key(&bytes)).or_raise(py)?;
        let sample = found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))?;
        self.sample(py, &sample)
    }

    fn sample<'py>(
        &self,
        py: Python<'py>,
        sample: &tarflume::DatasetSample,
    ) -> PyResult<Bound<'py, PyDict>> {
        let class = py.import("tarflume.samples")?.getattr("Sample")?;
        let made = class.call0()?.cast_into::<PyDict>()?;
        made.set_item("__key__", key_text(py, sample.key())?)?;
        for part in sample.parts() {
            made.set_item(part.ext(), PyBytes::new(py, part.bytes().as_slice()))?;
        }
        Ok(made)
    }
}

#[pymethods]
impl Dataset {
    #[new]
    #[pyo3(signature = (shards, split=None, version=None, storage=None, cache=None, **unknown),
           text_signature = "(shards, split=None, version=None, storage=None, cache=None)")]
    fn new(
        py: Python<'_>,
        shards: &Bound<'_, PyAny>,
        split: Option<String>,
        version: Option<Number<usize>>,
        storage: Option<&Bound<'_, PyAny>>,
        cache: Option<&Bound<'_, PyAny>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Dataset> {
        unknown_keywords::refuse::<Dataset>(py, unknown)?;
        let named = paths(py, shards).ok();
        let part = DataPart { split, version: version.map(|n| n.0) };
        let storage = storage::pairs_with_cache(py, storage, cache)?;
        let dataset = part.of(&open(py, shards, &storage)?).or_raise(py)?;
        let process = std::process::id();
        Ok(Dataset { dataset, process, forked: Mutex::default(), named, part, storage })
    }

    /// The classes, names by id, or None: those that `pack build --label` found.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        class_names(py, self.dataset.classes())
    }

    /// What the numbers of boxes, polygons and keypoints mean, or None: a dict of `boxes` ("xywh", "xyxy" or "cxcywh"),
    /// `relative` (whether coordinates are 0 to 1 instead of pixels; absent if not), and `keypoints` (`points`, `values`,
    /// `names`, `skeleton`, `flip`). A build with annotations writes it into dataset.json.
    #[getter]
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.dataset.objects().map(|objects| from_json(py, objects)).transpose()
    }

    /// The names of the splits.
    #[getter]
    fn splits(&self) -> Vec<&str> {
        self.dataset.splits()
    }

    /// The number of builds: 1, and 1 for each `pack append`; 0 without a single manifest.
    #[getter]
    fn builds(&self) -> usize {
        self.dataset.builds()
    }

    /// The number of samples and the bytes of the tar of each shard.
    #[getter]
    fn shard_sizes(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        let data = self.here(py)?;
        let sizes = data.shards().iter().map(|shard| Ok((shard.samples(), shard.bytes()?)));
        sizes.collect::<tarflume::Result<Vec<_>>>().or_raise(py)
    }

    fn __len__(&self) -> usize {
        self.dataset.len() as usize
    }

    /// A sample as a dict: `"__key__"`, and the bytes of each part by its extension. `which` is the number of
    /// a sample, its key, or a slice, which gives a list of samples.
    fn __getitem__<'py>(&self, which: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = which.py();
        if which.is_instance_of::<PyString>() || which.is_instance_of::<PyBytes>() {
            return Ok(self.keyed(which)?.into_any());
        }
        if let Ok(slice) = which.cast::<PySlice>() {
            let range = slice.indices(self.dataset.len() as isize)?;
            let list = PyList::empty(py);
            for n in 0..range.slicelength as isize {
                list.append(self.numbered(py, range.start + n * range.step)?)?;
            }
            return Ok(list.into_any());
        }
        match which.extract::<isize>() {
            Ok(n) => Ok(self.numbered(py, n)?.into_any()),
            Err(_) => {
                let text = format!(
                    "a data set takes the number of a sample, its key, or a slice, not {}",
                    which.repr()?
                );
                Err(PyTypeError::new_err(text))
            }
        }
    }

    /// True if a sample has this key.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !key.is_instance_of::<PyString>() && !key.is_instance_of::<PyBytes>() {
            return Ok(false);
        }
        let py = key.py();
        let bytes = key_bytes(key)?;
        let data = self.here(py)?;
        Ok(py.detach(|| data.find(&bytes)).or_raise(py)?.is_some())
    }

    /// Sample `n` with these parts only; the others are not read.
    fn get<'py>(
        &self,
        py: Python<'py>,
        n: isize,
        parts: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ordinal = self.ordinal(n)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let data = self.here(py)?;
        let sample = py.detach(|| data.get_parts(ordinal, &parts)).or_raise(py)?;
        self.sample(py, &sample)
    }

    /// The sample with this key.
    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.keyed(key)
    }

    /// The key of sample `n`.
    fn key<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyAny>> {
        key_text(py, &self.here(py)?.key(self.ordinal(n)?).or_raise(py)?)
    }

    /// Each extension, and the number of samples that have it.
    fn extensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for (ext, samples) in self.here(py)?.extensions().or_raise(py)? {
            made.set_item(ext, samples)?;
        }
        Ok(made)
    }

    /// The samples as a table, for Arrow: see `Table`. `polars.DataFrame(dataset.table())`,
    /// `pyarrow.table(dataset.table())`, or `duckdb.sql("select key from table")` with a variable `table`.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        Table::new(py, &*self.here(py)?)
    }

    /// The samples that a table selects: one of polars, DuckDB, pandas, pyarrow or others with a column
    /// `ordinal` or `key`, a list or an array of keys or of ordinals, or an array of booleans.
    fn select(&self, table: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let data = self.here(table.py())?;
        let subset = selecting::selected(&data, table, "select()")?;
        Ok(Selection { subset })
    }

    /// The whole number of each sample in `part`, a pointer into the JSON part such as "/class", or a part that
    /// contains the number, such as "cls": int64. The first call reads these parts of all samples.
    fn numbers(&self, py: Python<'_>, part: &str) -> PyResult<Column> {
        let data = self.here(py)?;
        let numbers = py.detach(|| data.numbers(part)).or_raise(py)?;
        let shape = [numbers.len()];
        Ok(own(numbers.to_vec(), tarflume::DType::I64, &shape))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table(py)?.__arrow_c_schema__(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.table(py)?.__arrow_c_stream__(py, requested_schema)
    }

    /// Paths of the shards, in order; URLs as `str` if they are in a store.
    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.dataset.shards().iter().map(|shard| url::path(py, shard.path())).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, NewArgs)> {
        let Some(named) = slf.get().named.clone() else {
            return Err(usage(
                slf.py(),
                "this data set was made from another one and cannot be pickled: open it from its paths",
            ));
        };
        let DataPart { split, version } = slf.get().part.clone();
        let storage = slf.get().storage.iter().cloned().collect();
        Ok((slf.get_type().into_any(), (named, split, version, storage)))
    }

    /// Thumbnails and parts of the first samples, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tarflume.notebook")?.getattr("_dataset")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        let samples = self.dataset.len();
        let shards = self.dataset.shards();
        let first = shards.first().and_then(|shard| shard.path().parent());
        let folder = first.map_or_else(String::new, |folder| format!(" in {}", folder.display()));
        format!("Dataset({samples} samples, {} shards{folder})", shards.len())
    }
}
