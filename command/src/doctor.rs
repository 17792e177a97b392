//! Checks that a machine is set up to feed its GPUs, and watches a training: reads facts, then judges
//! them. Changes and prints nothing.
//!
//! Floors: `facts surroundings cpulist ranks` < `cgroup gpus` < `machine libraries nvml findings watch` <
//! this file.

mod cgroup;
mod cpulist;
pub(crate) mod facts;
pub(crate) mod findings;
pub(crate) mod gpus;
mod libraries;
mod machine;
pub(crate) mod nvml;
pub(crate) mod ranks;
pub(crate) mod surroundings;
pub(crate) mod watch;

#[cfg(test)]
mod tests;

use serde::Serialize;

use facts::{Driver, Facts, Gpu};
use findings::Finding;
use gpus::Gpus;
use surroundings::Surroundings;

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    /// The facts.
    #[serde(flatten)]
    pub(crate) facts: Facts,
    /// The findings; those that cost speed first.
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// Returns true if a finding costs speed.
    pub(crate) fn costs_speed(&self) -> bool {
        self.findings.iter().any(|finding| finding.costs_speed)
    }
}

/// Returns true if the system's linker can find NVIDIA's management library.
pub(crate) fn has_management_library(of: &Surroundings) -> bool {
    libraries::is_on_search_path(of, "libnvidia-ml.so.1")
}

/// Examines a machine. `gpus` is the source of facts about GPUs, `None` if there is no driver, or
/// the reason why it failed.
pub(crate) fn examine(of: &Surroundings, gpus: &Result<Option<impl Gpus>, String>) -> Report {
    let mut driver = Driver {
        kernel_module: of.text("/proc/driver/nvidia/version").is_some(),
        nvidia_devices: machine::nvidia_devices(of),
        refusal: gpus.as_ref().err().cloned(),
        ..Driver::default()
    };
    let mut known = Vec::new();
    if let Ok(Some(gpus)) = gpus {
        gpus.driver(&mut driver);
        known = gpus.gpus();
        known.iter_mut().for_each(|gpu| place(of, gpu));
    }
    let facts = Facts {
        machine: machine::machine(of),
        limits: machine::limits(of),
        driver,
        cuda_visible_devices: of.variable("CUDA_VISIBLE_DEVICES"),
        gpus: known,
        libraries: libraries::libraries(of),
    };
    let findings = findings::findings(&facts);
    Report { facts, findings }
}

/// Adds the facts about a GPU that the machine provides and its driver does not.
fn place(of: &Surroundings, gpu: &mut Gpu) {
    if let Some(address) = &gpu.pci_address {
        (gpu.memory_node, gpu.near_processors) = machine::near(of, address);
    }
    for process in &mut gpu.processes {
        process.name = of.text(format!("/proc/{}/comm", process.pid));
    }
}
