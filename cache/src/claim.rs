//! `Claim`: who writes a slot, and since when. Nobody waits for a process that is gone.

use rustix::process::{Pid, getpid, test_kill_process};
use rustix::time::{ClockId, clock_gettime};

/// A claim is void after so many seconds, also if its process lives.
const LONGEST: u64 = 30;

/// A process and a time, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pid: u32,
    /// Seconds since the machine was started.
    since: u32,
}

impl Claim {
    /// A claim of this process.
    pub(crate) fn now() -> Claim {
        Claim { pid: getpid().as_raw_nonzero().get() as u32, since: seconds() as u32 }
    }

    pub(crate) fn word(self) -> u64 {
        u64::from(self.pid) << 32 | u64::from(self.since)
    }

    pub(crate) fn of_word(word: u64) -> Claim {
        Claim { pid: (word >> 32) as u32, since: word as u32 }
    }

    /// True if another process may take the slot: the time is over, or is one of an earlier start of the machine,
    /// or the process is gone. In another container the number may be that of another process: then the time
    /// decides, or a block is fetched twice.
    pub(crate) fn is_void(self) -> bool {
        let now = seconds();
        let since = u64::from(self.since);
        // The file outlives a restart of the machine, after which this clock begins at 0 again.
        if now < since || now - since > LONGEST {
            return true;
        }
        match Pid::from_raw(self.pid as i32) {
            Some(pid) => test_kill_process(pid) == Err(rustix::io::Errno::SRCH),
            None => true,
        }
    }
}

fn seconds() -> u64 {
    // Unlike the time of day, it is never set; unlike Monotonic, it goes on while the machine is suspended.
    clock_gettime(ClockId::Boottime).tv_sec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_dead_processes_and_old_ones_are_void() {
        let mine = Claim::now();
        assert_eq!(Claim::of_word(mine.word()), mine);
        assert!(!mine.is_void());
        assert!(Claim { since: mine.since + 100, ..mine }.is_void(), "before a restart");
        assert!(Claim { since: mine.since.wrapping_sub(40), ..mine }.is_void());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(Claim { pid, ..mine }.is_void());
        assert!(Claim { pid: 0, ..mine }.is_void());
    }
}
