//! `Loader`: its Python class, and its statistics as a dict.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tarflume::LoaderState;

use crate::datasets::selecting::Selection;
use crate::datasets::shards::class_names;
use crate::faults::errors::{OrRaise, usage};
use crate::faults::json::{from_json, to_json};
use crate::loading::any_loader::AnyLoader;
use crate::loading::epoch::Epoch;
use crate::loading::keywords::loader_keywords::Keywords;
use crate::loading::ledger::Ledger;
use crate::loading::resident;
use crate::loading::settings::Settings;
use crate::loading::statistics::facts;
use tarflume_formats::IgnorePoison;
use tarflume_formats::message::Face;

/// Batches of a data set, epoch after epoch, made by threads in Rust.
///
/// ```python
/// loader = tarflume.Loader("shards/", batch_size=256, shuffle="full", seed=42,
///                          image=tarflume.RandomResizedCrop(224, flip=0.5), label="/class")
/// for epoch in range(90):
///     for batch in loader.epoch(epoch):            # batch["image"]: uint8 [256, 224, 224, 3]
///         images = torch.from_dlpack(batch["image"])
/// ```
///
/// Data and columns:
///
/// - `shards`: a folder, a `dataset.json`, a tar, a pattern, a list of these, or a `Dataset`. A list of
///   pairs, `[(shards, weight), ...]`, is a mixture; weights are whole numbers. A data set in an object store
///   is named by its URL (`"s3://bucket/set"`), with `storage` and `cache`: see `Dataset`. A dict of `ArrayDataset`s by
///   name is a loader of their rows: `Loader({"x": x, "y": y}, batch_size=256)` yields columns `x`, `y` and `row`, the
///   numbers of the rows; keywords for shards and parts are errors there.
/// - `image`: a transform (`RandomResizedCrop(224)`), a recipe of `tarflume.transforms`, or an `Image` with more options:
///   column `image`.
/// - `label`: `"/pointer"` into the JSON part (`"/class_name"` is numbered by the classes of the manifest), or a part that
///   contains a number, such as `"cls"`: column `label`.
/// - `views`: a `Views`: several pictures of each sample from one decoding, a column for each group of them.
/// - `boxes`: a `Boxes`, `masks`: a `Masks`, `keypoints`: a `Keypoints`, `mask`: a `Mask`: what lies on the picture of `image`
///   moves as it does. `Batch.targets()` has the objects of each picture.
/// - `columns`: `{"name": column}` for further columns. A column is a part's name (its bytes), an `Image`, `Json`,
///   `ClassLabel`, `Raw`, `Text`, `Npy` or `Tokens`, or `Apply(function, column)`, which calls your function for each sample.
///   A list of parts' names is allowed, too. Without all of these, all parts are columns of bytes.
/// - `mosaic`: a `tarflume.Mosaic`: one picture of four rows of each batch, with what lies on them.
/// - `copy_paste`: a `tarflume.CopyPaste`: objects of another row of the batch over a picture, by their masks.
/// - `mix`: a `tarflume.Mix`, MixUp and CutMix of each batch. It adds the column `target`.
/// - `split`: reads one split of the data set ("val"). `version`: reads the data set as it was after this
///   number of builds; `pack append` adds one.
/// - `select`: the samples that take part: a table of polars, DuckDB, pandas, pyarrow or others with a column
///   `ordinal` or `key`, a list or an array of keys or of ordinals, an array of booleans, or a `Selection`.
/// - `weights`: how often samples come. "/class" (a pointer into the JSON part, or a part such as "cls") draws
///   each class equally often; `{class: weight}` by whole numbers; an array of whole numbers, one for each
///   sample, draws each sample so many times in a pass. `classes`, a dict of numbers by text, numbers the texts of
///   `label`; otherwise it is where the class of each sample is found, if
///   it is not "/class": a pointer, a part, an array, or a table with a column `class`; `weights="balanced"` draws
///   these equally often.
/// - `exclude`: lists of keys to leave out. `skip`, `take`: a range of the data set. `repeat`: passes of an
///   epoch. `epoch_length`: samples of an epoch.
///
/// Batches and order:
///
/// - `batch_size`: rows of a batch on this rank.
/// - `bucket`: a `tarflume.Buckets`: all rows of a batch are of one bucket, such as pictures of one shape or texts of about one
///   length. `max_pixels` or `max_tokens`, the most of a batch on this rank, replace `batch_size`; or `batch_size` is a list
///   with the rows of each bucket. `same_bucket="step"`: the batches of all ranks are of one bucket in each step.
/// - `pack`: a `tarflume.Pack`: samples of different lengths fill packs of tokens, and `batch_size` is a number of packs. Columns
///   of `tarflume.Tokens` are `[batch_size, max_tokens]`; other columns have a row for each sample, and `batch.pack_of_row` is its
///   pack.
/// - `shuffle`: "none" or False; "shards"; "buffer" (`buffer_size` samples); "blocks" (runs of `block_size`
///   samples, `window` runs mixed exactly); "full" or True (exact, over the whole data set). `seed`: a
///   whole number that determines the order and all random crops.
/// - `rank`, `world_size`: this process and the number of processes. `divide="sample"` distributes the
///   samples of each batch, `divide="shard"` whole shards.
/// - `drop_last`: what happens to the samples that do not fill the last batch on all ranks. False delivers
///   them in a last batch that is shorter, by the same number of rows on all ranks. With several ranks,
///   the last ones repeat fewer than `world_size` samples from the beginning of the epoch, as PyTorch's
///   `DistributedSampler` does; `batch.padding` marks them, and `ledger()` does not count them. True leaves
///   the samples out. "pad" fills the last batch to `batch_size` rows with samples from the beginning of
///   the epoch. "uneven" delivers each sample once: ranks may differ by a row, and by a step.
///
/// Delivery:
///
/// - `deliver`: "batch" yields a `Batch`; "tuple" yields the columns in the order in which they were given,
///   `for images, labels in loader`; "dict" yields a dict of all columns, with the keys.
/// - `collate`: a function that is called with each of these, in the consumer's thread. The loader yields
///   what it returns. `stats()` shows its time as stage `transform`.
/// - `keep_transforms`: keeps what recipes draw, for `Batch.transforms()`. Each column with a recipe and one picture a row
///   gets one beside it: `image_draws`, uint64 `[batch, 3]`, the seed, the height and the width that
///   `tarflume.transforms.draw` takes; behind them, where the recipe draws with boxes, the bits of these. Columns of `Views`, `FiveCrop`, `TenCrop` and `BucketCrop` keep nothing.
///
/// Errors:
///
/// - `on_bad`: "error", "skip" (a smaller batch) or "substitute" (another sample, chosen by arithmetic).
///   `bad_budget`: the maximum number of bad samples.
/// - `verify`: compares checksums: "off", "sampled" or "all". By default "all" for a data set in an object store,
///   and "off" for files. Labels that the sidecars have are compared with the parts that they were copied from. A tar that
///   may have been changed after its sidecar was made, by the times of both files, is compared with it in any case.
///
/// Speed:
///
/// - `num_threads`: by default one for each core. `prefetch`: batches in preparation at once.
/// - `memory_limit`: of batches, buffers and decoders, as "2GiB". By default 2 GiB, or 48 MiB for each
///   thread and room for the batches if that is more.
/// - `source`: "file" reads shards, "mapped" maps them, "threads" reads them ahead by threads (for NFS, Lustre, FUSE).
/// - `device`: "cuda:1", or "cuda" for the GPU of this process (`stats()["device"]` contains which, and
///   why). Batches are decoded into pinned memory and copied to the GPU before they are needed, into
///   `device_slots` slots. Their columns are `DeviceColumn`s.
/// - `resident`: keeps the data set in the memory of that GPU (`Resident`, or its budget as "100GiB").
///
/// The order of samples is a function of data, seed, epoch and shuffle. It does not depend on threads,
/// rank, world size or batch size.
#[pyclass(frozen, module = "tarflume")]
pub struct Loader {
    settings: Settings,
    inner: Mutex<Option<Arc<AnyLoader>>>,
    /// The epoch of the next iteration, if one was set.
    next: Mutex<Option<u64>>,
    /// The arguments of the constructor, for pickling.
    shards: Py<PyAny>,
    words: Py<PyDict>,
}

