//! The one runtime of a process: two threads that wait for answers of stores.
//!
//! Made on first use. A forked child inherits it without its threads, so using it there is an error.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::{process, thread};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, ErrorKind, Result};

/// Threads that move bytes between sockets and memory.
const THREADS: usize = 2;

/// The runtime with the process that made it.
static RUNTIME: OnceLock<(u32, Runtime)> = OnceLock::new();

/// Returns the runtime.
pub(crate) fn runtime(url: &str) -> Result<&'static Runtime> {
    if RUNTIME.get().is_none() {
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

/// Waits for `future` on this thread. In a task of an asynchronous runtime, where this is refused, a thread of its own
/// waits: the caller is blocked in both cases.
///
/// # Errors
/// As [`runtime`].
pub(crate) fn block<F>(url: &str, future: F) -> Result<F::Output>
where
    F: Future + Send,
    F::Output: Send,
{
    let runtime = runtime(url)?;
    if Handle::try_current().is_err() {
        return Ok(runtime.block_on(future));
    }
    let waited = thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
    Ok(waited.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// As [`block`], with the error of the future.
pub(crate) fn wait<T: Send>(
    url: &str,
    future: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    block(url, future)?
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn later(n: u32) -> Result<u32> {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        Ok(n)
    }

    #[test]
    fn a_store_answers_in_any_task_of_any_runtime() {
        assert_eq!(wait("test", later(1)).unwrap(), 1);
        let one = Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(one.block_on(async { wait("test", later(2)).unwrap() }), 2);
        let several = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        assert_eq!(several.block_on(async { wait("test", later(3)).unwrap() }), 3);
        let task = async { tokio::spawn(async { wait("test", later(4)).unwrap() }).await.unwrap() };
        assert_eq!(several.block_on(task), 4);
    }
}
