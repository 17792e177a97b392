//! `ThreadPool`: the worker threads of a process. All loaders share one pool, and the last one to drop it joins its
//! threads.
//!
//! The pool knows nothing of samples. Work is registered; an idle thread tries the registered works in turn, and sleeps
//! until a [`Notifier`] wakes it.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as StdMutex, RwLock, Weak};
use std::thread::JoinHandle;

use crate::fork::ForkGuard;
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{IgnorePoison, room_for_threads};
use tarflume_types::{Error, ErrorKind, Result};

/// Work that any thread of the pool may do, in steps.
pub(crate) trait Work: Send + Sync {
    /// Does one step, which takes milliseconds and not seconds. Returns false if no step was ready; the work then calls
    /// a [`Notifier`] when one is.
    fn step(&self) -> bool;
}

/// Wakes the threads of a pool.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    /// Counts the notifications. A thread that looks for work reads it first, so that it does not sleep through a
    /// notification that arrives between the look and the wait.
    notified: Mutex<u64>,
    changed: Condvar,
}

impl Notifier {
    fn count(&self) -> MutexGuard<'_, u64> {
        self.notified.lock().ignore_poison()
    }

    /// Announces work for one more thread.
    pub(crate) fn notify_one(&self) {
        *self.count() += 1;
        self.changed.notify_one();
    }

    /// Announces work for all threads.
    pub(crate) fn notify_all(&self) {
        *self.count() += 1;
        self.changed.notify_all();
    }
}

/// What the threads of a pool share.
pub(crate) struct PoolShared {
    works: RwLock<Vec<Arc<dyn Work>>>,
    notifier: Arc<Notifier>,
    stop: AtomicBool,
}

/// Threads, and the works that they do.
pub(crate) struct ThreadPool {
    shared: Arc<PoolShared>,
    threads: ForkGuard<Threads>,
}

/// The threads of a pool. Dropping it stops and joins them.
struct Threads {
    shared: Arc<PoolShared>,
    handles: StdMutex<Vec<JoinHandle<()>>>,
}

thread_local! {
    /// True in the threads of a pool.
    static IN_POOL: Cell<bool> = const { Cell::new(false) };
}

/// Checks that the calling thread is not a thread of a pool. A pool thread that waits for a batch could wait for itself.
///
/// # Errors
/// [`ErrorKind::Usage`]: it is a pool thread.
pub(crate) fn check_outside_pool() -> Result<()> {
    if !IN_POOL.get() {
        return Ok(());
    }
    let text = "a decoder or a function of a column asked a loader for a batch; loaders share their \
                threads, so this could wait for itself. Ask before or after, in a thread of the program; \
                Dataset::get reads single samples in a decoder";
    Err(Error::usage(text))
}

/// The pool of this process. Weak: the loaders own it.
static POOL: StdMutex<Weak<ThreadPool>> = StdMutex::new(Weak::new());

impl ThreadPool {
    /// The pool of this process, with at least `threads` threads.
    ///
    /// # Errors
    /// The system refuses to start a thread.
    pub(crate) fn of_process(threads: usize) -> Result<Arc<ThreadPool>> {
        let mut pool = POOL.lock().ignore_poison();
        // A forked child inherits the parent's pool without its threads, and starts its own pool.
        let own = pool.upgrade().filter(|found| found.check_not_forked().is_ok());
        let found = own.unwrap_or_else(|| {
            let shared = Arc::new(PoolShared::new());
            let threads = Threads { shared: shared.clone(), handles: StdMutex::default() };
            Arc::new(ThreadPool { shared, threads: ForkGuard::new(threads) })
        });
        found.threads.get()?.grow(threads)?;
        *pool = Arc::downgrade(&found);
        Ok(found)
    }

    /// Checks that this process started the threads.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: this process is a forked child.
    pub(crate) fn check_not_forked(&self) -> Result<()> {
        self.threads.check_not_forked()
    }

    /// What wakes its threads.
    pub(crate) fn notifier(&self) -> Arc<Notifier> {
        self.shared.notifier()
    }

    /// Registers `work` for the threads.
    pub(crate) fn add(&self, work: Arc<dyn Work>) {
        self.shared.add(work);
    }

    /// Unregisters `work`. A step that is in progress continues.
    pub(crate) fn remove(&self, work: &Arc<dyn Work>) {
        let mut works = self.shared.works.write().ignore_poison();
        works.retain(|other| !Arc::ptr_eq(other, work));
    }
}

