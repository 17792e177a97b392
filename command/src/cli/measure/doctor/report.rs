//! The report of `pack doctor` as text: groups of lines, then findings and notes, one line each.

use std::io::{self, Write};

use tarflume_base::units;
use tarflume_formats::shown::ShowPath;

use crate::doctor::Report;
use crate::doctor::facts::{Driver, Gpu, Library, Limits, Link, Machine};
use crate::doctor::findings::Finding;

/// Writes the whole report.
pub(super) fn text(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let facts = &report.facts;
    machine(to, &facts.machine)?;
    limits(to, &facts.limits, facts.machine.memory_total_bytes)?;
    driver(to, &facts.driver, facts.gpus.len() as u64)?;
    if let Some(visible) = &facts.cuda_visible_devices {
        line(to, "programs see", format!("CUDA_VISIBLE_DEVICES={visible}"))?;
    }
    facts.gpus.iter().try_for_each(|of| gpu(to, of))?;
    writeln!(to, "\nlibraries")?;
    facts.libraries.iter().try_for_each(|of| library(to, of))?;
    for (head, costs_speed) in [("findings", true), ("notes", false)] {
        let findings: Vec<_> =
            report.findings.iter().filter(|finding| finding.costs_speed == costs_speed).collect();
        if findings.is_empty() && costs_speed {
            writeln!(to, "\nfindings: none")?;
        } else if !findings.is_empty() {
            writeln!(to, "\n{head}")?;
            findings.into_iter().try_for_each(|of| finding(to, of))?;
        }
    }
    Ok(())
}

fn line(to: &mut impl Write, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
    writeln!(to, "  {name:<14} {value}")
}

fn machine(to: &mut impl Write, of: &Machine) -> io::Result<()> {
    writeln!(to, "machine")?;
    let list = of.processors_allowed_list.as_deref().unwrap_or("?");
    let allowed = count(of.processors_allowed);
    let mut processors =
        format!("{allowed} of {} may be used ({list})", count(of.processors_online));
    if let Some(time) = of.cgroup_processors {
        processors += &format!("; the cgroup limits them to the time of {time:.1}");
    }
    line(to, "processors", processors)?;
    let mut memory =
        format!("{}, {} available", bytes(of.memory_total_bytes), bytes(of.memory_available_bytes));
    if of.cgroup_memory_limit_bytes.is_some() {
        memory += &format!("; the cgroup may have {}", bytes(of.cgroup_memory_limit_bytes));
    }
    line(to, "memory", memory)?;
    let room = bytes(of.page_cache_room_bytes);
    line(to, "page cache", format!("room for {room}: a smaller data set is read from disk once"))?;
    if of.memory_nodes > 1 {
        line(to, "memory nodes", of.memory_nodes)?;
    }
    Ok(())
}

fn count(n: Option<u64>) -> String {
    n.map_or("?".to_string(), units::count)
}

fn limits(to: &mut impl Write, of: &Limits, memory: Option<u64>) -> io::Result<()> {
    writeln!(to, "\nlimits")?;
    let locked = match of.locked_memory_bytes {
        Some(bytes) if of.locked_memory_exempt => {
            format!("{}, which this process may exceed", units::bytes(bytes))
        }
        Some(bytes) => units::bytes(bytes),
        None => "unlimited".into(),
    };
    line(to, "locked memory", format!("{locked} (ulimit -l)"))?;
    let files = of.open_files.map_or("unlimited".to_string(), units::count);
    line(to, "open files", format!("{files} (ulimit -n)"))?;
    // Half of the memory is the default, and not worth a line.
    match of.shared_memory_bytes {
        Some(shared) if memory.is_none_or(|memory| shared < memory / 4) => {
            line(to, "/dev/shm", units::bytes(shared))
        }
        _ => Ok(()),
    }
}

