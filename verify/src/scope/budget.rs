//! `Budget`: a time after which a verification begins nothing.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A time after which no shard and no run of samples is begun. Clones are of the same time.
#[derive(Clone)]
pub struct Budget {
    limit: Duration,
    /// Returns the time since the begin.
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Budget {
    /// Begins a budget now.
    pub fn of(limit: Duration) -> Budget {
        let begin = Instant::now();
        Budget::by_clock(limit, move || begin.elapsed())
    }

    /// Creates a budget whose clock returns the time since its begin.
    pub fn by_clock(
        limit: Duration,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Budget {
        Budget { limit, clock: Arc::new(clock) }
    }

    /// Parses a duration: `90s`, `5m`, `1h30m`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> Result<Duration, String> {
        parsed(text.trim()).ok_or_else(|| {
            format!("'{text}': give a time in hours, minutes and seconds, such as 90s, 5m or 1h30m")
        })
    }

    /// Returns true once the time is over.
    pub(crate) fn is_over(&self) -> bool {
        (self.clock)() >= self.limit
    }
}

fn parsed(mut text: &str) -> Option<Duration> {
    let mut seconds: u64 = 0;
    let mut last = u64::MAX;
    while !text.is_empty() || last == u64::MAX {
        let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
        let number: u64 = text[..digits].parse().ok()?;
        let unit = match text.as_bytes()[digits] {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        if unit >= last {
            return None;
        }
        seconds = seconds.checked_add(number.checked_mul(unit)?)?;
        last = unit;
        text = &text[digits + 1..];
    }
    Some(Duration::from_secs(seconds))
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_and_others_refused() {
        for (text, seconds) in
            [("0s", 0), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("1h1m1s", 3661), ("2h", 7200)]
        {
            assert_eq!(Budget::parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "m", "5 m", "1m1h", "1m1m", "-1s", "1.5h", "99999999999999999999h"] {
            assert!(Budget::parse(text).unwrap_err().contains("such as 90s"), "{text}");
        }
    }

    #[test]
    fn a_budget_is_over_by_its_clock() {
        let limit = Duration::from_secs(5);
        assert!(!Budget::by_clock(limit, || Duration::from_secs(4)).is_over());
        assert!(Budget::by_clock(limit, || Duration::from_secs(5)).is_over());
    }
}
