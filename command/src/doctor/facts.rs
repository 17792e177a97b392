//! The facts about a machine as plain values: filled by the modules that read, judged by
//! `findings`.
//!
//! The names are those of `pack doctor --format json` and never change; they include units. Facts
//! that a system does not provide are `None`.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// All facts, before they are judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Facts {
    /// Processors and memory.
    pub(crate) machine: Machine,
    /// The limits of this process.
    pub(crate) limits: Limits,
    /// NVIDIA's driver.
    pub(crate) driver: Driver,
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub(crate) cuda_visible_devices: Option<String>,
    /// The GPUs of the driver, in its order.
    pub(crate) gpus: Vec<Gpu>,
    /// Libraries that use a GPU.
    pub(crate) libraries: Vec<Library>,
}

/// Processors and memory that this process may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Machine {
    /// Processors that are online.
    pub(crate) processors_online: Option<u64>,
    /// Processors that this process may run on.
    pub(crate) processors_allowed: Option<u64>,
    /// The same as a list: `0-3,8`.
    pub(crate) processors_allowed_list: Option<String>,
    /// The cgroup's limit of processor time, in processors; `None` if there is none.
    pub(crate) cgroup_processors: Option<f64>,
    /// Memory of the machine.
    pub(crate) memory_total_bytes: Option<u64>,
    /// Memory available without swapping, by the machine's own estimate.
    pub(crate) memory_available_bytes: Option<u64>,
    /// The cgroup's limit of memory, including page cache; `None` if there is none.
    pub(crate) cgroup_memory_limit_bytes: Option<u64>,
    /// Memory by which programs and the page cache may still grow, under both limits.
    pub(crate) page_cache_room_bytes: Option<u64>,
    /// Number of NUMA nodes.
    pub(crate) memory_nodes: u64,
}

/// Limits of this process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Limits {
    /// `ulimit -l`; `None`: unlimited, or unknown.
    pub(crate) locked_memory_bytes: Option<u64>,
    /// True if the process may exceed the limit of locked memory (CAP_IPC_LOCK).
    pub(crate) locked_memory_exempt: bool,
    /// `ulimit -n`; `None`: unlimited, or unknown.
    pub(crate) open_files: Option<u64>,
    /// The configured size of /dev/shm; `None`: the system's default, half of the memory.
    pub(crate) shared_memory_bytes: Option<u64>,
}

/// NVIDIA's driver.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Driver {
    /// True if it answers.
    pub(crate) found: bool,
    /// Its version.
    pub(crate) version: Option<String>,
    /// The newest CUDA version that it supports.
    pub(crate) cuda_version: Option<String>,
    /// Why it does not answer, if its library exists.
    pub(crate) refusal: Option<String>,
    /// True if its kernel module is loaded.
    pub(crate) kernel_module: bool,
    /// PCI addresses of NVIDIA's devices, with or without a driver.
    pub(crate) nvidia_devices: Vec<String>,
}

/// The current state of a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Gpu {
    /// Its number, in the driver's order.
    pub(crate) number: u64,
    /// Its product name.
    pub(crate) name: String,
    /// Its UUID.
    pub(crate) uuid: Option<String>,
    /// Its PCI address: `0000:3b:00.0`.
    pub(crate) pci_address: Option<String>,
    /// Its memory.
    pub(crate) memory_total_bytes: Option<u64>,
    /// Memory in use by all processes.
    pub(crate) memory_used_bytes: Option<u64>,
    /// The share of the last sampling period (up to a second) in which a kernel ran.
    pub(crate) sm_percent: Option<u64>,
    /// The share of the last sampling period in which its memory was read or written.
    pub(crate) memory_controller_percent: Option<u64>,
    /// Its link to the host.
    pub(crate) link: Link,
    /// The NUMA node that it is attached to.
    pub(crate) memory_node: Option<u64>,
    /// The processors of that node: `0-31`.
    pub(crate) near_processors: Option<String>,
    /// Whether its memory corrects errors (ECC).
    pub(crate) ecc: Option<bool>,
    /// Number of uncorrected memory errors since the driver was loaded.
    pub(crate) ecc_uncorrected: Option<u64>,
    /// Why its clocks are reduced: `heat`, `power brake`, `hardware`, `power cap`.
    pub(crate) slowed_by: Vec<String>,
    /// True if it is split (MIG); its utilization is then unknown.
    pub(crate) split: bool,
    /// The processes that compute on it.
    pub(crate) processes: Vec<Process>,
}

/// A PCIe link: its current state, and the maximum of card and slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Link {
    /// Its generation; an idle link may lower it.
    pub(crate) generation: Option<u64>,
    /// The highest possible.
    pub(crate) generation_max: Option<u64>,
    /// Number of lanes.
    pub(crate) width: Option<u64>,
    /// The highest possible.
    pub(crate) width_max: Option<u64>,
}

/// A process that computes on a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Process {
    /// Its number in the driver's PID namespace: in a container the host's.
    pub(crate) pid: u64,
    /// Its command, if visible from this process.
    pub(crate) name: Option<String>,
    /// Memory of the GPU that it uses.
    pub(crate) memory_used_bytes: Option<u64>,
}

/// A library that may be installed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Library {
    /// `libnvrtc`.
    pub(crate) name: &'static str,
    /// Its use.
    pub(crate) purpose: &'static str,
    /// Its path, if found. In JSON, bytes that are not UTF-8 are replaced by U+FFFD.
    #[serde(serialize_with = "as_text")]
    pub(crate) path: Option<PathBuf>,
    /// True if it is on the search path of programs.
    pub(crate) on_search_path: bool,
}

fn as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(to)
}
