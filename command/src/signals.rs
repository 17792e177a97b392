//! Ctrl-C and SIGTERM: the first one requests the command to end at its next sample, so that
//! temporary files are removed; the second one ends the process at once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tarflume_base::{Exit, Failure, Stop};

static STATE: OnceLock<State> = OnceLock::new();

#[derive(Default)]
struct State {
    requested: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

/// Installs the handlers. Commands that write call it once.
///
/// # Errors
/// The operating system refuses.
pub(crate) fn listen() -> io::Result<()> {
    let state = STATE.get_or_init(State::default);
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        // The order matters: the second signal finds the flag set and ends the process.
        flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&state.requested))?;
        flag::register(signal, Arc::clone(&state.requested))?;
        flag::register_usize(signal, Arc::clone(&state.signal), signal as usize)?;
    }
    Ok(())
}

/// Returns the stop that signals request, after [`listen`] was called.
pub(crate) fn stop() -> Stop {
    Stop::by_flag(Arc::clone(&STATE.get_or_init(State::default).requested))
}

/// Time between looks at the stop.
const PAUSE: Duration = Duration::from_millis(100);

/// Does work that only reads in a thread, and leaves it there if a signal requests the stop: a store may be silent for
/// minutes. The thread ends with the process.
///
/// # Errors
/// Returns the errors of the work, and an error after a signal or if no thread can be started.
pub(crate) fn unless_stopped<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = channel();
    let started = thread::Builder::new().spawn(move || {
        let _ = sender.send(work()); // after the stop no thread waits for it
    });
    let started = started.map_err(|e| Failure::no_thread(&e))?;
    let stop = stop();
    loop {
        match receiver.recv_timeout(PAUSE) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) if stop.requested() => {
                return Err(Failure::interrupted());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match started.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(Failure::interrupted()), // it has always sent its result
            },
        }
    }
}

/// Returns the exit code of an interrupted command: that of the signal that interrupted it.
pub(crate) fn exit() -> Exit {
    match STATE.get().map(|state| state.signal.load(Ordering::Relaxed)) {
        Some(signal) if signal == SIGTERM as usize => Exit::Terminated,
        _ => Exit::Interrupted,
    }
}
