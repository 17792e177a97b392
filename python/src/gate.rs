//! The gate before the interpreter: threads of ours go through it, and it is shut when Python ends. A
//! thread that asked for the interpreter's lock later than that would hang, or take the process down. Threads that call
//! a GPU's driver end before: it takes itself down when the process does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use pyo3::prelude::*;
use tarflume_formats::poison::IgnorePoison;

/// How long the end of Python waits for functions that are running.
const PATIENCE: Duration = Duration::from_secs(10);

struct Gate {
    inside: usize,
    shut: bool,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, shut: false });
static LEFT: Condvar = Condvar::new();

fn gate() -> MutexGuard<'static, Gate> {
    GATE.lock().ignore_poison()
}

/// One thread that is inside.
struct Inside;

impl Inside {
    fn enter() -> Option<Inside> {
        let mut gate = gate();
        if gate.shut {
            return None;
        }
        gate.inside += 1;
        Some(Inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        gate().inside -= 1;
        LEFT.notify_all();
    }
}

/// Does something with the interpreter; `None` if Python is ending.
pub(crate) fn with_python<T>(what: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = Inside::enter()?;
    Python::try_attach(what)
}

/// Called by `atexit`: lets nobody in any more, and waits for those who are.
#[pyfunction]
fn shut(py: Python<'_>) {
    py.detach(|| {
        let mut gate = gate();
        gate.shut = true;
        let running = |gate: &mut Gate| gate.inside > 0;
        drop(LEFT.wait_timeout_while(gate, PATIENCE, running));
    });
}

/// Has the gate shut when Python ends.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    let shut = wrap_pyfunction!(shut, py)?;
    py.import("atexit")?.call_method1("register", (shut,))?;
    Ok(())
}

/// Called by `atexit`: ends what copies to GPUs, in loaders that nobody closed.
#[pyfunction]
fn end_devices(py: Python<'_>) {
    py.detach(tarflume::internal::end_device_epochs);
}

/// Has that done when Python ends, before what was registered until now: the gate, and PyTorch if it is imported.
pub(crate) fn end_devices_first(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let end = wrap_pyfunction!(end_devices, py)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}
