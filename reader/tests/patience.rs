//! Waits that only a hang exceeds, however busy the machine is.
#![allow(missing_docs, unreachable_pub, dead_code)] // each file of tests uses a part

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What has not happened by then never will.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Runs `work` in a thread, and panics if it hangs.
#[track_caller]
pub fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        let result = work();
        let _ = done.send(());
        result
    });
    let hangs = ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
    assert!(!hangs, "{what} hangs");
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Waits until `met` returns true, and panics if it never does.
#[track_caller]
pub fn until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
