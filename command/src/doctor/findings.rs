//! Judges a machine by its facts alone: what is wrong, what it costs, and what to type.
//!
//! A finding costs speed, or prevents the use of a GPU. A note may do so or not concern everyone:
//! it changes no exit code.

use serde::Serialize;
use tarflume_base::units;

use super::cpulist;
use super::facts::{Facts, Gpu};

/// Memory that a loader pins by default with a device: 4 slabs for three slots, 4 in preparation
/// and 2 spare, each a batch of 256 pictures of 224 x 224 x 3 bytes.
pub(crate) const PINNED_BYTES: u64 = 10 * 256 * 224 * 224 * 3;

/// Default memory limit of a loader.
const LOADER_BYTES: u64 = 2 << 30;

/// Below this, fewer than 128 shards are open at once.
const FEW_FILES: u64 = 512;

/// Docker's default /dev/shm has 64 MiB; a DataLoader with workers needs more.
const SMALL_SHARED: u64 = 1 << 30;

/// A fault of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Its name, which never changes: `narrow-link`.
    pub(crate) kind: &'static str,
    /// The GPU that it concerns.
    pub(crate) gpu: Option<u64>,
    /// False for a note.
    pub(crate) costs_speed: bool,
    /// The fault.
    pub(crate) what: String,
    /// Its cost.
    pub(crate) cost: String,
    /// The remedy, or the command to type.
    pub(crate) advice: String,
}

fn finding(
    kind: &'static str,
    what: impl Into<String>,
    cost: impl Into<String>,
    advice: impl Into<String>,
) -> Finding {
    let what = what.into();
    let cost = cost.into();
    let advice = advice.into();
    Finding { kind, gpu: None, costs_speed: true, what, cost, advice }
}

fn note(found: Finding) -> Finding {
    Finding { costs_speed: false, ..found }
}

/// Returns all findings, then all notes.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = driver(facts);
    for gpu in &facts.gpus {
        let here = of_gpu(facts, gpu).into_iter();
        found.extend(here.map(|finding| Finding { gpu: Some(gpu.number), ..finding }));
    }
    found.extend(host(facts));
    found.extend(libraries(facts));
    found.sort_by_key(|finding| !finding.costs_speed);
    found
}

/// Reports a GPU that cannot be used for lack of a driver, or that is hidden.
fn driver(facts: &Facts) -> Vec<Finding> {
    let driver = &facts.driver;
    let mut found = Vec::new();
    let cost = "batches stay in host memory";
    if let Some(refusal) = &driver.refusal {
        let what = format!("NVIDIA's driver is installed but refuses: {refusal}");
        found.push(finding(
            "driver-refuses",
            what,
            cost,
            "run nvidia-smi for details; after an update: reboot",
        ));
    } else if !driver.found && driver.kernel_module {
        let what = "the driver's kernel module is loaded, but its libraries are not visible to this process";
        let advice = "start the container with --gpus all";
        found.push(finding("no-driver-library", what, cost, advice));
    } else if !driver.found && !driver.nvidia_devices.is_empty() {
        let what = format!("an NVIDIA GPU ({}) has no driver", driver.nvidia_devices.join(", "));
        let advice = "install it (Debian: apt install nvidia-driver), or start the container with \
                      --gpus all";
        found.push(finding("no-driver", what, cost, advice));
    }
    let hidden = facts.cuda_visible_devices.as_deref().map(str::trim);
    if !facts.gpus.is_empty() && matches!(hidden, Some("" | "-1" | "NoDevFiles")) {
        let what = "CUDA_VISIBLE_DEVICES hides all GPUs from programs";
        found.push(finding("hidden-gpus", what, cost, "unset CUDA_VISIBLE_DEVICES"));
    }
    found
}

fn of_gpu(facts: &Facts, gpu: &Gpu) -> Vec<Finding> {
    let mut found = link(gpu);
    let allowed = facts.machine.processors_allowed_list.as_deref();
    if let (Some(near), Some(allowed)) = (gpu.near_processors.as_deref(), allowed)
        && facts.machine.memory_nodes > 1
        && !cpulist::meet(near, allowed)
    {
        let what = format!(
            "it is attached to processors {near}, but this process may only run on {allowed}"
        );
        let cost = "each batch crosses the link between the processors";
        let advice = match gpu.memory_node {
            Some(node) => {
                format!("numactl --cpunodebind={node} COMMAND, or request processors {near}")
            }
            None => format!("taskset -c {near} COMMAND, or request these processors"),
        };
        found.push(finding("far-processors", what, cost, advice));
    }
    let slowed: Vec<_> = gpu.slowed_by.iter().filter(|by| *by != "power cap").cloned().collect();
    if !slowed.is_empty() {
        let what = format!("its clocks are slowed by {}", slowed.join(" and "));
        let advice = "check cooling and power: nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER";
        found.push(finding(
            "slowed",
            what,
            "it computes more slowly; at half the clock or less where hardware does it",
            advice,
        ));
    }
    if let Some(errors @ 1..) = gpu.ecc_uncorrected {
        let what = format!(
            "its memory had {}",
            units::counted(errors, "uncorrected error", "uncorrected errors")
        );
        let advice = "nvidia-smi -q -d ECC,PAGE_RETIREMENT; have the hardware checked";
        found.push(finding("memory-errors", what, "programs end, or results are wrong", advice));
    }
    if gpu.split {
        let what = "it is split (MIG), and a split GPU does not report its utilization";
        let cost = "--watch shows nothing of it";
        found.push(note(finding("split", what, cost, "watch it with dcgmi dmon")));
    }
    found
}

