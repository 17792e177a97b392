//! The limits of a process's cgroups, version 2 or 1: processor time and memory.
//!
//! A group is limited by all groups above it, so the whole path is examined. In a container the
//! path may be the host's and not exist; the mount point is then the container's own group.

use std::path::{Path, PathBuf};

use super::surroundings::Surroundings;

const MOUNT: &str = "/sys/fs/cgroup";

/// Returns the processor time limit of this process in processors; `None` if there is none.
pub(super) fn processors(of: &Surroundings) -> Option<f64> {
    processors_of_process(of, "self")
}

/// Returns that of a process: a number, or `self`.
pub(super) fn processors_of_process(of: &Surroundings, process: &str) -> Option<f64> {
    folders(of, process, "cpu")
        .into_iter()
        .filter_map(|folder| processors_of(of, folder))
        .min_by(f64::total_cmp)
}

fn processors_of(of: &Surroundings, folder: PathBuf) -> Option<f64> {
    if let Some(text) = of.text(folder.join("cpu.max")) {
        let (quota, period) = text.split_once(' ')?;
        return quotient(quota, period);
    }
    let quota = of.text(folder.join("cpu.cfs_quota_us"))?;
    quotient(&quota, &of.text(folder.join("cpu.cfs_period_us"))?)
}

/// Returns quota / period; `max` and -1 mean no limit.
fn quotient(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// A limit of memory, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// The limit, in bytes.
    pub(super) limit: u64,
    /// The bytes in use, with file pages.
    pub(super) used: u64,
    /// The remaining bytes: file pages count as free, because the system reclaims them.
    pub(super) room: u64,
}

/// Returns the tightest limit of memory of this process; `None` if there is none.
pub(super) fn memory(of: &Surroundings) -> Option<Memory> {
    memory_of_process(of, "self")
}

/// Returns that of a process: a number, or `self`.
pub(super) fn memory_of_process(of: &Surroundings, process: &str) -> Option<Memory> {
    folders(of, process, "memory")
        .into_iter()
        .filter_map(|folder| memory_of(of, folder))
        .min_by_key(|memory| memory.room)
}

fn memory_of(of: &Surroundings, folder: PathBuf) -> Option<Memory> {
    let limit = number_in(["memory.max", "memory.limit_in_bytes"], of, &folder)?;
    // Version 1 reports a number near 2^63 if there is no limit.
    if limit >= 1 << 60 {
        return None;
    }
    let used = number_in(["memory.current", "memory.usage_in_bytes"], of, &folder).unwrap_or(0);
    let files = file_pages(&of.text(folder.join("memory.stat")).unwrap_or_default());
    Some(Memory { limit, used, room: limit.saturating_sub(used.saturating_sub(files)) })
}

fn number_in(names: [&str; 2], of: &Surroundings, folder: &Path) -> Option<u64> {
    names.iter().find_map(|name| of.number(folder.join(name)))
}

/// Returns the bytes of files in a group's memory from its `memory.stat`; version 1 counts its
/// subgroups as `total_`.
fn file_pages(stat: &str) -> u64 {
    pages_of("total_", stat).max(pages_of("", stat))
}

fn pages_of(prefix: &str, stat: &str) -> u64 {
    stat.lines().filter_map(|line| file_bytes(line, prefix)).fold(0, u64::saturating_add)
}

fn file_bytes(line: &str, prefix: &str) -> Option<u64> {
    let (name, bytes) = line.split_once(' ')?;
    let name = name.strip_prefix(prefix)?;
    matches!(name, "active_file" | "inactive_file").then(|| bytes.parse().ok())?
}

/// Returns the folders that limit a process for a controller: its group, and those above it.
fn folders(of: &Surroundings, process: &str, controller: &str) -> Vec<PathBuf> {
    let table = of.text(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for line in table.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let Some(controllers) = fields.next() else { continue };
        let Some(path) = fields.next() else { continue };
        let mount = match controllers {
            "" => PathBuf::from(MOUNT),
            _ if controllers.split(',').any(|c| c == controller) => {
                Path::new(MOUNT).join(controllers)
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        found.extend(path.ancestors().map(|above| mount.join(above)));
    }
    found
}
