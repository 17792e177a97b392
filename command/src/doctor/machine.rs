//! Reads processors, memory and limits from `/proc` and `/sys`, and the processors near a PCI
//! device.

use super::cgroup;
use super::cpulist;
use super::facts::{Limits, Machine};
use super::surroundings::Surroundings;

/// The folder of the PCI devices.
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// The capability to lock memory beyond the limit, as a bit of `CapEff`.
const CAP_IPC_LOCK: u64 = 1 << 14;

/// Reads processors and memory.
pub(super) fn machine(of: &Surroundings) -> Machine {
    let meminfo = of.text("/proc/meminfo").unwrap_or_default();
    let status = of.text("/proc/self/status").unwrap_or_default();
    let allowed = field(&status, "Cpus_allowed_list").map(str::to_string);
    let available = bytes(&meminfo, "MemAvailable");
    let cgroup = cgroup::memory(of);
    let room = [available, cgroup.map(|memory| memory.room)].into_iter().flatten().min();
    let nodes = of.names("/sys/devices/system/node");
    Machine {
        processors_online: of.text("/sys/devices/system/cpu/online").map(|t| cpulist::count(&t)),
        processors_allowed: allowed.as_deref().map(cpulist::count),
        processors_allowed_list: allowed,
        cgroup_processors: cgroup::processors(of),
        memory_total_bytes: bytes(&meminfo, "MemTotal"),
        memory_available_bytes: available,
        cgroup_memory_limit_bytes: cgroup.map(|memory| memory.limit),
        page_cache_room_bytes: room,
        memory_nodes: nodes.iter().filter(|name| is_node(name)).count().max(1) as u64,
    }
}

fn bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = field(meminfo, name)?.split_whitespace().next()?.parse::<u64>().ok()?;
    value.checked_mul(1024)
}

fn is_node(name: &str) -> bool {
    name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Reads the limits of this process.
pub(super) fn limits(of: &Surroundings) -> Limits {
    let table = of.text("/proc/self/limits").unwrap_or_default();
    let status = of.text("/proc/self/status").unwrap_or_default();
    let effective = field(&status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    Limits {
        locked_memory_bytes: soft_limit(&table, "Max locked memory"),
        locked_memory_exempt: effective.is_some_and(|bits| bits & CAP_IPC_LOCK != 0),
        open_files: soft_limit(&table, "Max open files"),
        shared_memory_bytes: shared_memory(&of.text("/proc/self/mounts").unwrap_or_default()),
    }
}

fn soft_limit(table: &str, name: &str) -> Option<u64> {
    let rest = table.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok() // "unlimited" is none
}

/// Returns the size of /dev/shm in a table of mounts, if one is configured.
fn shared_memory(mounts: &str) -> Option<u64> {
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/dev/shm"))?;
    let size =
        line.split(' ').nth(3)?.split(',').find_map(|option| option.strip_prefix("size="))?;
    match size.strip_suffix('k') {
        Some(kib) => kib.parse::<u64>().ok()?.checked_mul(1024),
        None => size.parse().ok(),
    }
}

/// Returns the value after `name:` in a table of the kernel.
fn field<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Returns the NUMA node of a PCI device and the processors near it, if the machine provides them.
pub(super) fn near(of: &Surroundings, pci_address: &str) -> (Option<u64>, Option<String>) {
    let device = format!("{PCI_DEVICES}/{pci_address}");
    let node = of.number(format!("{device}/numa_node")); // -1, none, is no u64
    let near = of.text(format!("{device}/local_cpulist")).filter(|list| !list.is_empty());
    (node, near)
}

/// Returns the PCI addresses of NVIDIA's display controllers and accelerators (classes 0x0300 and
/// 0x0302).
pub(super) fn nvidia_devices(of: &Surroundings) -> Vec<String> {
    of.names(PCI_DEVICES).into_iter().filter(|address| is_gpu(of, address)).collect()
}

fn is_gpu(of: &Surroundings, address: &str) -> bool {
    let class = pci_file("class", of, address);
    pci_file("vendor", of, address) == "0x10de"
        && (class.starts_with("0x0300") || class.starts_with("0x0302"))
}

fn pci_file(name: &str, of: &Surroundings, address: &str) -> String {
    of.text(format!("{PCI_DEVICES}/{address}/{name}")).unwrap_or_default()
}
