//! The one pool of threads of a process: all loaders share it, the last to go joins it.
//!
//! The pool knows nothing of samples. Whoever has work registers it; an idle thread asks each in turn
//! whether there is a step to do, and sleeps until somebody says that there is.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as StdMutex, RwLock, Weak};
use std::thread::JoinHandle;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};
use tarflume_formats::poison::IgnorePoison;

/// Something with steps that any thread may do.
pub(crate) trait Work: Send + Sync {
    /// Does one step, if there is one to do: milliseconds, not seconds. False if there was none; the
    /// work then calls [`Bell::ring`] when there is.
    fn step(&self) -> bool;
}

/// Wakes the threads of a pool.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// Counts the rings, so that one between asking and sleeping is not missed.
    rung: Mutex<u64>,
    heard: Condvar,
}

impl Bell {
    fn count(&self) -> MutexGuard<'_, u64> {
        self.rung.lock().ignore_poison()
    }

    /// There is work for one more thread.
    pub(crate) fn ring(&self) {
        *self.count() += 1;
        self.heard.notify_one();
    }

    /// There is work for all threads.
    pub(crate) fn ring_all(&self) {
        *self.count() += 1;
        self.heard.notify_all();
    }
}

pub(crate) struct Shared {
    works: RwLock<Vec<Arc<dyn Work>>>,
    bell: Arc<Bell>,
    stop: AtomicBool,
}

/// A process, by its id. After a fork the child has the parent's memory and none of its threads: what
/// they held locked stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn this() -> Process {
        Process(std::process::id())
    }

    /// Says that it is the running one.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: the running one is a child of it.
    pub(crate) fn expect(self) -> Result<()> {
        if self == Process::this() {
            return Ok(());
        }
        let text = "this loader was made before a fork, and its threads stayed behind: make it in the \
                    child, or use spawn";
        Err(Error::usage(text))
    }
}

/// Threads, and what they work on.
pub(crate) struct Pool {
    process: Process,
    shared: Arc<Shared>,
    threads: StdMutex<Vec<JoinHandle<()>>>,
}

thread_local! {
    /// True in the threads of a pool.
    static IN_POOL: Cell<bool> = const { Cell::new(false) };
}

/// Says that the calling thread is not a thread of a pool: a thread of a pool that waits for a batch may
/// wait for itself.
///
/// # Errors
/// [`ErrorKind::Usage`]: it is.
pub(crate) fn expect_outside() -> Result<()> {
    if !IN_POOL.get() {
        return Ok(());
    }
    let text = "a decoder or a function of a column asked a loader for a batch; loaders share their \
                threads, so this could wait for itself. Ask before or after, in a thread of the program; \
                Dataset::get reads single samples in a decoder";
    Err(Error::usage(text))
}

/// The pool of this process, while somebody holds it.
static POOL: StdMutex<Weak<Pool>> = StdMutex::new(Weak::new());

impl Pool {
    /// The pool of this process, with at least `threads` threads.
    ///
    /// # Errors
    /// The system refuses to start a thread.
    pub(crate) fn of_process(threads: usize) -> Result<Arc<Pool>> {
        let mut pool = POOL.lock().ignore_poison();
        let found = match pool.upgrade().filter(|found| found.process().expect().is_ok()) {
            Some(found) => found,
            None => {
                let (process, shared) = (Process::this(), Arc::new(Shared::new()));
                Arc::new(Pool { process, shared, threads: StdMutex::default() })
            }
        };
        found.grow(threads)?;
        *pool = Arc::downgrade(&found);
        Ok(found)
    }

    fn grow(&self, threads: usize) -> Result<()> {
        let mut running = self.threads.lock().ignore_poison();
        while running.len() < threads {
            let shared = self.shared.clone();
            let name = format!("tarflume-{}", running.len());
            let thread = std::thread::Builder::new().name(name).spawn(move || shared.run());
            let thread = thread.map_err(|e| {
                let text = format!(
                    "thread {} of {threads} can't be started; ask for fewer with .threads(), or raise the limits \
                     of processes and memory (`ulimit -u`, `ulimit -v`)",
                    running.len() + 1
                );
                Error::new(ErrorKind::Machine, text).with_source(e)
            });
            running.push(thread?);
        }
        Ok(())
    }

    /// In which process its threads are.
    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// What wakes its threads.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        self.shared.bell()
    }

    /// Puts `work` among those that the threads look after.
    pub(crate) fn add(&self, work: Arc<dyn Work>) {
        self.shared.add(work);
    }

    /// Takes it away again. A step that is being done goes on.
    pub(crate) fn remove(&self, work: &Arc<dyn Work>) {
        let mut works = self.shared.works.write().ignore_poison();
        works.retain(|other| !Arc::ptr_eq(other, work));
    }
}

impl Shared {
    pub(crate) fn new() -> Shared {
        let (works, bell, stop) = (RwLock::default(), Arc::default(), AtomicBool::new(false));
        Shared { works, bell, stop }
    }

    /// Puts `work` among those that the threads look after.
    pub(crate) fn add(&self, work: Arc<dyn Work>) {
        self.works.write().ignore_poison().push(work);
        self.bell.ring_all();
    }

    /// Ends [`Shared::run`] in all threads.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.bell.ring_all();
    }

    /// What wakes its threads.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        self.bell.clone()
    }

    /// What a thread of the pool does: steps of its works until it is stopped.
    pub(crate) fn run(&self) {
        IN_POOL.set(true);
        let mut turn = 0;
        loop {
            let rung = *self.bell.count();
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            if self.round(&mut turn) {
                continue;
            }
            let mut count = self.bell.count();
            while *count == rung {
                count = self.bell.heard.wait(count).ignore_poison();
            }
        }
    }

    /// Asks every work once, beginning behind the one that was asked last; true after a step.
    fn round(&self, turn: &mut usize) -> bool {
        let count = self.works.read().ignore_poison().len();
        for _ in 0..count {
            *turn += 1;
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

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process.expect().is_err() {
            // These threads are not here, and can't be waited for.
            let threads = self.threads.get_mut().ignore_poison();
            std::mem::forget(std::mem::take(threads));
            return;
        }
        self.shared.stop();
        let threads = self.threads.get_mut().ignore_poison();
        let me = std::thread::current().id();
        for thread in threads.drain(..).filter(|thread| thread.thread().id() != me) {
            let _ = thread.join(); // a panic in it was caught where it happened
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    /// Runs `test` in a thread: if a wake-up is lost, it fails after a minute and does not hang.
    fn within_a_minute(test: impl FnOnce() + Send + 'static) {
        let (done, ended) = channel();
        let thread = std::thread::spawn(move || {
            test();
            let _ = done.send(());
        });
        if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
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
    fn works_are_done_and_threads_end_with_the_pool() {
        within_a_minute(|| {
            for _ in 0..200 {
                let pool = Pool::of_process(3).unwrap();
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
    fn a_ring_between_asking_and_sleeping_is_heard() {
        within_a_minute(|| {
            let pool = Pool::of_process(2).unwrap();
            let work = Arc::new(Countdown(0.into(), 0.into()));
            pool.add(work.clone());
            for n in 1..2000 {
                work.0.fetch_add(1, Ordering::SeqCst);
                pool.bell().ring();
                while work.1.load(Ordering::SeqCst) < n {
                    std::thread::yield_now();
                }
            }
        });
    }
}