impl Loader {
    fn held(&self) -> MutexGuard<'_, Option<Arc<AnyLoader>>> {
        self.inner.lock().ignore_poison()
    }

    fn inner(&self, py: Python<'_>) -> PyResult<Arc<AnyLoader>> {
        let found = py.detach(|| self.held().clone());
        found.ok_or_else(|| usage(py, "this loader is closed"))
    }

    fn begin(&self, py: Python<'_>, state: Option<LoaderState>) -> PyResult<()> {
        let made = py.detach(|| {
            // A device has no room for two resident data sets: the old one is freed first.
            let before = self.settings.resident.as_ref().and_then(|_| self.held().take());
            let kept = before.map(|before| before.state());
            let made = self.settings.build(state);
            if let (Err(_), Some(kept)) = (&made, kept) {
                *self.held() = Some(Arc::new(self.settings.build(Some(kept))?));
            }
            let before = self.held().replace(Arc::new(made?));
            drop(before);
            Ok::<(), tarflume::Error>(())
        });
        made.or_raise(py)
    }

    /// The batches of an epoch, after preloading a resident data set.
    fn begun(&self, py: Python<'_>, epoch: u64) -> PyResult<Epoch> {
        let inner = self.inner(py)?;
        preload(py, &inner, None)?;
        let running = py.detach(|| inner.epoch(epoch));
        let Settings { columns, delivery, .. } = &self.settings;
        Ok(Epoch::new(running, columns.clone(), delivery.clone()))
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (shards, **settings), text_signature = "(shards, *, batch_size=1, bucket=None, max_pixels=None, max_tokens=None, same_bucket='rank', pack=None, shuffle='none', \
           seed=0, image=None, label=None, views=None, boxes=None, masks=None, keypoints=None, mask=None, columns=None, split=None, version=None, rank=0, world_size=1, divide='sample', drop_last=False, \
           num_threads=None, prefetch=4, memory_limit=None, device=None, device_slots=3, resident=None, on_bad='error', bad_budget=1000, \
           verify=None, source='file', buffer_size=10000, block_size=256, window=64, exclude=None, \
           skip=0, take=None, repeat=1, epoch_length=None, deliver='batch', collate=None, \
           select=None, weights=None, classes=None, storage=None, cache=None, keep_transforms=False, mosaic=None, copy_paste=None, mix=None)")]
    fn new(
        py: Python<'_>,
        shards: &Bound<'_, PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Loader> {
        let words = settings.map_or_else(|| Ok(PyDict::new(py)), |words| words.copy())?;
        let settings = Settings::new(py, shards, Keywords::new(py, settings)?)?;
        if let Some(subset) = &settings.select {
            // A table may be readable once only.
            words.set_item("select", Bound::new(py, Selection { subset: subset.clone() })?)?;
        }
        let shards = shards.clone().unbind();
        let words = words.unbind();
        let loader =
            Loader { settings, inner: Mutex::new(None), next: Mutex::new(None), shards, words };
        loader.begin(py, None)?;
        Ok(loader)
    }

    /// The batches of epoch number `epoch`. The first call after `load_state_dict`, for the epoch of that
    /// state, continues where the state was taken; every other call starts at the beginning.
    fn epoch(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<Epoch> {
        self.begun(py, numbered(epoch)?)
    }

    /// Always raises `UsageError`: a loader cannot be the data set of a `torch.utils.data.DataLoader`, and it
    /// has no samples by number.
    fn __getitem__(&self, py: Python<'_>, _index: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(usage(py, INSTEAD))
    }

    /// Loads a resident data set into the memory of the GPU; otherwise the first epoch does. Calls
    /// `progress(samples loaded, all samples)` from time to time. Does nothing without `resident=`.
    #[pyo3(signature = (progress = None))]
    fn preload(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        preload(py, &*self.inner(py)?, progress.as_ref())
    }

    /// The epoch that iterating continues: the running one, that of the loaded state, or 0.
    #[getter]
    fn current_epoch(&self, py: Python<'_>) -> PyResult<u64> {
        let set = *self.next.lock().ignore_poison();
        let current = self.inner(py)?.current_epoch();
        Ok(set.unwrap_or(current))
    }

    /// Sets the epoch that iterating begins next, at its beginning or at a state of it that was loaded.
    fn set_epoch(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<()> {
        let epoch = numbered(epoch)?;
        self.inner(py)?;
        *self.next.lock().ignore_poison() = Some(epoch);
        Ok(())
    }

    /// The batches of the current epoch.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Epoch> {
        let epoch = self.current_epoch(py)?;
        *self.next.lock().ignore_poison() = None;
        self.begun(py, epoch)
    }

    /// Steps of an epoch on this rank.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.inner(py)?.steps().or_raise(py)? as usize)
    }

    /// Steps on this rank that `epoch(epoch)` would take now: less than `len()` for the epoch of a loaded state in which it was
    /// interrupted. Begins nothing.
    fn steps_of(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<u64> {
        let epoch = numbered(epoch)?;
        self.inner(py)?.steps_of(epoch).or_raise(py)
    }

    /// The samples of `select=`; None without it.
    #[getter]
    fn selection(&self) -> Option<Selection> {
        self.settings.select.clone().map(|subset| Selection { subset })
    }

    /// GPU memory of a resident data set, in bytes: `samples`, `sample_bytes`, `jpeg_bytes`, `bytes`,
    /// `budget`, `free` (when the loader was made). None without `resident=`.
    #[getter]
    fn resident<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner(py)?.resident().map(|fit| resident::fit(py, fit)).transpose()
    }

    /// The classes, names by id, or None: those that `pack build --label` found.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        class_names(py, self.settings.classes().as_ref())
    }

    /// What the numbers of boxes, polygons and keypoints mean, or None: a dict of `boxes` ("xywh", "xyxy" or "cxcywh"),
    /// `relative` (whether coordinates are 0 to 1 instead of pixels; absent if not), and `keypoints` (`points`, `values`,
    /// `names`, `skeleton`, `flip`). A build with annotations writes it into dataset.json.
    #[getter]
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.settings.objects().map(|objects| from_json(py, objects)).transpose()
    }

    /// Samples of an epoch, on all ranks together.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.order().epoch_samples())
    }

    /// The arguments of the constructor: the shards, and a dict of the keywords.
    #[getter]
    fn _arguments<'py>(&self, py: Python<'py>) -> PyResult<(&Py<PyAny>, Bound<'py, PyDict>)> {
        Ok((&self.shards, self.words.bind(py).copy()?))
    }

    /// The position of the whole job, as a dict of a few numbers and strings. It counts batches that were
    /// delivered, not those in preparation. It is the same on every rank that took as many batches: save
    /// one.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.inner(py)?.state())
    }

    /// Continues at the next sample of a saved state, with any rank, world size, batch size and number of
    /// threads. An epoch that is running does not change: close it before.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner(py)?;
        *self.next.lock().ignore_poison() = None;
        let text = to_json(state)?;
        self.begin(
            py,
            Some(text.parse::<LoaderState>().map_err(tarflume::Error::from).or_raise(py)?),
        )
    }

    /// The digest of all samples that this loader has delivered. Rows of padding are not counted.
    fn ledger(&self, py: Python<'_>) -> PyResult<Ledger> {
        Ok(Ledger(self.inner(py)?.ledger()))
    }

    /// The sum of the ledgers of all ranks after one whole epoch; with `divide="shard"`, the ledger of this
    /// rank.
    fn expected(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<Ledger> {
        let epoch = numbered(epoch)?;
        let inner = self.inner(py)?;
        py.detach(|| inner.expected(epoch)).map(Ledger).or_raise(py)
    }

    /// Where the time goes, and the bottleneck: a dict that prints as a table.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.inner(py)?.stats();
        let class = py.import("tarflume.statistics")?.getattr("Stats")?;
        class.call1((facts(py, &stats)?, stats.in_face(Face::Python).to_string()))
    }

    /// All bad samples so far: dicts of path, byte, key, reason, ordinal.
    fn bad_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.inner(py)?.bad_samples_in(Face::Python))
    }

    /// Writes the bad samples to a file that `exclude=` and `pack build --exclude @FILE` read.
    fn write_bad_samples(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let inner = self.inner(py)?;
        py.detach(|| inner.write_bad_samples(&path)).or_raise(py)
    }

    /// Ends all work and frees the memory. Batches that were delivered stay valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let inner = self.held().take();
            drop(inner);
        });
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// Unpickling makes a separate loader at the same position.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let loader = slf.get();
        let again = py.import("tarflume.loading")?.getattr("_again")?;
        let next = *loader.next.lock().ignore_poison();
        let args = (&loader.shards, &loader.words, loader.state_dict(py)?, next);
        (again, args).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let Ok(inner) = self.inner(py) else { return "Loader(closed)".into() };
        let about = format!("{inner:?}");
        format!("{}; {})", about.trim_end_matches(')'), self.settings.described())
    }
}

