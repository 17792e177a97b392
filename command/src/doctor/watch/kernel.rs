//! The counters of the kernel as plain values, parsed from the texts of `/proc`.
//!
//! A line that has another form counts as missing.

/// Bytes of a sector in `/proc/diskstats`, whatever the disk has.
const SECTOR: u64 = 512;

/// What processors did since the machine was started, in ticks of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// In programs.
    pub(crate) user: u64,
    /// In the kernel, with interrupts.
    pub(crate) system: u64,
    /// Nothing.
    pub(crate) idle: u64,
    /// Nothing, while a process waited for a disk.
    pub(crate) waiting: u64,
    /// Nothing, because the host of this virtual machine gave the processor to others.
    pub(crate) stolen: u64,
}

impl CpuTicks {
    /// Returns all ticks.
    pub(crate) fn all(&self) -> u64 {
        self.user + self.system + self.idle + self.waiting + self.stolen
    }

    /// Returns what was done since `before`.
    pub(crate) fn since(&self, before: &CpuTicks) -> CpuTicks {
        CpuTicks {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            // The kernel's own numbers of waiting may decrease.
            waiting: self.waiting.saturating_sub(before.waiting),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }
}

/// `/proc/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Processors {
    /// All processors together.
    pub(crate) all: CpuTicks,
    /// Each processor that is online, by its number.
    pub(crate) each: Vec<(u64, CpuTicks)>,
    /// Threads that run or wait for a processor.
    pub(crate) running: u64,
    /// Processes that wait for a disk.
    pub(crate) blocked: u64,
}

/// Parses `/proc/stat`.
pub(crate) fn processors(text: &str) -> Processors {
    let mut found = Processors::default();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        let first = rest.split_whitespace().next().and_then(|word| word.parse().ok());
        match name {
            "cpu" => found.all = ticks(rest),
            "procs_running" => found.running = first.unwrap_or(0),
            "procs_blocked" => found.blocked = first.unwrap_or(0),
            name => {
                let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
                found.each.extend(number.map(|number| (number, ticks(rest))));
            }
        }
    }
    found
}

/// Parses the ticks of a processor. The time of guests is part of that of programs.
fn ticks(rest: &str) -> CpuTicks {
    let mut fields = [0; 8];
    for (field, word) in fields.iter_mut().zip(rest.split_whitespace()) {
        *field = word.parse().unwrap_or(0);
    }
    let [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = fields;
    let system = system + interrupts + soft_interrupts;
    CpuTicks { user: user + nice, system, idle, waiting, stolen }
}

/// What a disk did since the machine was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    /// `nvme0n1`.
    pub(crate) name: String,
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// Milliseconds from the requests to the ends of all reads, added.
    pub(crate) read_ms: u64,
    pub(crate) writes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) write_ms: u64,
    /// Milliseconds in which at least one request was in progress.
    pub(crate) busy_ms: u64,
    /// Milliseconds that all requests were in progress, added.
    pub(crate) queued_ms: u64,
}

/// Parses `/proc/diskstats`. Keeps the devices that `is_disk` accepts and that ever did something.
pub(crate) fn disks(text: &str, is_disk: impl Fn(&str) -> bool) -> Vec<DiskCounters> {
    let known = text.lines().filter_map(disk);
    known.filter(|disk| disk.reads + disk.writes > 0 && is_disk(&disk.name)).collect()
}

fn disk(line: &str) -> Option<DiskCounters> {
    let mut words = line.split_whitespace().skip(2);
    let name = words.next()?.to_string();
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let [reads, _, read, read_ms, writes, _, written, write_ms, _, busy_ms, queued_ms, ..] =
        numbers[..]
    else {
        return None;
    };
    let read_bytes = read.saturating_mul(SECTOR);
    let written_bytes = written.saturating_mul(SECTOR);
    Some(DiskCounters {
        name,
        reads,
        read_bytes,
        read_ms,
        writes,
        written_bytes,
        write_ms,
        busy_ms,
        queued_ms,
    })
}

/// What a network interface carried since it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NetworkCounters {
    /// `eth0`.
    pub(crate) name: String,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
}

/// Parses `/proc/net/dev`. Leaves out the loopback, and interfaces that never carried anything.
pub(crate) fn network(text: &str) -> Vec<NetworkCounters> {
    let known = text.lines().filter_map(interface);
    known.filter(|one| one.name != "lo" && one.received_bytes + one.sent_bytes > 0).collect()
}

fn interface(line: &str) -> Option<NetworkCounters> {
    let (name, rest) = line.split_once(':')?;
    let mut words = rest.split_whitespace();
    let received_bytes = words.next()?.parse().ok()?;
    let sent_bytes = words.nth(7)?.parse().ok()?;
    Some(NetworkCounters { name: name.trim().to_string(), received_bytes, sent_bytes })
}

/// `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryNow {
    pub(crate) total: u64,
    /// What programs may still take without swapping.
    pub(crate) available: u64,
    /// Bytes of files.
    pub(crate) cached: u64,
    /// Bytes of files that are not on disk yet.
    pub(crate) dirty: u64,
    pub(crate) swapped: u64,
}

/// Parses `/proc/meminfo`.
pub(crate) fn memory(text: &str) -> Option<MemoryNow> {
    Some(MemoryNow {
        total: kilobytes(text, "MemTotal:")?,
        available: kilobytes(text, "MemAvailable:").or(kilobytes(text, "MemFree:"))?,
        cached: kilobytes(text, "Cached:")? + kilobytes(text, "Buffers:").unwrap_or(0),
        dirty: kilobytes(text, "Dirty:").unwrap_or(0) + kilobytes(text, "Writeback:").unwrap_or(0),
        swapped: kilobytes(text, "SwapTotal:")
            .unwrap_or(0)
            .saturating_sub(kilobytes(text, "SwapFree:").unwrap_or(0)),
    })
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    number(text, name)?.checked_mul(1024)
}

/// Returns the number after a name at the beginning of a line.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `/proc/vmstat`: what moved since the machine was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Pages that came from and went to swap.
    pub(crate) swapped_in: u64,
    pub(crate) swapped_out: u64,
    /// Faults that waited for a disk.
    pub(crate) major_faults: u64,
    /// Pages of files that were read again soon after they had to leave memory.
    pub(crate) refaults: u64,
}

/// Parses `/proc/vmstat`.
pub(crate) fn paging(text: &str) -> Paging {
    let refaults = number(text, "workingset_refault_file ");
    Paging {
        swapped_in: number(text, "pswpin ").unwrap_or(0),
        swapped_out: number(text, "pswpout ").unwrap_or(0),
        major_faults: number(text, "pgmajfault ").unwrap_or(0),
        // Before Linux 5.9 it has this name.
        refaults: refaults.or(number(text, "workingset_refault ")).unwrap_or(0),
    }
}
