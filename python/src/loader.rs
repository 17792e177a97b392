//! `Loader`: the front door.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tarflume::{IdleStats, LoaderState, Stats};

use crate::any_loader::AnyLoader;
use crate::epoch::Epoch;
use crate::errors::{OrRaise, usage};
use crate::json::{from_json, to_json};
use crate::ledger::Ledger;
use crate::resident;
use crate::settings::{Given, Settings};
use tarflume_formats::poison::IgnorePoison;

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
/// Arguments:
///
/// - `shards`: a folder, a `dataset.json`, a tar, a pattern, a list of these, a `Dataset`; or a mixture,
///   `[(shards, weight), ...]` with whole weights.
/// - `image`: a transform (`RandomResizedCrop(224)`), or an `Image` for more choices: column `image`.
/// - `label`: `"/pointer"` into the JSON part, or a part with a number such as `"cls"`: column `label`.
/// - `columns`: `{"name": column}` for more, a column being a part's name (its bytes) or one of `Image`,
///   `Json`, `Class`, `Raw`, `Text`, `Npy`, or `Apply(function, column)` for what a function of yours
///   makes of each sample; or a list of parts' names. Without any of the three, all parts as bytes.
/// - `batch_size`: rows of a batch on this rank. `drop_last`: True leaves samples out that don't fill a
///   batch on every rank; False deals them, in a smaller last batch; "pad" fills it with samples from
///   the epoch's beginning.
/// - `shuffle`: "none", "shards", "buffer" (`buffer_size` samples), "blocks" (runs of `block_size`,
///   `window` of them mixed exactly) or "full" (exact, over the whole data set); `seed`.
/// - `rank`, `world`: which part of each batch's samples is this process's; `split="shard"` deals whole
///   shards instead.
/// - `on_bad`: "error", "skip" (a smaller batch) or "substitute" (another sample, chosen by
///   arithmetic); `bad_budget` bounds how many. `verify`: "off", "sampled" or "all" checksums.
/// - `threads` (one a core), `prefetch` (batches ahead), `memory` ("2GiB"; by default that, or on a large
///   machine 48 MiB a thread and room for the batches), `source` ("file", "mapped").
/// - `device`: "cuda:1", or "cuda" for this process's (`stats()["device"]` says which, and why): batches are
///   decoded into pinned memory and copied to the GPU ahead of you, into `ring` slots there. Columns are
///   `DeviceColumn`s then.
/// - `exclude`: lists of keys to leave out; `skip`, `take`: a range of the data set; `repeat`: passes an
///   epoch; `epoch_length`: samples an epoch.
///
/// Which sample comes when depends on data, seed, epoch and shuffle alone: not on threads, rank, world
/// or batch size.
#[pyclass(frozen, module = "tarflume")]
pub struct Loader {
    settings: Settings,
    inner: Mutex<Option<Arc<AnyLoader>>>,
    /// What it was made with, for other processes.
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
        let build = |state: Option<LoaderState>| self.settings.build(state);
        let made = py.detach(|| {
            // There is no room for two data sets that stay on a device.
            let before = self.settings.resident.as_ref().and_then(|_| self.held().take());
            let kept = before.map(|before| before.state());
            let made = build(state);
            if let (Err(_), Some(kept)) = (&made, kept) {
                *self.held() = Some(Arc::new(build(Some(kept))?));
            }
            let before = self.held().replace(Arc::new(made?));
            drop(before);
            Ok(())
        });
        made.or_raise(py)
    }

    /// The batches of an epoch.
    fn begun(&self, py: Python<'_>, epoch: u64) -> PyResult<Epoch> {
        let inner = self.inner(py)?;
        fill(py, &inner, None)?;
        let running = py.detach(|| inner.epoch(epoch));
        Ok(Epoch::new(running, self.settings.texts.clone()))
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (shards, **settings), text_signature = "(shards, *, batch_size=1, shuffle='none', \
           seed=0, image=None, label=None, columns=None, rank=0, world=1, split='sample', drop_last=True, \
           threads=None, prefetch=4, memory=None, device=None, ring=3, resident=None, on_bad='error', bad_budget=1000, \
           verify='off', source='file', buffer_size=10000, block_size=256, window=64, exclude=None, \
           skip=0, take=None, repeat=1, epoch_length=None)")]
    fn new(
        py: Python<'_>,
        shards: &Bound<'_, PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Loader> {
        let words = settings.map_or_else(|| Ok(PyDict::new(py)), |words| words.copy())?;
        let settings = Settings::new(py, shards, Given::new(py, settings)?)?;
        let (shards, words) = (shards.clone().unbind(), words.unbind());
        let loader = Loader { settings, inner: Mutex::new(None), shards, words };
        loader.begin(py, None)?;
        Ok(loader)
    }

    /// The batches of epoch number `epoch`, from its beginning; or, the first time after
    /// `load_state_dict` and if the state is of that epoch, from where it was taken.
    fn epoch(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<Epoch> {
        self.begun(py, numbered(epoch)?)
    }

    /// What `torch.utils.data.DataLoader` asks of a data set: refused, with what to use instead.
    fn __getitem__(&self, py: Python<'_>, _index: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(usage(py, INSTEAD))
    }

    /// Brings a data set that stays on a GPU there, as the first epoch does: `progress(samples there, all)` is
    /// called now and then. Without `resident=` this does nothing.
    #[pyo3(signature = (progress = None))]
    fn fill(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        fill(py, &*self.inner(py)?, progress.as_ref())
    }

    /// The epoch to go on with: 0, or that of the loaded state, or the one that is running.
    #[getter]
    fn current_epoch(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.current_epoch())
    }

    /// The batches of the epoch to go on with.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Epoch> {
        self.begun(py, self.current_epoch(py)?)
    }

    /// Steps of an epoch on this rank.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.inner(py)?.steps().or_raise(py)? as usize)
    }

    /// What the data set takes of the GPU's memory, in bytes: `samples`, `sample_bytes`, `bytes`, `budget`,
    /// `free` (when the loader was made). None if it does not stay there.
    #[getter]
    fn resident<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner(py)?.resident().map(|fit| resident::fit(py, fit)).transpose()
    }

    /// Samples of an epoch, on all ranks together.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner(py)?.order().epoch_samples())
    }

    /// Where the whole job is: what was handed out, not what was prepared. A few integers in a dict,
    /// the same on every rank that took as many batches: save one.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.inner(py)?.state())
    }

    /// Goes on at the next sample of a saved state, with any rank, world, batch size and threads. The
    /// running epoch, if any, should be closed: it goes on as it was.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner(py)?;
        let text = to_json(state)?;
        self.begin(py, Some(text.parse::<LoaderState>().or_raise(py)?))
    }

    /// The digest of all samples that this loader has handed out.
    fn ledger(&self, py: Python<'_>) -> PyResult<Ledger> {
        Ok(Ledger(self.inner(py)?.ledger()))
    }

    /// What the ledgers of all ranks add up to for one whole epoch.
    fn expected(&self, py: Python<'_>, epoch: &Bound<'_, PyAny>) -> PyResult<Ledger> {
        let epoch = numbered(epoch)?;
        let inner = self.inner(py)?;
        py.detach(|| inner.expected(epoch)).map(Ledger).or_raise(py)
    }

    /// Where the time goes and what limits the rate of batches: a dict that prints as a table.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.inner(py)?.stats();
        let class = py.import("tarflume.statistics")?.getattr("Stats")?;
        class.call1((facts(py, &stats)?, stats.to_string()))
    }

    /// All samples that were bad so far: dicts of path, byte, key, reason, ordinal.
    fn bad_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.inner(py)?.bad_samples())
    }

    /// Writes the bad samples to a file, as `exclude=` and `pack build --exclude @FILE` take them.
    fn write_bad_samples(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let inner = self.inner(py)?;
        py.detach(|| inner.write_bad_samples(&path)).or_raise(py)
    }

    /// Ends all work and gives the memory back; batches that were given out stay.
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

    /// Another process gets a loader of its own, at the same place.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, loader) = (slf.py(), slf.get());
        let again = py.import("tarflume.loading")?.getattr("_again")?;
        let args = (&loader.shards, &loader.words, loader.state_dict(py)?);
        (again, args).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.inner(py).map_or_else(|_| "Loader(closed)".into(), |inner| format!("{inner:?}"))
    }
}

