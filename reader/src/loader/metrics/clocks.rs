//! `Clocks`: a thread's clocks, read together: how long it ran, slept and waited for a core in between.
//!
//! A read of the clocks costs some microseconds, so [`Clocks::seldom`] reads them once in 10 ms a thread.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::loader::metrics::idle::SampledTime;

/// The least time between two tasks of a thread that are measured.
const SELDOM: Duration = Duration::from_millis(10);

/// Copying bytes out of the page cache takes less than this for each byte, and this for each read.
const COPY: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_micros(40));
/// Shorter waits are not examined: a thread that loses its core is away for longer.
const TURN: Duration = Duration::from_millis(1);

thread_local! {
    static LAST: Cell<Option<Clocks>> = const { Cell::new(None) };
}

/// What the clocks of a thread show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    wall: Instant,
    /// Time that the thread computed.
    cpu: Duration,
    /// Time that it was ready to run and had no core.
    queued: Duration,
}

impl Clocks {
    /// The clocks at this time.
    pub(crate) fn now() -> Clocks {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu = Duration::new(cpu.tv_sec.max(0) as u64, cpu.tv_nsec.max(0) as u32);
        Clocks { wall: Instant::now(), cpu, queued: queued().unwrap_or_default() }
    }

    /// The clocks at this time, and what the thread did since the last call; `None` if that is less than 10 ms ago.
    pub(crate) fn seldom() -> Option<(Clocks, SampledTime)> {
        let last = LAST.get();
        let due = last.is_none_or(|last| last.wall.elapsed() >= SELDOM);
        due.then(Clocks::now).map(|now| {
            LAST.set(Some(now));
            (now, last.map_or_else(SampledTime::default, |last| last.until(now)))
        })
    }

    /// What the thread did since then.
    pub(crate) fn spent(self) -> SampledTime {
        self.until(Clocks::now())
    }

    fn until(self, now: Clocks) -> SampledTime {
        let wall = now.wall - self.wall;
        let queued = now.queued.saturating_sub(self.queued).min(wall);
        let ran = now.cpu.saturating_sub(self.cpu);
        let asleep = wall.saturating_sub(queued).saturating_sub(ran);
        SampledTime { wall, asleep, queued }
    }
}

/// How long a thread slept in a read of `bytes` bytes that just ended and took `took`. Zero if copying takes as long. Reads
/// the clocks only after a long read.
pub(crate) fn slept(took: Duration, bytes: u64) -> Duration {
    let (byte, read) = COPY;
    let copying = byte.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
    if took <= copying + read {
        return Duration::ZERO;
    }
    let waited = took - copying;
    if took < TURN {
        return waited;
    }
    // A thread that lost its core in the read did not wait for storage.
    let last = LAST.get().map_or(Duration::ZERO, |last| last.queued);
    let now = queued().unwrap_or_default();
    waited.saturating_sub(now.saturating_sub(last))
}

/// Time that this thread waited for a core, as Linux counts it; `None` where it is not counted.
fn queued() -> Option<Duration> {
    let mut text = [0; 96];
    let read = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let text = std::str::from_utf8(&text[..read]).ok()?;
    let nanoseconds = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_distinguished_from_work() {
        let begun = Clocks::now();
        std::thread::sleep(Duration::from_millis(60));
        let slept = begun.spent();
        assert!(slept.wall >= Duration::from_millis(60));
        assert!(slept.slept().unwrap() > 0.5, "{slept:?}");
        let (now, mut random) = (Clocks::now(), 1u64);
        while now.wall.elapsed() < Duration::from_millis(60) {
            random = std::hint::black_box(random.wrapping_mul(6_364_136_223_846_793_005));
        }
        let worked = now.spent();
        assert!(worked.slept().unwrap() < 0.5, "{worked:?} {random}");
    }

    #[test]
    fn a_thread_is_measured_seldom() {
        let thread = std::thread::spawn(|| {
            let begun = Instant::now();
            let measured = (0..1000).filter(|_| Clocks::seldom().is_some()).count() as u128;
            (measured, begun.elapsed().as_millis())
        });
        let (measured, took) = thread.join().unwrap();
        assert!((1..=1 + took / 10).contains(&measured), "{measured} in {took} ms");
    }

    #[test]
    fn a_read_that_is_as_fast_as_copying_did_not_sleep() {
        let (us, ms) = (Duration::from_micros, Duration::from_millis);
        assert_eq!(slept(us(39), 0), us(0));
        assert_eq!(slept(us(250), 256 << 10), us(0));
        assert_eq!(slept(us(100), 1000), us(99));
        assert_eq!(slept(ms(900), u64::MAX), us(0));
        std::thread::sleep(ms(30));
        assert!(slept(ms(30), 1000) > ms(0));
    }
}
