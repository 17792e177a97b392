//! `catch_panic`: panics of code that a user handed in become errors. Knows nothing of what it runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tarflume_types::{Error, ErrorKind, Result};

/// Runs `call`. A panic becomes an error that names `whose` code panicked.
pub(crate) fn catch_panic<T>(whose: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = message.unwrap_or("no message");
        Err(Error::new(ErrorKind::Panicked, format!("{whose} panicked: {message}")))
    })
}
