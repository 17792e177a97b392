//! What was found on a machine, as plain values: made by the files that read, judged by `findings`.
//!
//! The names are those of `pack doctor --format json` and stay; units are part of them. What a system does not tell is none.

use std::path::PathBuf;

use serde::Serialize;

/// All that was found, before it is judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Facts {
    /// Processors and memory.
    pub(crate) machine: Machine,
    /// What this process may use.
    pub(crate) limits: Limits,
    /// The driver of NVIDIA's GPUs.
    pub(crate) driver: Driver,
    /// What the variable `CUDA_VISIBLE_DEVICES` says, if it is set.
    pub(crate) cuda_visible_devices: Option<String>,
    /// The GPUs that the driver knows, in its order.
    pub(crate) gpus: Vec<Gpu>,
    /// Libraries that make use of a GPU.
    pub(crate) libraries: Vec<Library>,
}

/// Processors and memory that this process may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Machine {
    /// Processors that run.
    pub(crate) processors_online: Option<u64>,
    /// Those that this process may run on.
    pub(crate) processors_allowed: Option<u64>,
    /// The same as a list: `0-3,8`.
    pub(crate) processors_allowed_list: Option<String>,
    /// How many processors' time the cgroup gives; none if it does not limit it.
    pub(crate) cgroup_processors: Option<f64>,
    /// Memory of the machine.
    pub(crate) memory_total_bytes: Option<u64>,
    /// What can be had without swapping, by the machine's own account.
    pub(crate) memory_available_bytes: Option<u64>,
    /// The most memory that the cgroup may have, page cache included; none if it is not limited.
    pub(crate) cgroup_memory_limit_bytes: Option<u64>,
    /// What programs, and the page cache for files, may still grow by, under both limits.
    pub(crate) page_cache_room_bytes: Option<u64>,
    /// Memory nodes.
    pub(crate) memory_nodes: u64,
}

/// Limits of this process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Limits {
    /// `ulimit -l`; none: unlimited, or unknown.
    pub(crate) locked_memory_bytes: Option<u64>,
    /// True if the process may lock more than the limit (CAP_IPC_LOCK).
    pub(crate) locked_memory_exempt: bool,
    /// `ulimit -n`; none: unlimited, or unknown.
    pub(crate) open_files: Option<u64>,
    /// The size that /dev/shm was given; none: the system's usual half of the memory.
    pub(crate) shared_memory_bytes: Option<u64>,
}

/// NVIDIA's driver.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Driver {
    /// True if it answers.
    pub(crate) found: bool,
    /// Its version.
    pub(crate) version: Option<String>,
    /// The newest CUDA that it runs.
    pub(crate) cuda_version: Option<String>,
    /// Why it does not answer, where its library is there.
    pub(crate) refusal: Option<String>,
    /// True if its kernel module is loaded.
    pub(crate) kernel_module: bool,
    /// PCI addresses of NVIDIA's devices, whether or not there is a driver.
    pub(crate) nvidia_devices: Vec<String>,
}

/// A GPU, now.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Gpu {
    /// Its number, in the driver's order.
    pub(crate) number: u64,
    /// What it is.
    pub(crate) name: String,
    /// Its own name in the world.
    pub(crate) uuid: Option<String>,
    /// Where it is: `0000:3b:00.0`.
    pub(crate) pci_address: Option<String>,
    /// Its memory.
    pub(crate) memory_total_bytes: Option<u64>,
    /// What of it is in use, by anybody.
    pub(crate) memory_used_bytes: Option<u64>,
    /// The part of the last moment (up to a second) in which a kernel ran.
    pub(crate) sm_percent: Option<u64>,
    /// The part of the last moment in which its memory was read or written.
    pub(crate) memory_controller_percent: Option<u64>,
    /// Its link to the host.
    pub(crate) link: Link,
    /// The memory node that it hangs on.
    pub(crate) memory_node: Option<u64>,
    /// The processors near it: `0-31`.
    pub(crate) near_processors: Option<String>,
    /// Whether its memory corrects errors.
    pub(crate) ecc: Option<bool>,
    /// Errors of its memory since the driver was loaded that could not be corrected.
    pub(crate) ecc_uncorrected: Option<u64>,
    /// What slows its clocks: `heat`, `power brake`, `hardware`, `power cap`.
    pub(crate) slowed_by: Vec<String>,
    /// True if it is split (MIG); its use is unknown then.
    pub(crate) split: bool,
    /// Who computes on it.
    pub(crate) processes: Vec<Process>,
}

/// A PCIe link: what it is now, and what card and slot could both do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Link {
    /// Its generation; an idle link may go down.
    pub(crate) generation: Option<u64>,
    /// The highest.
    pub(crate) generation_max: Option<u64>,
    /// Its lanes.
    pub(crate) width: Option<u64>,
    /// The most.
    pub(crate) width_max: Option<u64>,
}

/// A process that computes on a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Process {
    /// Its number, as the driver counts: in a container the host's.
    pub(crate) pid: u64,
    /// Its command, where it can be seen from here.
    pub(crate) name: Option<String>,
    /// Memory of the GPU that it holds.
    pub(crate) memory_used_bytes: Option<u64>,
}

/// A library that may be there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Library {
    /// `libnvrtc`.
    pub(crate) name: &'static str,
    /// What it is good for.
    pub(crate) purpose: &'static str,
    /// Where it is.
    pub(crate) path: Option<PathBuf>,
    /// True if it is on the search path of programs.
    pub(crate) on_search_path: bool,
}