impl Drop for Loader {
    /// Threads may be waited for, and one of them may be waiting for the interpreter.
    fn drop(&mut self) {
        let held = self.inner.get_mut().ignore_poison().take();
        if held.is_some() {
            Python::attach(|py| py.detach(|| drop(held)));
        }
    }
}

/// What a DataLoader around a loader is answered.
const INSTEAD: &str = "a tarflume.Loader is no data set for a DataLoader: its batches are made by threads, so \
                       iterate over tarflume.torch.Loader itself; where a DataLoader is needed, give it \
                       tarflume.torch.Dataset (or MapDataset, for samplers)";

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

/// Brings what stays on a GPU there, unless that was done; Ctrl-C ends it.
fn fill(py: Python<'_>, loader: &AnyLoader, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let all = loader.resident().map_or(0, |fit| fit.samples);
    let mut raised = None;
    let told = |there: u64| {
        Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |tell| tell.call1(py, (there, all)).map(drop))
        })
    };
    let filled = py.detach(|| {
        loader.preload(|there| {
            raised = told(there).err();
            raised.is_none()
        })
    });
    raised.map_or_else(|| filled.map(|_| ()).or_raise(py), Err)
}

/// The numbers of `Stats`, in seconds, bytes and shares.
fn facts<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("threads", stats.threads)?;
    facts.set_item("running_s", stats.running.as_secs_f64())?;
    facts.set_item("starved", stats.starved())?;
    facts.set_item("bottleneck", format!("{:?}", stats.bottleneck()).to_lowercase())?;
    facts.set_item("verdict", stats.verdict())?;
    facts.set_item("hidden", stats.hidden())?;
    facts.set_item("device", stats.device.as_ref())?;
    let ring = stats.ring.map(|ring| {
        let said = PyDict::new(py);
        said.set_item("asked", ring.asked)?;
        said.set_item("missing", ring.missing)?;
        said.set_item("occupancy", ring.occupancy())?;
        PyResult::Ok(said)
    });
    facts.set_item("ring", ring.transpose()?)?;
    let decoder = stats.decoder.as_ref().map(|decoder| {
        let said = PyDict::new(py);
        said.set_item("about", &decoder.about)?;
        said.set_item("decoded", decoder.decoded)?;
        said.set_item("refused", decoder.refused)?;
        said.set_item("why", decoder.why.as_ref())?;
        said.set_item("waited_s", decoder.waited.as_secs_f64())?;
        said.set_item("redone_s", decoder.redone.as_secs_f64())?;
        said.set_item("share", f64::from(decoder.share) / 1000.0)?;
        PyResult::Ok(said)
    });
    facts.set_item("decoder", decoder.transpose()?)?;
    let stages = PyDict::new(py);
    for stage in &stats.stages {
        let of = PyDict::new(py);
        of.set_item("busy_s", stage.busy.as_secs_f64())?;
        of.set_item("waiting_input_s", stage.waiting_input.as_secs_f64())?;
        of.set_item("waiting_output_s", stage.waiting_output.as_secs_f64())?;
        of.set_item("items", stage.items)?;
        of.set_item("bytes", stage.bytes)?;
        stages.set_item(stage.name, of)?;
    }
    facts.set_item("stages", stages)?;
    let idle = PyDict::new(py);
    let IdleStats { consumer, memory, prefetch, plan, input, wake, end } = stats.idle;
    for (what, time) in [
        ("consumer", consumer),
        ("memory", memory),
        ("prefetch", prefetch),
        ("plan", plan),
        ("input", input),
        ("wake", wake),
        ("end", end),
    ] {
        idle.set_item(what, time.as_secs_f64())?;
    }
    facts.set_item("idle_s", idle)?;
    facts.set_item("reads_asleep_s", stats.reads_asleep.as_secs_f64())?;
    facts.set_item("startup_s", stats.startup.as_secs_f64())?;
    let functions = PyDict::new(py);
    functions.set_item("calls", stats.calls.count)?;
    functions.set_item("busy_s", stats.calls.busy.as_secs_f64())?;
    functions.set_item("waiting_s", stats.calls.waiting.as_secs_f64())?;
    facts.set_item("functions", functions)?;
    facts.set_item("warning", stats.warning.clone())?;
    facts.set_item("jpeg_blocks_skipped", stats.blocks.skipped())?;
    Ok(facts)
}
