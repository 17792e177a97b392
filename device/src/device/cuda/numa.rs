//! The CPUs near a device. Memory is placed on the NUMA node of the thread that touches it first.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Mutex;
use std::thread::Builder;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tarflume_formats::IgnorePoison;

/// CPUs of the NUMA node that a PCI device is attached to; empty if the machine has one node or does not report it.
pub(super) fn near(sys: &Path, bus: &str) -> Vec<usize> {
    let device = sys.join("bus/pci/devices").join(bus.to_ascii_lowercase());
    let Ok(node) = read(&device.join("numa_node")).trim().parse::<u32>() else {
        return Vec::new(); // -1: none
    };
    listed(&read(&sys.join(format!("devices/system/node/node{node}/cpulist"))))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Parses `0-3,8`.
fn listed(text: &str) -> Vec<usize> {
    text.trim().split(',').filter_map(range).flatten().collect()
}

fn range(part: &str) -> Option<RangeInclusive<usize>> {
    let (from, to) = part.split_once('-').unwrap_or((part, part));
    Some(from.trim().parse::<usize>().ok()?..=to.trim().parse::<usize>().ok()?)
}

/// Those of these CPUs that the calling thread may use: its affinity is that of the user's `taskset`, or of a batch
/// system. Empty if it may use none of them.
fn usable(processors: &[usize]) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let known = processors.iter().copied().filter(|&cpu| cpu < CpuSet::MAX_CPU);
    known.filter(|&cpu| allowed.is_set(cpu)).collect()
}

/// Runs `what` in a thread bound to those of these CPUs that the calling thread may use. Binds nothing if it may use none
/// of them, or if the system refuses.
pub(super) fn on<T: Send>(processors: &[usize], what: impl FnOnce() -> T + Send) -> T {
    let processors = usable(processors);
    if processors.is_empty() {
        return what();
    }
    let what = Mutex::new(Some(what));
    let take = || what.lock().ignore_poison().take();
    std::thread::scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || {
            let mut set = CpuSet::new();
            processors.iter().for_each(|&cpu| set.set(cpu));
            let _ = sched_setaffinity(None, &set);
            take().map(|what| what())
        });
        let done = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => take().map(|what| what()), // no thread can be started: run here, on any CPU
        };
        done.unwrap_or_else(|| unreachable!("it is taken once, above"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_those_of_the_devices_node() {
        let sys = tempfile::tempdir().unwrap();
        let device = sys.path().join("bus/pci/devices/0000:3b:00.0");
        let node = sys.path().join("devices/system/node/node1");
        fs::create_dir_all(&device).unwrap();
        fs::create_dir_all(&node).unwrap();
        fs::write(node.join("cpulist"), "2-4,9\n").unwrap();
        fs::write(device.join("numa_node"), "1\n").unwrap();
        assert_eq!(near(sys.path(), "0000:3B:00.0"), [2, 3, 4, 9]);
        fs::write(device.join("numa_node"), "-1\n").unwrap();
        assert!(near(sys.path(), "0000:3b:00.0").is_empty());
        assert!(near(sys.path(), "0000:ff:00.0").is_empty());
    }

    #[test]
    fn a_thread_that_cannot_be_pinned_works_without() {
        assert_eq!(on(&[0], || 1), 1);
        assert_eq!(on(&[100_000], || 2), 2);
        assert_eq!(on(&[], || 3), 3);
    }

    /// The CPUs that the calling thread may use.
    fn affinity() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    #[test]
    fn a_thread_is_bound_to_no_cpu_that_the_user_excluded() {
        let all = affinity();
        let node: Vec<usize> = (0..CpuSet::MAX_CPU).collect();
        assert_eq!(on(&node, affinity), all, "a node of all CPUs");
        assert_eq!(on(&all[..1], affinity), all[..1]);
        assert_eq!(affinity(), all, "the calling thread stays unbound");
        // As `taskset` does, in a separate thread.
        let user = std::thread::spawn(move || {
            let mut set = CpuSet::new();
            set.set(all[0]);
            sched_setaffinity(None, &set).unwrap();
            let elsewhere: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| cpu != all[0]).collect();
            assert_eq!(on(&node, affinity), all[..1]);
            assert_eq!(on(&elsewhere, affinity), all[..1], "none of the node's CPUs is allowed");
        });
        user.join().unwrap();
    }
}
