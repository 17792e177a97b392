//! `FirstContact`: gives up soon on a server that has never answered, because its address is probably wrong. A server that
//! has answered before is asked again for minutes.

use std::error::Error as _;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use object_store::client::{HttpError, HttpErrorKind};

/// So long after the first failure, further ones are final: time for a name server or a server that restarts.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a server.
#[derive(Debug, Default)]
pub(crate) struct FirstContact {
    answered: AtomicBool,
    failing: Mutex<Option<Instant>>,
}

impl FirstContact {
    /// There was an answer, whatever it says.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// The error that a caller gets for `error`: one that is not repeated if no connection was made for too long.
    pub(crate) fn judged(&self, error: HttpError, now: Instant) -> HttpError {
        if !is_connecting(&error) || self.answered.load(Ordering::Relaxed) {
            return error;
        }
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *failing.get_or_insert(now);
        if now.saturating_duration_since(first) < PATIENCE {
            error
        } else {
            HttpError::new(HttpErrorKind::Unknown, Unreachable(error))
        }
    }
}

/// True if no connection was made.
pub(crate) fn is_connecting(error: &HttpError) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<reqwest::Error>());
    error.kind() == HttpErrorKind::Connect || source.is_some_and(reqwest::Error::is_connect)
}

/// A server that was never reached.
#[derive(Debug)]
pub(crate) struct Unreachable(HttpError);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no server answers there")
    }
}

impl std::error::Error for Unreachable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> HttpError {
        HttpError::new(HttpErrorKind::Connect, std::io::Error::other("connection refused"))
    }

    #[test]
    fn a_server_that_never_answered_is_given_up_after_some_seconds() {
        let contact = FirstContact::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(contact.judged(refused(), at(0)).kind(), HttpErrorKind::Connect);
        assert_eq!(contact.judged(refused(), at(9)).kind(), HttpErrorKind::Connect);
        let given_up = contact.judged(refused(), at(10));
        assert_eq!(given_up.kind(), HttpErrorKind::Unknown);
        let inner = given_up.source().unwrap();
        assert!(inner.is::<Unreachable>() && inner.to_string() == "no server answers there");
        assert!(inner.source().unwrap().source().unwrap().to_string().contains("refused"));
        let slow = HttpError::new(HttpErrorKind::Timeout, std::io::Error::other("silence"));
        assert_eq!(contact.judged(slow, at(60)).kind(), HttpErrorKind::Timeout);
        contact.answered();
        assert_eq!(contact.judged(refused(), at(60)).kind(), HttpErrorKind::Connect);
    }
}
