//! Panics of code that others handed in become errors. Knows nothing of what it runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result};

/// Runs `what`; a panic in it becomes an error that says so of `whose`.
pub(crate) fn caught<T>(whose: &str, what: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::new(ErrorKind::Panicked, format!("{whose} panicked: {words}")))
    })
}
