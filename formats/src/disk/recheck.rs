//! `RecheckTimer`: limits how often a file in use is examined.
//!
//! Examining a file is a system call, and lookups come by the million. Reads a clock and no file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long a result stays valid. The system's clock for files moves every 1 to 10 ms.
const BELIEVED: Duration = Duration::from_millis(5);

/// Is due once the last check is older than 5 ms plus the step of the coarse system clock (1 to 10
/// ms).
#[derive(Debug)]
pub struct RecheckTimer {
    /// Microseconds of [`now`] at which it is due.
    due: AtomicU64,
}

impl RecheckTimer {
    /// Creates a timer that is due at once.
    pub fn due() -> RecheckTimer {
        RecheckTimer { due: AtomicU64::new(0) }
    }

    /// Creates a timer for a check that was made just before.
    pub fn started() -> RecheckTimer {
        let timer = RecheckTimer::due();
        timer.restart();
        timer
    }

    /// Returns true if the last check is too old. Costs about 5 ns.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due_at(now())
    }

    /// Restarts the timer after a check.
    pub fn restart(&self) {
        self.restart_at(now());
    }

    #[inline]
    fn is_due_at(&self, now: u64) -> bool {
        now >= self.due.load(Ordering::Relaxed)
    }

    fn restart_at(&self, now: u64) {
        self.due.store(now + BELIEVED.as_micros() as u64, Ordering::Relaxed);
    }
}

/// Microseconds of the clock at the last timer interrupt: reading it takes a quarter of the time of
/// the exact clock.
#[inline]
fn now() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_valid_for_five_milliseconds() {
        let timer = RecheckTimer::due();
        assert!(timer.is_due() && timer.is_due_at(0));
        timer.restart_at(1000);
        assert!(!timer.is_due_at(1000) && !timer.is_due_at(5999) && timer.is_due_at(6000));
    }

    #[test]
    fn the_coarse_clock_moves() {
        let timer = RecheckTimer::started();
        std::thread::sleep(BELIEVED * 4);
        assert!(timer.is_due());
    }
}
