//! The one runtime of a process: two threads that wait for answers of stores.
//!
//! Made on first use. A forked child inherits it without its threads, so using it there is an error.

use std::future::Future;
use std::process;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, ErrorKind, Result};

/// Threads that move bytes between sockets and memory.
const THREADS: usize = 2;

/// The runtime with the process that made it.
static RUNTIME: OnceLock<(u32, Runtime)> = OnceLock::new();

/// Returns the runtime.
pub(crate) fn runtime(url: &str) -> Result<&'static Runtime> {
    if RUNTIME.get().is_none() {
        // Ring signs and encrypts. Another library of this process may have chosen a provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let made = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("tarflume-store")
            .enable_all()
            .build();
        let made = made.map_err(|e| {
            let text = format!("cannot start the threads of the store: {e}; raise `ulimit -u`");
            Error::new(ErrorKind::Machine, url, text)
        })?;
        let _ = RUNTIME.set((process::id(), made)); // another thread may have been faster
    }
    match RUNTIME.get() {
        Some((pid, runtime)) if *pid == process::id() => Ok(runtime),
        _ => {
            let text = "the store was opened before this process was forked; open the data set in the \
                        child, or start workers with 'spawn' or 'forkserver'";
            Err(Error::new(ErrorKind::Usage, url, text))
        }
    }
}

/// Waits for `future` on this thread.
pub(crate) fn wait<T>(url: &str, future: impl Future<Output = Result<T>>) -> Result<T> {
    runtime(url)?.block_on(future)
}