impl Threads {
    fn grow(&self, threads: usize) -> Result<()> {
        let mut running = self.handles.lock().ignore_poison();
        if running.len() < threads {
            let room = room_for_threads(threads - running.len());
            room.map_err(|e| refused(running.len(), threads).with_source(e))?;
        }
        while running.len() < threads {
            let shared = self.shared.clone();
            let name = format!("tarflume-{}", running.len());
            let thread = std::thread::Builder::new().name(name).spawn(move || shared.run());
            let thread = thread.map_err(|e| refused(running.len(), threads).with_source(e));
            running.push(thread?);
        }
        Ok(())
    }
}

/// Returns the error of a thread that the system refuses.
fn refused(running: usize, threads: usize) -> Error {
    let text = message!(
        "thread {} of {threads} can't be started; ask for fewer with {fewer}, or raise the limits of processes and \
         memory (`ulimit -u`, `ulimit -v`, `ulimit -d`)",
        running + 1;
        fewer = Name::Threads
    );
    Error::new(ErrorKind::Machine, text)
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.stop();
        let threads = self.handles.get_mut().ignore_poison();
        // The last owner of a pool may be one of its threads, which can't join itself.
        let current = std::thread::current().id();
        for thread in threads.drain(..).filter(|thread| thread.thread().id() != current) {
            let _ = thread.join(); // panics in works are caught in `step`
        }
    }
}

impl PoolShared {
    pub(crate) fn new() -> PoolShared {
        let works = RwLock::default();
        let notifier = Arc::default();
        let stop = AtomicBool::new(false);
        PoolShared { works, notifier, stop }
    }

    /// Registers `work` for the threads.
    pub(crate) fn add(&self, work: Arc<dyn Work>) {
        self.works.write().ignore_poison().push(work);
        self.notifier.notify_all();
    }

    /// Ends [`PoolShared::run`] in all threads.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.notifier.notify_all();
    }

    /// What wakes the threads.
    pub(crate) fn notifier(&self) -> Arc<Notifier> {
        self.notifier.clone()
    }

    /// The loop of a pool thread: steps of the registered works, until [`PoolShared::stop`].
    pub(crate) fn run(&self) {
        IN_POOL.set(true);
        let mut turn = 0;
        loop {
            // Read before the works are tried: see `Notifier::notified`.
            let before = *self.notifier.count();
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            if self.try_works(&mut turn) {
                continue;
            }
            let mut count = self.notifier.count();
            while *count == before {
                count = self.notifier.changed.wait(count).ignore_poison();
            }
        }
    }

    /// Tries every work once, beginning after the one that was tried last, so that no loader starves another. Returns
    /// true after the first step that was done.
    fn try_works(&self, turn: &mut usize) -> bool {
        let count = self.works.read().ignore_poison().len();
        for _ in 0..count {
            *turn += 1;
            // The lock is not held during the step: works are added and removed while others run.
            let work = {
                let works = self.works.read().ignore_poison();
                if works.is_empty() {
                    return false;
                }
                works[*turn % works.len()].clone()
            };
            if work.step() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    /// What has not happened by then never will, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(600);

    /// Runs `test` in a thread: if a wake-up is lost, it fails and does not hang.
    fn ends(test: impl FnOnce() + Send + 'static) {
        let (done, ended) = channel();
        let thread = std::thread::spawn(move || {
            test();
            let _ = done.send(());
        });
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            panic!("threads of the pool do not end, or leave work undone");
        }
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    }

    struct Countdown(AtomicU64, AtomicU64);

    impl Work for Countdown {
        fn step(&self) -> bool {
            let left =
                self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if left.is_ok() {
                self.1.fetch_add(1, Ordering::SeqCst);
            }
            left.is_ok()
        }
    }

    #[test]
    fn work_is_done_and_threads_end_with_the_pool() {
        ends(|| {
            for _ in 0..200 {
                let pool = ThreadPool::of_process(3).unwrap();
                let works: Vec<_> =
                    (0..3).map(|_| Arc::new(Countdown(100.into(), 0.into()))).collect();
                works.iter().for_each(|work| pool.add(work.clone()));
                while works.iter().any(|work| work.1.load(Ordering::SeqCst) < 100) {
                    std::thread::yield_now();
                }
                drop(pool); // joins its threads
            }
        });
    }

    #[test]
    fn a_notification_between_the_check_for_work_and_the_sleep_is_not_lost() {
        ends(|| {
            let pool = ThreadPool::of_process(2).unwrap();
            let work = Arc::new(Countdown(0.into(), 0.into()));
            pool.add(work.clone());
            for n in 1..2000 {
                work.0.fetch_add(1, Ordering::SeqCst);
                pool.notifier().notify_one();
                while work.1.load(Ordering::SeqCst) < n {
                    std::thread::yield_now();
                }
            }
        });
    }
}