fn driver(to: &mut impl Write, of: &Driver, gpus: u64) -> io::Result<()> {
    writeln!(to, "\ndriver")?;
    let state = if of.found {
        let version = of.version.as_deref().unwrap_or("of unknown version");
        let cuda = of.cuda_version.as_deref().unwrap_or("?");
        format!("{version}, runs CUDA up to {cuda}; {}", units::counted(gpus, "GPU", "GPUs"))
    } else if of.refusal.is_some() || of.kernel_module || !of.nvidia_devices.is_empty() {
        "does not answer: batches stay in host memory; see below".into()
    } else {
        "none, and no NVIDIA GPU: batches stay in host memory; nothing is wrong with that".into()
    };
    line(to, "NVIDIA", state)
}

fn gpu(to: &mut impl Write, of: &Gpu) -> io::Result<()> {
    let address = of.pci_address.as_deref().unwrap_or("address unknown");
    writeln!(to, "\nGPU {}: {} ({address})", of.number, of.name)?;
    let used = format!("{} of {}", bytes(of.memory_used_bytes), bytes(of.memory_total_bytes));
    line(to, "memory", format!("{used} in use"))?;
    let split = if of.split { "; it is split (MIG)" } else { "" };
    let memory = percent(of.memory_controller_percent);
    line(to, "busy now", format!("SM {}, memory {memory}{split}", percent(of.sm_percent)))?;
    line(to, "link", link(&of.link))?;
    match (of.memory_node, of.near_processors.as_deref()) {
        (Some(node), near) => {
            let near = near.unwrap_or("?");
            line(to, "attached to", format!("memory node {node}; processors {near} are near"))?;
        }
        (None, Some(near)) => line(to, "attached to", format!("processors {near}"))?,
        (None, None) => {}
    }
    match (of.ecc, of.ecc_uncorrected) {
        (Some(false), _) => line(to, "errors", "are not corrected (ECC off)")?,
        (Some(true), errors) => {
            let errors = errors.map_or("?".to_string(), units::count);
            line(to, "errors", format!("are corrected (ECC); {errors} could not be"))?;
        }
        _ => {}
    }
    if !of.slowed_by.is_empty() {
        line(to, "slowed by", of.slowed_by.join(", "))?;
    }
    for process in &of.processes {
        let name = process.name.as_deref().unwrap_or("not seen from here");
        let held = bytes(process.memory_used_bytes);
        line(to, "process", format!("{} ({name}) holds {held}", process.pid))?;
    }
    Ok(())
}

fn percent(n: Option<u64>) -> String {
    n.map_or("unknown".to_string(), |n| format!("{n} %"))
}

/// Returns `PCIe 1 x16 now, at most PCIe 5 x16; an idle link slows down`.
fn link(of: &Link) -> String {
    if of.generation.is_none() && of.width.is_none() {
        return "unknown".into();
    }
    let now = format!("PCIe {} x{}", number(of.generation), number(of.width));
    let most = format!("PCIe {} x{}", number(of.generation_max), number(of.width_max));
    let rests = if of.generation < of.generation_max { "; an idle link slows down" } else { "" };
    format!("{now} now, at most {most}{rests}")
}

fn number(n: Option<u64>) -> String {
    n.map_or("?".to_string(), |n| n.to_string())
}

fn library(to: &mut impl Write, of: &Library) -> io::Result<()> {
    let found = match &of.path {
        Some(path) if of.on_search_path => path.shown().to_string(),
        Some(path) => {
            let path = path.shown();
            format!("{path}; not on the search path: import torch first, or set LD_LIBRARY_PATH")
        }
        None => format!("not found ({})", of.purpose),
    };
    line(to, of.name, found)
}

/// Writes `  GPU 1: the fault: its cost; the remedy`.
fn finding(to: &mut impl Write, of: &Finding) -> io::Result<()> {
    let gpu = of.gpu.map_or(String::new(), |number| format!("GPU {number}: "));
    writeln!(to, "  {gpu}{}: {}; {}", of.what, of.cost, of.advice)
}

fn bytes(n: Option<u64>) -> String {
    n.map_or("?".into(), units::bytes)
}
