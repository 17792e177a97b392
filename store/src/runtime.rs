//! The one runtime of a process: two threads that wait for answers of stores.
//!
//! Made on first use. A forked child inherits it without its threads, so it makes another one. What was opened in the
//! parent shares its connections, so using it in the child is an error.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::{process, thread};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::errors::guard::guarded_request;

/// Threads that move bytes between sockets and memory.
const THREADS: usize = 2;

/// The runtime of one process. It is never dropped: its threads are missing in a forked child.
struct OfProcess {
    pid: u32,
    runtime: Runtime,
    /// That of a process that was forked from this one, in that process.
    next: OnceLock<Box<OfProcess>>,
}

static FIRST: OnceLock<Box<OfProcess>> = OnceLock::new();

/// Returns the runtime of this process.
pub(crate) fn runtime(url: &str) -> Result<&'static Runtime> {
    let mut place = &FIRST;
    loop {
        match place.get() {
            Some(found) if found.pid == process::id() => return Ok(&found.runtime),
            Some(of_parent) => place = &of_parent.next,
            None => {
                if let Err(second) = place.set(Box::new(OfProcess::start(url)?)) {
                    second.runtime.shutdown_background(); // another thread was faster
                }
            }
        }
    }
}

impl OfProcess {
    fn start(url: &str) -> Result<OfProcess> {
        let made = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("tarflume-store")
            .enable_all()
            .build();
        let runtime = made.map_err(|e| {
            let text = format!("cannot start the threads of the store: {e}; raise `ulimit -u`");
            Error::new(ErrorKind::Machine, url, text)
        })?;
        Ok(OfProcess { pid: process::id(), runtime, next: OnceLock::new() })
    }
}

/// The process in which a store was opened, to which its connections belong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home(u32);

impl Home {
    /// This process, which has a runtime then.
    ///
    /// # Errors
    /// As [`runtime`].
    pub(crate) fn here(url: &str) -> Result<Home> {
        runtime(url).map(|_| Home(process::id()))
    }

    /// The runtime, if this process is the one that has opened the store.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: it is a forked child of that one.
    pub(crate) fn runtime(self, url: &str) -> Result<&'static Runtime> {
        if self.0 == process::id() {
            return runtime(url);
        }
        let text = "the store was opened before this process was forked, and shares its connections; open the data \
                    set in the child";
        Err(Error::new(ErrorKind::Usage, url, text))
    }

    /// As [`block`], in this process alone.
    ///
    /// # Errors
    /// As [`Home::runtime`].
    pub(crate) fn block<F>(self, url: &str, future: F) -> Result<F::Output>
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime(url)?;
        block(url, future)
    }

    /// As [`Home::block`], with the error of the future.
    pub(crate) fn wait<T: Send>(
        self,
        url: &str,
        future: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.block(url, future)?
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
    let request = guarded_request(url, future);
    if Handle::try_current().is_err() {
        return runtime.block_on(request);
    }
    let waited = thread::scope(|scope| scope.spawn(|| runtime.block_on(request)).join());
    waited.unwrap_or_else(|panic| resume_unwind(panic))
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
