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
    waited.saturating_sub(queued().unwrap_or_default().saturating_sub(last))
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

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn sleep_is_what_is_neither_work_nor_waiting_for_a_core() {
        fn found(asleep: u32, queued: u32) -> SampledTime {
            SampledTime { wall: 100 * MS, asleep: asleep * MS, queued: queued * MS }
        }

        fn after(wall: u32, cpu: u32, queued: u32) -> SampledTime {
            let begun = Clocks { wall: Instant::now(), cpu: 5 * MS, queued: 7 * MS };
            let wall = begun.wall + wall * MS;
            begun.until(Clocks { wall, cpu: (5 + cpu) * MS, queued: (7 + queued) * MS })
        }

        assert_eq!(after(100, 0, 0), found(100, 0));
        assert_eq!(after(100, 30, 0), found(70, 0));
        assert_eq!(after(100, 30, 50), found(20, 50));
        // The clocks are not read at the same instant.
        assert_eq!(after(100, 70, 50), found(0, 50));
        assert_eq!(after(100, 0, 170), found(0, 100));
    }

    /// True if `judge` holds for what a thread does in `work`, of a few tries that each take twice as long: a thread
    /// may lose its core in any of them.
    fn some_try(work: impl Fn(Duration), judge: impl Fn(SampledTime) -> bool) -> bool {
        (0..10).map(|n| MS * 20 * (1 << n)).any(|time| {
            let begun = Clocks::now();
            work(time);
            judge(begun.spent())
        })
    }

    #[test]
    fn the_clocks_of_the_system_distinguish_sleep_from_work() {
        fn spin(time: Duration) {
            let until = clock_gettime(ClockId::ThreadCPUTime);
            let until = Duration::new(until.tv_sec as u64, until.tv_nsec as u32) + time;
            while Clocks::now().cpu < until {
                std::hint::spin_loop();
            }
        }

        assert!(some_try(std::thread::sleep, |spent| spent.slept() > Some(0.5)));
        assert!(some_try(spin, |spent| spent.slept() < Some(0.5)));
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
        let us = Duration::from_micros;
        assert_eq!(slept(us(39), 0), us(0));
        assert_eq!(slept(us(250), 256 << 10), us(0));
        assert_eq!(slept(us(100), 1000), us(99));
        assert_eq!(slept(900 * MS, u64::MAX), us(0));
        // What it waited for a core is not sleep: this thread has not waited for a day.
        assert!(slept(24 * 3600 * 1000 * MS, 1000) > us(0));
    }
}
