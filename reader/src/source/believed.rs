//! `Believed`: how long the answer is believed that a file still is what was opened.
//!
//! Asking costs two calls of the system, and lookups come by the hundred thousand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::Result;

/// As long as a mapped sidecar is believed: see [`tarflume_formats::Index::intact`].
const BELIEVED: Duration = Duration::from_millis(5);

/// When a file is asked about again.
#[derive(Debug)]
pub(crate) struct Believed {
    start: Instant,
    /// Microseconds since `start`.
    until: AtomicU64,
}

impl Believed {
    /// Nothing was asked yet.
    pub(crate) fn new() -> Believed {
        Believed { start: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Has `ask` ask, unless the last answer is believed still.
    ///
    /// # Errors
    /// What `ask` gives; the next call asks anew.
    pub(crate) fn or_ask(&self, ask: impl FnOnce() -> Result<()>) -> Result<()> {
        self.or_ask_at(self.start.elapsed(), ask)
    }

    fn or_ask_at(&self, now: Duration, ask: impl FnOnce() -> Result<()>) -> Result<()> {
        if (now.as_micros() as u64) < self.until.load(Ordering::Relaxed) {
            return Ok(());
        }
        ask()?;
        self.until.store((now + BELIEVED).as_micros() as u64, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::error::Error;

    #[test]
    fn an_answer_is_believed_for_a_while_and_a_refusal_never() {
        let (believed, asked) = (Believed::new(), Cell::new(0));
        let at = |micros, fails: bool| {
            believed.or_ask_at(Duration::from_micros(micros), || {
                asked.set(asked.get() + 1);
                if fails { Err(Error::usage("changed")) } else { Ok(()) }
            })
        };
        assert!(at(0, true).is_err() && at(0, true).is_err());
        assert_eq!(asked.get(), 2);
        assert!(at(1000, false).is_ok() && at(1001, true).is_ok() && at(5999, true).is_ok());
        assert_eq!(asked.get(), 3, "one answer for all of five milliseconds");
        assert!(at(6000, true).is_err() && at(6001, false).is_ok());
        assert_eq!(asked.get(), 5);
    }
}
