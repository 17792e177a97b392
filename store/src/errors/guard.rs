//! `guarded`: a panic of a dependency is an error.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use crate::errors::error::{Error, ErrorKind, Result};

/// Calls `call`, which makes a client.
///
/// # Errors
/// [`ErrorKind::Answer`]: it has panicked.
pub(crate) fn guarded<T>(url: &str, call: impl FnOnce() -> T) -> Result<T> {
    // What was being made is dropped, so nothing half-made is used.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| fault(url, &*panic))
}

/// As [`guarded`], of a request.
///
/// # Errors
/// As [`guarded`].
pub(crate) async fn guarded_request<T>(url: &str, request: impl Future<Output = T>) -> Result<T> {
    AssertUnwindSafe(request).catch_unwind().await.map_err(|panic| fault(url, &*panic))
}

fn fault(url: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let text = format!("the client of stores has failed ({text}): this is a bug, please report it");
    Error::new(ErrorKind::Answer, url, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        fn broken(n: u32) -> u32 {
            if n > 0 { panic!("the client broke: {n}") } else { n }
        }
        assert_eq!(guarded("s3://b", || broken(0)).unwrap(), 0);
        let error = guarded("s3://b", || broken(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Answer);
        assert!(error.text().contains("the client broke: 1"), "{error}");
        let request = guarded_request("s3://b", async { broken(2) });
        let error = crate::runtime::wait("s3://b", request).unwrap_err();
        assert!(error.text().contains("the client broke: 2"), "{error}");
    }
}
