//! Access of the loader's threads to the interpreter, which ends when Python shuts down: a thread that
//! requests the interpreter lock after that hangs or crashes the process. Threads that call a GPU driver end
//! earlier, because the driver shuts down with the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use pyo3::prelude::*;
use tarflume_formats::IgnorePoison;

/// How long the shutdown of Python waits for running functions.
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

/// A thread that uses the interpreter.
struct InterpreterUse;

impl InterpreterUse {
    fn enter() -> Option<InterpreterUse> {
        let mut gate = gate();
        if gate.shut {
            return None;
        }
        gate.inside += 1;
        Some(InterpreterUse)
    }
}

impl Drop for InterpreterUse {
    fn drop(&mut self) {
        gate().inside -= 1;
        LEFT.notify_all();
    }
}

/// Calls `what` with the interpreter; returns `None` if Python is shutting down.
pub(crate) fn with_python<T>(what: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = InterpreterUse::enter()?;
    Python::try_attach(what)
}

/// Called by `atexit`: admits no further thread, and waits for those inside.
#[pyfunction]
fn shut(py: Python<'_>) {
    py.detach(|| {
        let mut gate = gate();
        gate.shut = true;
        drop(LEFT.wait_timeout_while(gate, PATIENCE, |gate| gate.inside > 0));
    });
}

/// Registers `shut` for the end of the program.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    let shut = wrap_pyfunction!(shut, py)?;
    py.import("atexit")?.call_method1("register", (shut,))?;
    Ok(())
}

/// Called by `atexit`: ends the uploads of loaders that are still open.
#[pyfunction]
fn end_devices(py: Python<'_>) {
    py.detach(tarflume::internal::end_device_epochs);
}

/// Registers `end_devices` for the end of the program. It runs before everything that is registered already:
/// the gate, and PyTorch if it is imported.
pub(crate) fn end_devices_first(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let end = wrap_pyfunction!(end_devices, py)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}
