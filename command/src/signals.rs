//! Ctrl-C and SIGTERM: the first one requests the command to end at its next sample, so that
//! temporary files are removed; the second one ends the process at once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tarflume_packer::{Exit, Stop};

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

/// Returns the exit code of an interrupted command: that of the signal that interrupted it.
pub(crate) fn exit() -> Exit {
    match STATE.get().map(|state| state.signal.load(Ordering::Relaxed)) {
        Some(signal) if signal == SIGTERM as usize => Exit::Terminated,
        _ => Exit::Interrupted,
    }
}