impl Drop for Loader {
    /// Drops the loader without the interpreter lock, because it joins threads that may need the lock.
    fn drop(&mut self) {
        let held = self.inner.get_mut().ignore_poison().take();
        if held.is_some() {
            Python::attach(|py| py.detach(|| drop(held)));
        }
    }
}

/// The error of a loader inside a DataLoader.
const INSTEAD: &str = "a tarflume.Loader cannot be the data set of a DataLoader, because its threads already make \
                       batches: iterate over tarflume.torch.Loader itself, or put a tarflume.torch.Dataset (with \
                       samplers, a MapDataset) into the DataLoader; for samples by number or key use \
                       tarflume.Dataset";

/// The number of an epoch.
fn numbered(epoch: &Bound<'_, PyAny>) -> PyResult<u64> {
    match epoch.extract::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => {
            let text = format!("epoch {}: epochs are counted from 0", epoch.repr()?);
            Err(usage(epoch.py(), text))
        }
    }
}

/// Loads a resident data set into GPU memory, unless it is there. Ctrl-C ends it.
fn preload(py: Python<'_>, loader: &AnyLoader, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let all = loader.resident().map_or(0, |fit| fit.samples);
    let mut raised = None;
    let result = py.detach(|| {
        loader.preload(|loaded| {
            let reported = Python::attach(|py| {
                py.check_signals()?;
                progress.map_or(Ok(()), |progress| progress.call1(py, (loaded, all)).map(drop))
            });
            raised = reported.err();
            raised.is_none()
        })
    });
    raised.map_or_else(|| result.map(|_| ()).or_raise(py), Err)
}
