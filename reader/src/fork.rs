//! `ForkGuard`: a value that only the process that made it may use.
//!
//! After a fork the child has a copy of the parent's memory and none of its threads. A lock that such a thread held
//! stays locked in the child, and a join waits forever. So a child may neither use nor drop what belongs to threads.

use std::mem;

use tarflume_types::{Error, Result};

/// A process, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process(u32);

impl Process {
    fn current() -> Process {
        Process(std::process::id())
    }

    fn is_current(self) -> bool {
        self == Process::current()
    }
}

/// The error of a call in a forked child.
fn forked() -> Error {
    let text = "this loader was made before a fork, and its threads stayed behind: make it in the \
                child, or use spawn";
    Error::usage(text)
}

/// Holds a value that is bound to the process that made it.
///
/// In a forked child [`ForkGuard::get`] returns an error, and the value is forgotten instead of dropped.
#[derive(Debug)]
pub(crate) struct ForkGuard<T> {
    process: Process,
    /// `None` only while the guard is consumed.
    value: Option<T>,
}

impl<T> ForkGuard<T> {
    /// Binds `value` to this process.
    pub(crate) fn new(value: T) -> ForkGuard<T> {
        ForkGuard { process: Process::current(), value: Some(value) }
    }

    /// Checks that this process made the value.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage): this process is a forked child.
    pub(crate) fn check_not_forked(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(forked()) }
    }

    /// The value.
    ///
    /// # Errors
    /// As [`ForkGuard::check_not_forked`].
    pub(crate) fn get(&self) -> Result<&T> {
        self.check_not_forked()?;
        self.value.as_ref().ok_or_else(forked)
    }

    /// Takes the value out. In a forked child the value is forgotten, and the result is `None`.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        let value = self.value.take();
        if self.process.is_current() {
            return value;
        }
        mem::forget(value);
        None
    }
}

impl<T> Drop for ForkGuard<T> {
    fn drop(&mut self) {
        if !self.process.is_current() {
            mem::forget(self.value.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tarflume_types::ErrorKind;

    use super::*;

    struct CountsDrops<'a>(&'a AtomicU32);

    impl Drop for CountsDrops<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A guard as a forked child has it: another process made it.
    fn inherited<T>(value: T) -> ForkGuard<T> {
        let parent = Process(std::process::id().wrapping_add(1));
        ForkGuard { process: parent, value: Some(value) }
    }

    #[test]
    fn a_value_is_used_and_dropped_in_the_process_that_made_it() {
        let count = AtomicU32::new(0);
        let guard = ForkGuard::new(CountsDrops(&count));
        assert!(guard.get().is_ok() && guard.check_not_forked().is_ok());
        drop(guard);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert!(ForkGuard::new(CountsDrops(&count)).into_inner().is_some());
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_forked_child_gets_an_error_and_drops_nothing() {
        let count = AtomicU32::new(0);
        let guard = inherited(CountsDrops(&count));
        let error = guard.get().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().contains("before a fork"), "{error}");
        drop(guard);
        assert!(inherited(CountsDrops(&count)).into_inner().is_none());
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}
