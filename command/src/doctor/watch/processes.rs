//! A process of the training and all processes that it started: what they computed, hold and read.

use std::collections::BTreeMap;

use super::super::surroundings::Surroundings;
use super::kernel::number;

/// What a process did since it was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcessCounters {
    pub(crate) pid: u64,
    /// Its command.
    pub(crate) name: String,
    /// When it was started, in ticks: a number that is used again belongs to another process.
    pub(crate) started: u64,
    /// Time that it computed, in ticks of 10 ms.
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    /// Memory that it holds.
    pub(crate) memory_bytes: u64,
    /// Bytes that its calls read; `None` if another user's.
    pub(crate) called_bytes: Option<u64>,
    /// Bytes that came from a disk for it.
    pub(crate) read_bytes: Option<u64>,
}

/// The line `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StatLine {
    name: String,
    parent: u64,
    ticks: u64,
    threads: u64,
    started: u64,
}

/// Parses `/proc/PID/stat`; `None` for a process that has ended and whose parent does not know it yet. The name may
/// contain spaces and brackets.
fn stat_line(text: &str) -> Option<StatLine> {
    let begin = text.find('(')?;
    let end = text.rfind(')')?;
    let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None;
    }
    Some(StatLine {
        name: text.get(begin + 1..end)?.to_string(),
        parent: field(&fields, 1)?,
        ticks: field(&fields, 11)? + field(&fields, 12)?,
        threads: field(&fields, 17)?,
        started: field(&fields, 19)?,
    })
}

fn field(fields: &[&str], n: usize) -> Option<u64> {
    fields.get(n)?.parse().ok()
}

/// Returns the process `pid` and its descendants; none if it has ended.
pub(crate) fn tree(of: &Surroundings, pid: u64) -> Vec<ProcessCounters> {
    let names = of.names("/proc");
    let pids = names.iter().filter_map(|name| name.parse::<u64>().ok());
    let lines: BTreeMap<u64, StatLine> =
        pids.filter_map(|pid| Some((pid, line_of(of, pid)?))).collect();
    let members = descendants(&lines, pid);
    members.into_iter().map(|pid| process(of, pid, &lines[&pid])).collect()
}

fn line_of(of: &Surroundings, pid: u64) -> Option<StatLine> {
    stat_line(&of.text(format!("/proc/{pid}/stat"))?)
}

/// Returns `root`, if it exists, and all that it started, by number.
fn descendants(lines: &BTreeMap<u64, StatLine>, root: u64) -> Vec<u64> {
    let mut found: Vec<u64> = lines.contains_key(&root).then_some(root).into_iter().collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let children = lines.iter().filter(|(_, line)| line.parent == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

fn process(of: &Surroundings, pid: u64, line: &StatLine) -> ProcessCounters {
    let status = of.text(format!("/proc/{pid}/status")).unwrap_or_default();
    let io = of.text(format!("/proc/{pid}/io"));
    ProcessCounters {
        pid,
        name: line.name.clone(),
        started: line.started,
        ticks: line.ticks,
        threads: line.threads,
        memory_bytes: number(&status, "VmRSS:").unwrap_or(0) * 1024,
        called_bytes: io.as_deref().and_then(|io| number(io, "rchar:")),
        read_bytes: io.as_deref().and_then(|io| number(io, "read_bytes:")),
    }
}

/// Returns the folder that the variable `TARFLUME_STATS` of a process names; relative to the folder in which it works.
pub(crate) fn stats_folder(of: &Surroundings, pid: u64) -> Option<String> {
    let environment = of.text(format!("/proc/{pid}/environ"))?;
    let folder =
        environment.split('\0').find_map(|variable| variable.strip_prefix("TARFLUME_STATS="))?;
    if folder.is_empty() {
        return None;
    }
    // An absolute path replaces the folder of the process.
    Some(if folder.starts_with('/') {
        folder.to_string()
    } else {
        format!("/proc/{pid}/cwd/{folder}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASH: &str = "4242 (tmux: a (b)) S 1 4242 4242 0 -1 4194560 9 0 0 0 250 31 7 8 20 0 3 0 3639184 3133440 418 1";

    #[test]
    fn a_name_may_contain_brackets_and_spaces() {
        let line = stat_line(BASH).unwrap();
        assert_eq!((line.name.as_str(), line.parent), ("tmux: a (b)", 1));
        assert_eq!((line.ticks, line.threads, line.started), (281, 3, 3_639_184));
        for cut in 0..BASH.len() {
            let _ = stat_line(&BASH[..cut]);
        }
        assert_eq!(stat_line("4242 )("), None);
        assert_eq!(stat_line(&BASH.replace(" S ", " Z ")), None);
    }

    #[test]
    fn a_tree_has_all_descendants_and_nothing_else() {
        let line = stat_line(BASH).unwrap();
        let family = [(7, 1), (8, 7), (9, 8), (10, 1), (11, 7), (1, 0)];
        let lines = family.map(|(pid, parent)| (pid, StatLine { parent, ..line.clone() }));
        let lines = BTreeMap::from(lines);
        assert_eq!(descendants(&lines, 7), [7, 8, 11, 9]);
        assert_eq!(descendants(&lines, 12), [] as [u64; 0]);
    }
}
