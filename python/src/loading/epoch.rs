//! `Epoch`: the iterator over the batches of one epoch. Waits without the interpreter lock, and checks for
//! signals while it waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::batches::batch::Batch;
use crate::batches::draws::Given;
use crate::faults::errors::OrRaise;
use crate::loading::deliver::Delivery;
use tarflume_formats::IgnorePoison;

/// The interval at which a wait checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// An iterator over the batches of one epoch, in order. `close()`, the end of a `with` block, or dropping
/// it ends the epoch's work.
#[pyclass(frozen, module = "tarflume")]
pub struct Epoch {
    epoch: Mutex<Option<Running>>,
    given: Given,
    delivery: Arc<Delivery>,
    number: u64,
    /// Rows of all batches that were taken.
    samples: AtomicU64,
}

/// An epoch in host memory or in device memory.
pub(crate) enum Running {
    Host(tarflume::Epoch),
    Device(tarflume::DeviceEpoch),
}

impl Running {
    fn number(&self) -> u64 {
        match self {
            Running::Host(epoch) => epoch.number(),
            Running::Device(epoch) => epoch.number(),
        }
    }

    fn ready(&mut self, most: Duration) -> bool {
        match self {
            Running::Host(epoch) => epoch.ready(most),
            Running::Device(epoch) => epoch.ready(most),
        }
    }

    fn remaining(&self) -> u64 {
        match self {
            Running::Host(epoch) => epoch.remaining(),
            Running::Device(epoch) => epoch.remaining(),
        }
    }

    fn charge(&self, busy: Duration) {
        match self {
            Running::Host(epoch) => epoch.charge(busy),
            Running::Device(epoch) => epoch.charge(busy),
        }
    }

    fn next(&mut self, given: &Given) -> tarflume::Result<Option<Batch>> {
        Ok(match self {
            Running::Host(epoch) => epoch.next().transpose()?.map(|b| Batch::new(b, given.clone())),
            Running::Device(epoch) => {
                epoch.next().transpose()?.map(|b| Batch::on_device(b, given.clone()))
            }
        })
    }
}

/// The result of polling an epoch.
enum Poll {
    Batch(Batch),
    End,
    NotYet,
}

impl Epoch {
    pub(crate) fn new(epoch: Running, given: Given, delivery: Arc<Delivery>) -> Epoch {
        let number = epoch.number();
        let samples = AtomicU64::new(0);
        Epoch { epoch: Mutex::new(Some(epoch)), given, delivery, number, samples }
    }

    /// A batch as the loader yields it. The time of a function counts as transforming.
    fn delivered<'py>(&self, py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyAny>> {
        self.samples.fetch_add(batch.rows() as u64, Ordering::Relaxed);
        let begun = Instant::now();
        let made = self.delivery.made(py, batch)?;
        if self.delivery.collates() {
            self.charge(py, begun.elapsed().as_secs_f64());
        }
        Ok(made)
    }

    fn look(&self) -> tarflume::Result<Poll> {
        let mut held = self.epoch.lock().ignore_poison();
        let Some(epoch) = held.as_mut() else { return Ok(Poll::End) };
        if !epoch.ready(LOOK) {
            return Ok(Poll::NotYet);
        }
        Ok(epoch.next(&self.given)?.map_or(Poll::End, Poll::Batch))
    }
}

#[pymethods]
impl Epoch {
    /// The number of the epoch.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    /// The number of samples in all batches that were taken from this iterator.
    #[getter]
    fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            match py.detach(|| self.look()).or_raise(py)? {
                Poll::Batch(batch) => return self.delivered(py, batch).map(Some),
                Poll::End => return Ok(None),
                Poll::NotYet => py.check_signals()?,
            }
        }
    }

    /// The number of remaining batches.
    fn __length_hint__(&self, py: Python<'_>) -> u64 {
        py.detach(|| {
            let held = self.epoch.lock().ignore_poison();
            held.as_ref().map_or(0, Running::remaining)
        })
    }

    /// Yields `function(batch)` for each batch. `loader.stats()` shows its time as stage `transform`.
    fn map<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mapped = slf.py().import("tarflume.applying")?.getattr("_mapped")?;
        mapped.call1((slf, function))
    }

    /// Yields the batches, and shows a line with the rate and the time that is left: in a notebook, on a
    /// terminal, or with `progress=True` also in a file. A function receives dicts in its place.
    #[pyo3(signature = (progress = None))]
    fn progress<'py>(
        slf: &Bound<'py, Self>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shown = slf.py().import("tarflume.applying")?.getattr("_shown")?;
        shown.call1((slf, progress))
    }

    /// Adds time that the caller spent on transforming the last batch to stage `transform`.
    fn charge(&self, py: Python<'_>, seconds: f64) {
        let busy = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            if let Some(epoch) = &*self.epoch.lock().ignore_poison() {
                epoch.charge(busy);
            }
        });
    }

    /// Ends the epoch's work. Batches that were delivered stay valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.epoch.lock().ignore_poison().take()));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let number = self.number;
        let left = self.__length_hint__(py);
        format!("Epoch({number}, {left} batches left, {} samples taken)", self.samples())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }
}

impl Drop for Epoch {
    /// Drops the epoch without the interpreter lock, because it joins threads that may need the lock.
    fn drop(&mut self) {
        let held = self.epoch.get_mut().ignore_poison().take();
        if held.is_some() {
            Python::attach(|py| py.detach(|| drop(held)));
        }
    }
}
