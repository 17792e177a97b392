//! Ctrl-C and SIGTERM: asked about between samples, so that temporary files are removed.
//!
//! A second signal ends the process at once. Programs that have signals of their own end a piece of work
//! by its [`Stop`] instead.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

static STATE: OnceLock<State> = OnceLock::new();

struct State {
    requested: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

/// Begins to listen. Called once, by commands that write.
///
/// # Errors
/// The operating system's refusal.
pub fn listen() -> io::Result<()> {
    let state = STATE.get_or_init(|| State {
        requested: Arc::new(AtomicBool::new(false)),
        signal: Arc::new(AtomicUsize::new(0)),
    });
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        // The order matters: the second signal finds the flag set and ends the process.
        flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&state.requested))?;
        flag::register(signal, Arc::clone(&state.requested))?;
        flag::register_usize(signal, Arc::clone(&state.signal), signal as usize)?;
    }
    Ok(())
}

/// Ends one piece of work before its time; clones of it end the same one. Signals end every piece.
#[derive(Debug, Clone, Default)]
pub struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// Nothing but a signal.
    pub const BY_SIGNAL: Stop = Stop(None);

    /// One that can be asked for.
    pub fn new() -> Stop {
        Stop(Some(Arc::default()))
    }

    /// Asks the work to end at its next sample.
    pub fn request(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// True once the work should end.
    pub fn requested(&self) -> bool {
        requested() || self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// True once somebody asked the command to end.
pub fn requested() -> bool {
    STATE.get().is_some_and(|state| state.requested.load(Ordering::Relaxed))
}

/// The exit code of an interrupted command.
pub fn exit() -> Exit {
    match STATE.get().map(|state| state.signal.load(Ordering::Relaxed)) {
        Some(signal) if signal == SIGTERM as usize => Exit::Terminated,
        _ => Exit::Interrupted,
    }
}
