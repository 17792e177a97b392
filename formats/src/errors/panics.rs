//! `guarded`: a panic of a library that reads foreign bytes becomes an error, because a file must not end the program.
//!
//! What a call was making is dropped after a panic, so nothing half-made is used.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Guarded calls that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A panic of a guarded call. Its text is that of the panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked {
    text: String,
}

impl Panicked {
    fn of(panic: &(dyn Any + Send)) -> Panicked {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Panicked { text: text.unwrap_or("no message").into() }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Panicked {}

/// Calls a function of a library.
///
/// # Errors
/// Returns its panic.
pub fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Panicked> {
    DEPTH.set(DEPTH.get() + 1);
    let ended = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    ended.map_err(|panic| Panicked::of(&*panic))
}

/// Bytes that a library decompresses; a panic of it is an error of reading.
#[derive(Debug)]
pub struct GuardedRead<R>(pub R);

impl<R: Read> Read for GuardedRead<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = guarded(|| self.0.read(into));
        read.unwrap_or_else(|panic| Err(io::Error::new(io::ErrorKind::InvalidData, panic)))
    }
}

/// Lets panics of guarded calls print nothing: their errors say what happened. For programs; a library leaves the hook of
/// its program as it is.
pub fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                before(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        fn broken(n: u32) -> u32 {
            if n > 0 { panic!("it broke: {n}") } else { n }
        }
        assert_eq!(guarded(|| broken(0)), Ok(0));
        assert_eq!(guarded(|| broken(1)).unwrap_err().to_string(), "it broke: 1");
        assert!(guarded(|| guarded(|| broken(2)).unwrap_err()).is_ok());
        assert_eq!(DEPTH.get(), 0, "also after panics");
    }

    #[test]
    fn a_decoder_that_panics_is_an_error_of_reading() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                panic!("index {} out of range", into.len())
            }
        }
        let error = GuardedRead(Broken).read(&mut [0; 7]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "index 7 out of range");
    }
}
