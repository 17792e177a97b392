//! What the parts of a tokenizer may do with one text: the steps back and the time of its regular expressions, and the
//! bytes that its normalizers add. A file of others decides all three, and few bytes of it can ask for any number.
//!
//! The library calls the parts without any context, on the thread of the caller: the allowance is one of the thread.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tarflume_formats::panics::{self, Panicked};

/// Steps back in a text for each byte of it: those of usual expressions are fewer than ten.
const STEPS: u64 = 32;
/// Bytes that normalizers add for each byte of a text: a Chinese character gets two spaces, a space becomes U+2581.
const GROWTH: u64 = 4;
/// Time for each byte of a text: the slowest tokenizers take a hundredth of it.
const TIME: Duration = Duration::from_micros(50);
/// Characters that matches may have read before the clock is read: more than a second of reading has no look at it.
const UNSEEN: u64 = 1 << 26;
/// The allowance of an empty text.
const BASE: Allowance = Allowance {
    steps: 100_000,
    bytes: 4096,
    time: Duration::from_secs(10),
    began: None,
    unseen: 0,
};

thread_local! {
    static LEFT: Cell<Allowance> = const { Cell::new(BASE) };
    /// The first error of a normalizer, which the library does not pass on.
    static FAILED: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone, Copy)]
struct Allowance {
    steps: u64,
    bytes: u64,
    /// Processor time of the thread, from `began`: other work of the machine is not counted.
    time: Duration,
    /// The clock when it was read first.
    began: Option<Duration>,
    /// Characters that may have been read since the clock was read.
    unseen: u64,
}

/// What was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exceeded {
    Steps,
    Bytes,
    Time,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exceeded::Steps => write!(
                f,
                "a regular expression of the tokenizer goes back more than {STEPS} times for each byte; simplify it"
            ),
            Exceeded::Bytes => write!(
                f,
                "the normalizers of the tokenizer add more than {GROWTH} bytes for each byte; remove those that multiply"
            ),
            Exceeded::Time => write!(
                f,
                "the regular expressions of the tokenizer take more than {} s and {} s for each MB; simplify them",
                BASE.time.as_secs(),
                TIME.as_micros(),
            ),
        }
    }
}

impl std::error::Error for Exceeded {}

/// Nothing bounds one match of a regular expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unbounded;

impl fmt::Display for Unbounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "nothing bounds one match of it: it repeats a lookaround of any length, calls itself or nests repetitions; \
             simplify it",
        )
    }
}

impl std::error::Error for Unbounded {}

/// Why a call of the library has no result.
#[derive(Debug)]
pub(super) enum Fault {
    Refused(tokenizers::Error),
    /// A normalizer has failed; the library has gone on without it.
    Normalizer(String),
    Panicked(Panicked),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Refused(error) => error.fmt(f),
            Fault::Normalizer(text) => f.write_str(text),
            Fault::Panicked(panic) => write!(f, "the library `tokenizers` has failed: {panic}"),
        }
    }
}

/// Calls the library with the allowance for a text of `bytes` bytes.
///
/// # Errors
/// Returns the error or the panic of the call.
pub(super) fn within<T>(
    bytes: usize,
    call: impl FnOnce() -> tokenizers::Result<T>,
) -> Result<T, Fault> {
    let time = TIME.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
    within_time(bytes, BASE.time.saturating_add(time), call)
}

/// As [`within`], with another limit of the time.
pub(super) fn within_time<T>(
    bytes: usize,
    time: Duration,
    call: impl FnOnce() -> tokenizers::Result<T>,
) -> Result<T, Fault> {
    let bytes = bytes as u64;
    let allowance = Allowance {
        steps: BASE.steps.saturating_add(bytes.saturating_mul(STEPS)),
        bytes: BASE.bytes.saturating_add(bytes.saturating_mul(GROWTH)),
        time,
        ..BASE
    };
    let before = LEFT.replace(allowance);
    FAILED.take();
    let ended = panics::guarded(call);
    LEFT.set(before);
    if let Some(text) = FAILED.take() {
        return Err(Fault::Normalizer(text));
    }
    match ended {
        Ok(result) => result.map_err(Fault::Refused),
        Err(panic) => Err(Fault::Panicked(panic)),
    }
}

/// Notes the error of a normalizer.
pub(super) fn failed(error: &tokenizers::Error) {
    FAILED.with_borrow_mut(|failed| {
        failed.get_or_insert_with(|| error.to_string());
    });
}

/// Returns the steps that are left.
pub(super) fn steps_left() -> u64 {
    LEFT.get().steps
}

/// Uses up steps.
///
/// # Errors
/// Returns an error if so many are not left.
pub(super) fn take_steps(steps: u64) -> Result<(), Exceeded> {
    let left = LEFT.get();
    let rest = left.steps.checked_sub(steps).ok_or(Exceeded::Steps)?;
    LEFT.set(Allowance { steps: rest, ..left });
    Ok(())
}

/// Notes that a match may read so many characters, and compares the time once that is much.
///
/// # Errors
/// Returns an error if the time is over.
pub(super) fn may_read(characters: u64) -> Result<(), Exceeded> {
    let left = LEFT.get();
    let unseen = left.unseen.saturating_add(characters);
    LEFT.set(Allowance { unseen, ..left });
    // A match in a longer text takes longer, and has more time.
    if unseen < UNSEEN.max(characters.saturating_mul(16)) {
        return Ok(());
    }
    time_left().map(drop)
}

/// Reads the clock, and returns the time that is left.
///
/// # Errors
/// Returns an error if none is left.
pub(super) fn time_left() -> Result<Duration, Exceeded> {
    let left = LEFT.get();
    let now = thread_time();
    let began = left.began.unwrap_or(now);
    LEFT.set(Allowance { began: Some(began), unseen: 0, ..left });
    left.time.checked_sub(now.saturating_sub(began)).ok_or(Exceeded::Time)
}

/// Returns the processor time that this thread has taken.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("a thread has taken no negative time");
    let nanos = u32::try_from(time.tv_nsec).expect("nanoseconds are below a thousand million");
    Duration::new(seconds, nanos)
}

/// Uses up bytes that are added to a text.
///
/// # Errors
/// Returns an error if so many are not left.
pub(super) fn take_bytes(bytes: usize) -> Result<(), Exceeded> {
    let left = LEFT.get();
    let rest = left.bytes.checked_sub(bytes as u64).ok_or(Exceeded::Bytes)?;
    LEFT.set(Allowance { bytes: rest, ..left });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_one_of_a_call() {
        assert!(within(1000, || Ok(take_bytes(8096)?)).is_ok());
        let error = within(1000, || Ok(take_bytes(8097)?)).unwrap_err();
        assert!(error.to_string().contains("add more than 4 bytes"), "{error}");
        assert!(within(0, || Ok(take_steps(100_001)?)).is_err());
        let error = within::<()>(0, || panic!("no regex")).unwrap_err();
        assert!(error.to_string().contains("`tokenizers` has failed: no regex"), "{error}");
        assert_eq!(steps_left(), BASE.steps, "also after a panic");
    }
}