/// Reports a link with fewer lanes than possible, or slow under load: an idle link slows down.
fn link(gpu: &Gpu) -> Vec<Finding> {
    let link = &gpu.link;
    let mut found = Vec::new();
    let look = gpu.pci_address.as_ref().map_or("nvidia-smi -q -d PCI".to_string(), |address| {
        format!("sudo lspci -vv -s {address} | grep -E 'LnkCap|LnkSta'")
    });
    if let (Some(now @ 1..), Some(most)) = (link.width, link.width_max)
        && now < most
    {
        let what = format!("its link has {now} lanes and could have {most}");
        let cost = format!("copies take {:.1} times as long", most as f64 / now as f64);
        let advice =
            format!("run {look}; then reseat the card, or check for bifurcation in the BIOS");
        found.push(finding("narrow-link", what, cost, advice));
    }
    let works = gpu.sm_percent.is_some_and(|percent| percent > 0);
    if let (Some(now @ 1..), Some(most)) = (link.generation, link.generation_max)
        && now < most
        && works
    {
        let what = format!("its link is PCIe {now} while it computes, and could be PCIe {most}");
        let cost = format!("copies take about {} times as long", 1u64 << (most - now).min(6));
        found.push(finding("slow-link", what, cost, format!("look: {look}")));
    }
    found
}

/// Reports memory and limits.
fn host(facts: &Facts) -> Vec<Finding> {
    let machine = &facts.machine;
    let limits = &facts.limits;
    let mut found = Vec::new();
    if let Some(room) = machine.page_cache_room_bytes.filter(|room| *room < LOADER_BYTES) {
        let what =
            format!("{} of memory can be had; a loader takes up to 2.1 GB", units::bytes(room));
        let cost = "the process is ended by the system, or swaps";
        found.push(finding(
            "little-memory",
            what,
            cost,
            "give the loader less (memory=\"1GiB\"), or request more",
        ));
    }
    if let Some(files) = limits.open_files.filter(|files| *files < FEW_FILES) {
        let what = format!("{} may be open", units::counted(files, "file", "files"));
        let cost = format!(
            "{} shards are open at once, others are opened for every read",
            (files / 4).max(1)
        );
        found.push(finding("few-files", what, cost, "ulimit -n 16384"));
    }
    if let Some(locked) = limits.locked_memory_bytes.filter(|locked| *locked < PINNED_BYTES)
        && !facts.gpus.is_empty()
        && !limits.locked_memory_exempt
    {
        let what = format!(
            "{} may be locked, and a loader of 256 pictures of 224 x 224 pins up to {}",
            units::bytes(locked),
            units::bytes(PINNED_BYTES)
        );
        let cost = "most drivers pin all the same; where loader.stats() warns, copies are slower";
        let advice = "ulimit -l unlimited (container: --ulimit memlock=-1)";
        found.push(note(finding("locked-memory", what, cost, advice)));
    }
    if let Some(shared) = limits.shared_memory_bytes.filter(|shared| *shared < SMALL_SHARED) {
        let what = format!("/dev/shm has {}", units::bytes(shared));
        let cost = "nothing here; a DataLoader with workers fails when it is full";
        found.push(note(finding(
            "small-shm",
            what,
            cost,
            "docker run --shm-size 8g, if you have such",
        )));
    }
    found
}

/// Reports libraries that a machine with a GPU lacks.
fn libraries(facts: &Facts) -> Vec<Finding> {
    if facts.gpus.is_empty() {
        return Vec::new();
    }
    let new =
        facts.driver.cuda_version.as_deref().and_then(|v| v.split('.').next()?.parse::<u64>().ok());
    let suffix = if new.is_none_or(|major| major >= 13) { "" } else { "-cu12" };
    let mut found = Vec::new();
    if is_missing(facts, "libcuda") {
        let what = "libcuda.so.1 is not found, although the driver answers";
        let advice = "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility";
        found.push(finding("no-libcuda", what, "batches stay in host memory", advice));
    }
    for (name, kind, cost) in [
        (
            "libnvrtc",
            "no-nvrtc",
            "no kernel is compiled for this GPU: pixels are made ready elsewhere",
        ),
        ("libnvjpeg", "no-nvjpeg", "no JPEG is decoded on the GPU"),
    ] {
        if is_missing(facts, name) {
            let advice = format!(
                "pip install nvidia-{}{suffix}",
                if name == "libnvrtc" { "cuda-nvrtc" } else { "nvjpeg" }
            );
            found.push(note(finding(kind, format!("{name} is not found"), cost, advice)));
        }
    }
    if is_missing(facts, "libnvcuvid") {
        let cost = "JPEG decoders in hardware, where a GPU has them, can't be used";
        let advice = "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility,video";
        found.push(note(finding("no-nvcuvid", "libnvcuvid is not found", cost, advice)));
    }
    found
}

fn is_missing(facts: &Facts, name: &str) -> bool {
    facts.libraries.iter().any(|l| l.name == name && l.path.is_none())
}
