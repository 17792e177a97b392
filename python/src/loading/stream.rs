//! `TarStream`: the samples of one tar without a sidecar as dicts, as in WebDataset. Waits without the
//! interpreter lock, and checks for signals while it waits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tarflume::internal::{Next, Stores};
use tarflume::{Samples, Stream, StreamSample};

use crate::arguments::numbers::Number;
use crate::arguments::storage;
use crate::batches::batch::key_text;
use crate::faults::errors::{OrRaise, usage};
use tarflume_formats::IgnorePoison;

/// The interval at which a wait checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of samples that wait for the caller. Every worker process has as many.
const AHEAD: u64 = 64 << 20;

/// A notification from the reading thread.
#[derive(Default)]
struct Notification {
    notified: Mutex<bool>,
    more: Condvar,
}

impl Notification {
    fn set(&self) {
        *self.notified.lock().ignore_poison() = true;
        self.more.notify_all();
    }

    /// Waits for the notification, at most [`LOOK`].
    fn wait(&self) {
        let notified = self.notified.lock().ignore_poison();
        let waited = self.more.wait_timeout_while(notified, LOOK, |notified| !*notified);
        let (mut notified, _) = waited.ignore_poison();
        *notified = false;
    }
}

/// The clients of stores that `TarStream`s share, for one pass over a data set.
#[pyclass(frozen, module = "tarflume._core")]
pub struct TarStores(Mutex<Stores>);

#[pymethods]
impl TarStores {
    #[new]
    #[pyo3(signature = (storage = None))]
    fn new(py: Python<'_>, storage: Option<&Bound<'_, PyAny>>) -> PyResult<TarStores> {
        let storage = storage::storage(py, &storage::pairs(py, storage)?)?;
        Ok(TarStores(Mutex::new(Stores::new(storage))))
    }
}

/// The samples of one tar (plain, gzip or Zstandard, detected by its first bytes), read once from front to
/// back by a thread in Rust, ahead of the caller: an iterator over dicts of `"__key__"`, `"__url__"`,
/// `"__local_path__"` and the bytes of each part by its extension in lower case.
///
/// `path` is a file, a named pipe, the URL of a tar in a store, or "-" for standard input. Samples contain `url`
/// instead of it, and `local_path`, too, if it is given. At most 64 MiB of samples wait for the caller.
/// `memory_limit`, in bytes, bounds all memory (default 1 GiB); a sample may take an eighth of it. Of a URL, up to
/// 32 MiB are fetched ahead, which it does not bound; `stores` says how its store is reached. A bad sample raises an
/// error in its place: continue iterating for the rest. `ignore_zeros` reads on behind the end marker, for tars that
/// were joined; without it, bytes other than zeros there are an error.
#[pyclass(frozen, module = "tarflume._core")]
pub struct TarStream {
    samples: Mutex<Option<Samples>>,
    notified: Arc<Notification>,
    url: String,
    local_path: Option<String>,
    process: u32,
}

impl TarStream {
    fn held(&self) -> MutexGuard<'_, Option<Samples>> {
        self.samples.lock().ignore_poison()
    }

    fn dict<'py>(&self, py: Python<'py>, sample: &StreamSample) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        made.set_item("__key__", key_text(py, sample.key())?)?;
        made.set_item("__url__", &self.url)?;
        for (place, (ext, bytes)) in sample.parts().enumerate() {
            made.set_item(key_text(py, ext)?, PyBytes::new(py, bytes))?;
            // The position that WebDataset uses: users may iterate over the dict.
            if let (0, Some(path)) = (place, &self.local_path) {
                made.set_item("__local_path__", path)?;
            }
        }
        Ok(made)
    }

    fn is_of_another_process(&self) -> bool {
        self.process != std::process::id()
    }
}

#[pymethods]
impl TarStream {
    #[new]
    #[pyo3(signature = (path, *, url = None, local_path = None, memory_limit = None, stores = None,
           ignore_zeros = false))]
    fn new(
        py: Python<'_>,
        path: &str,
        url: Option<String>,
        local_path: Option<String>,
        memory_limit: Option<Number<u64>>,
        stores: Option<&TarStores>,
        ignore_zeros: bool,
    ) -> PyResult<TarStream> {
        let notified = Arc::new(Notification::default());
        let notify = Arc::clone(&notified);
        let samples = py.detach(|| {
            let stream = match stores {
                Some(stores) => Stream::open_among(path, &mut stores.0.lock().ignore_poison())?,
                None => Stream::open(path)?,
            };
            let stream = stream.ahead(AHEAD).ignore_zeros(ignore_zeros);
            let stream =
                memory_limit.into_iter().fold(stream, |stream, n| stream.memory_limit(n.0.into()));
            stream.samples_with_notify(0, Arc::new(move || notify.set()))
        });
        let samples = Mutex::new(Some(samples.or_raise(py)?));
        let url = url.unwrap_or_else(|| path.to_string());
        Ok(TarStream { samples, notified, url, local_path, process: std::process::id() })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.is_of_another_process() {
            let text = "the parent process opened this tar before the fork: start a new iteration of the data \
                        set in this process";
            return Err(usage(py, text));
        }
        loop {
            let next = match self.held().as_mut() {
                Some(samples) => samples.try_next(),
                None => return Ok(None),
            };
            match next {
                Next::Ready(sample) => {
                    return Ok(Some(self.dict(py, &sample.or_raise(py)?)?));
                }
                Next::End => return Ok(None),
                Next::NotYet => {
                    py.check_signals()?;
                    py.detach(|| self.notified.wait());
                }
            }
        }
    }

    /// Ends reading.
    fn close(&self, py: Python<'_>) {
        if !self.is_of_another_process() {
            py.detach(|| {
                let held = self.held().take();
                drop(held);
            });
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl Drop for TarStream {
    fn drop(&mut self) {
        let Some(held) = self.samples.get_mut().ignore_poison().take() else {
            return;
        };
        if self.is_of_another_process() {
            std::mem::forget(held); // a forked child has no reading thread to join
        } else {
            Python::attach(|py| py.detach(|| drop(held)));
        }
    }
}
