//! The most memory that this process may use: that of the machine, or less in a container.

use std::fs;

use rustix::system::sysinfo;

/// Memory limits of the control group that a container runs in, version 2 and version 1.
const LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// Bytes of memory that this process may use at most.
pub(crate) fn memory() -> u64 {
    let info = sysinfo();
    let machine = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)));
    // A file that can't be read, or has the word `max`, sets no limit.
    let limits = LIMITS.iter().filter_map(|path| fs::read_to_string(path).ok());
    let limits = limits.filter_map(|text| text.trim().parse::<u64>().ok());
    limits.fold(machine, u64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
        let total: u64 = total.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(memory() <= total * 1024 && memory() > 1 << 20, "{} of {total} kB", memory());
    }
}
