//! `Nvml`: facts about GPUs from NVIDIA's management library, which is loaded on first use.
//!
//! Queries only. Creates no CUDA context, so it takes no memory of a GPU.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError, PcieUtilCounter};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml as Library};

use super::facts::{Driver, Gpu, Link, Process};
use super::gpus::{Gpus, Sample};

/// The initialized library.
#[derive(Debug)]
pub(crate) struct Nvml(Library);

impl Nvml {
    /// Loads the library. Returns `None` if it cannot be loaded and `is_found` returns false: it is not installed.
    ///
    /// # Errors
    /// Returns the library's message if it exists but cannot be initialized.
    pub(crate) fn open(is_found: impl FnOnce() -> bool) -> Result<Option<Nvml>, String> {
        match Library::init() {
            Ok(library) => Ok(Some(Nvml(library))),
            // The system's linker has no kinds of errors: a missing library and a broken one differ by their file.
            Err(NvmlError::LibloadingError(why)) => {
                if is_found() {
                    Err(why.to_string())
                } else {
                    Ok(None)
                }
            }
            Err(why) => Err(why.to_string()),
        }
    }

    /// Returns the devices that answer, by number.
    fn devices(&self) -> impl Iterator<Item = (u64, Device<'_>)> {
        let count = self.0.device_count().unwrap_or(0);
        (0..count).filter_map(|n| Some((u64::from(n), self.0.device_by_index(n).ok()?)))
    }
}

impl Gpus for Nvml {
    fn driver(&self, driver: &mut Driver) {
        driver.found = true;
        driver.version = self.0.sys_driver_version().ok();
        let cuda = self.0.sys_cuda_driver_version().ok();
        driver.cuda_version = cuda.map(|n| format!("{}.{}", n / 1000, n % 1000 / 10));
    }

    fn gpus(&self) -> Vec<Gpu> {
        self.devices().map(|(number, device)| gpu(number, &device)).collect()
    }

    fn sample(&self) -> Vec<Sample> {
        self.devices().map(|(gpu, device)| sample(gpu, &device)).collect()
    }
}

fn sample(gpu: u64, device: &Device<'_>) -> Sample {
    let used = device.utilization_rates().ok();
    let memory = device.memory_info().ok().filter(|memory| memory.total > 0);
    Sample {
        gpu,
        sm_percent: used.as_ref().map(|used| f64::from(used.gpu)),
        memory_controller_percent: used.as_ref().map(|used| f64::from(used.memory)),
        memory_used_percent: memory.map(|m| m.used as f64 / m.total as f64 * 100.0),
        from_host_mb_per_s: megabytes(device, PcieUtilCounter::Receive),
        to_host_mb_per_s: megabytes(device, PcieUtilCounter::Send),
    }
}

fn megabytes(device: &Device<'_>, which: PcieUtilCounter) -> Option<f64> {
    Some(f64::from(device.pcie_throughput(which).ok()?) / 1000.0) // kB/s
}

fn gpu(number: u64, device: &Device<'_>) -> Gpu {
    let memory = device.memory_info().ok();
    let used = device.utilization_rates().ok();
    let errors = device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
    let address = device.pci_info().ok().map(|pci| sysfs_address(&pci.bus_id));
    Gpu {
        number,
        name: device.name().unwrap_or_else(|_| "a GPU without a name".into()),
        uuid: device.uuid().ok(),
        pci_address: address,
        memory_total_bytes: memory.as_ref().map(|memory| memory.total),
        memory_used_bytes: memory.as_ref().map(|memory| memory.used),
        sm_percent: used.as_ref().map(|used| u64::from(used.gpu)),
        memory_controller_percent: used.as_ref().map(|used| u64::from(used.memory)),
        link: Link {
            generation: wide(device.current_pcie_link_gen()),
            generation_max: wide(device.max_pcie_link_gen()),
            width: wide(device.current_pcie_link_width()),
            width_max: wide(device.max_pcie_link_width()),
        },
        memory_node: None,
        near_processors: None,
        ecc: device.is_ecc_enabled().ok().map(|state| state.currently_enabled),
        ecc_uncorrected: errors.ok(),
        slowed_by: device.current_throttle_reasons().map(slowed_by).unwrap_or_default(),
        split: device.mig_mode().is_ok_and(|mode| mode.current == 1),
        processes: device
            .running_compute_processes()
            .unwrap_or_default()
            .iter()
            .map(process)
            .collect(),
    }
}

fn wide(n: Result<u32, NvmlError>) -> Option<u64> {
    n.ok().map(u64::from)
}

fn process(of: &nvml_wrapper::struct_wrappers::device::ProcessInfo) -> Process {
    let memory_used_bytes = match of.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    Process { pid: u64::from(of.pid), name: None, memory_used_bytes }
}

fn slowed_by(reasons: ThrottleReasons) -> Vec<String> {
    use ThrottleReasons as R;
    let heat = R::SW_THERMAL_SLOWDOWN | R::HW_THERMAL_SLOWDOWN;
    let words = [
        (heat, "heat"),
        (R::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        (R::SW_POWER_CAP, "power cap"),
    ];
    let mut found: Vec<_> = words.iter().filter(|(of, _)| reasons.intersects(*of)).collect();
    // The driver reports this in addition to the cause, or alone if it does not know one.
    if reasons.contains(R::HW_SLOWDOWN) && !found.iter().any(|(_, word)| *word != "power cap") {
        found.push(&(R::HW_SLOWDOWN, "hardware"));
    }
    found.into_iter().map(|(_, word)| (*word).to_string()).collect()
}

/// Converts NVML's `00000000:3B:00.0` to the kernel's `0000:3b:00.0`.
fn sysfs_address(bus: &str) -> String {
    let lower = bus.to_ascii_lowercase();
    let Some((domain, rest)) = lower.split_once(':') else { return lower };
    match u32::from_str_radix(domain, 16) {
        Ok(domain) => format!("{domain:04x}:{rest}"),
        Err(_) => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_made_canonical() {
        assert_eq!(sysfs_address("00000000:3B:00.0"), "0000:3b:00.0");
        assert_eq!(sysfs_address("00010000:E1:00.0"), "10000:e1:00.0");
        assert_eq!(sysfs_address("none"), "none");
    }

    #[test]
    fn throttling_of_a_gpu_is_reported_with_its_cause() {
        use ThrottleReasons as R;
        assert_eq!(slowed_by(R::HW_SLOWDOWN | R::HW_THERMAL_SLOWDOWN), ["heat"]);
        assert_eq!(slowed_by(R::HW_SLOWDOWN | R::SW_POWER_CAP), ["power cap", "hardware"]);
        assert!(slowed_by(R::GPU_IDLE | R::APPLICATIONS_CLOCKS_SETTING).is_empty());
    }
}
