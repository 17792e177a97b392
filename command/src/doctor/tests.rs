//! Simulated machines: a tree of files, and GPUs with the state that a test needs.

use std::fs;

use super::examine;
use super::facts::{Driver, Gpu, Link};
use super::findings::Finding;
use super::gpus::{Gpus, Sample};
use super::surroundings::Surroundings;

/// A driver with these GPUs.
struct Known(Vec<Gpu>);

impl Gpus for Known {
    fn driver(&self, driver: &mut Driver) {
        driver.found = true;
        driver.cuda_version = Some("12.8".into());
    }

    fn gpus(&self) -> Vec<Gpu> {
        self.0.clone()
    }

    fn sample(&self) -> Vec<Sample> {
        Vec::new()
    }
}

fn healthy() -> Gpu {
    let link =
        Link { generation: Some(5), generation_max: Some(5), width: Some(16), width_max: Some(16) };
    Gpu { link, pci_address: Some("0000:3b:00.0".into()), sm_percent: Some(50), ..Gpu::default() }
}

/// A machine with two NUMA nodes, 64 GB and all libraries, without a fault.
struct Made(tempfile::TempDir, Vec<(&'static str, &'static str)>);

impl Made {
    fn new() -> Made {
        let made = Made(tempfile::tempdir().unwrap(), Vec::new());
        made.file("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\n")
            .file("proc/self/status", "Cpus_allowed_list:\t0-7\nCapEff:\t0000000000000000\n")
            .file(
                "proc/self/limits",
                "Max locked memory  unlimited  unlimited  bytes\nMax open files  65536  65536  files\n",
            )
            .file("sys/devices/system/cpu/online", "0-7\n")
            .file("sys/devices/system/node/node0/cpulist", "0-3\n")
            .file("sys/devices/system/node/node1/cpulist", "4-7\n")
            .file("sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n")
            .file("sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "4-7\n");
        for name in ["libcuda.so.1", "libnvrtc.so.12", "libnvjpeg.so.12", "libnvcuvid.so.1"] {
            made.file(&format!("usr/lib64/{name}"), "");
        }
        made
    }

    fn file(&self, path: &str, text: &str) -> &Made {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn without(&self, path: &str) -> &Made {
        fs::remove_file(self.0.path().join(path)).unwrap();
        self
    }

    fn surroundings(&self) -> Surroundings {
        let variables = self.1.iter().map(|(name, value)| (name.into(), value.into()));
        Surroundings::below(self.0.path(), variables)
    }

    fn report(&self, gpus: Vec<Gpu>) -> super::Report {
        examine(&self.surroundings(), &Ok(Some(Known(gpus))))
    }

    fn findings(&self, gpus: Vec<Gpu>) -> Vec<Finding> {
        self.report(gpus).findings
    }

    /// Returns the report without a driver, or with one that refuses.
    fn undriven(&self, refusal: Option<&str>) -> super::Report {
        let gpus: Result<Option<Known>, String> = refusal.map_or(Ok(None), |r| Err(r.into()));
        examine(&self.surroundings(), &gpus)
    }
}

fn kinds(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn a_well_configured_machine_has_no_finding() {
    let report = Made::new().report(vec![healthy()]);
    assert!(report.findings.is_empty() && !report.costs_speed(), "{:#?}", report.findings);
    let machine = &report.facts.machine;
    let gpu = &report.facts.gpus[0];
    assert_eq!((machine.processors_allowed, machine.processors_online), (Some(8), Some(8)));
    assert_eq!((machine.memory_nodes, machine.page_cache_room_bytes), (2, Some(61_440_000_000)));
    assert_eq!((gpu.memory_node, gpu.near_processors.as_deref()), (Some(1), Some("4-7")));
    assert!(report.facts.libraries.iter().all(|l| l.path.is_some() && l.on_search_path));
}

#[test]
fn a_link_is_judged_by_its_lanes_and_by_its_speed_only_under_load() {
    let made = Made::new();
    let mut narrow = healthy();
    narrow.link.width = Some(4);
    let found = made.findings(vec![healthy(), Gpu { number: 1, ..narrow }]);
    assert_eq!((kinds(&found), found[0].gpu), (vec!["narrow-link"], Some(1)));
    assert_eq!(found[0].cost, "copies take 4.0 times as long");
    let mut slow = healthy();
    slow.link.generation = Some(3);
    assert_eq!(kinds(&made.findings(vec![slow.clone()])), ["slow-link"]);
    slow.sm_percent = Some(0);
    assert!(made.findings(vec![slow]).is_empty(), "an idle link slows down");
    let silent = Gpu { link: Link::default(), ..healthy() };
    assert!(made.findings(vec![silent]).is_empty());
}

#[test]
fn processors_far_from_a_gpu_are_a_finding() {
    let made = Made::new();
    made.file("proc/self/status", "Cpus_allowed_list:\t0-3\n");
    let found = made.findings(vec![healthy()]);
    assert_eq!(kinds(&found), ["far-processors"]);
    assert!(found[0].advice.contains("numactl --cpunodebind=1"), "{found:#?}");
}

#[test]
fn a_throttled_broken_or_partitioned_gpu_is_a_finding() {
    let ill = Gpu {
        slowed_by: vec!["heat".into(), "power cap".into()],
        ecc_uncorrected: Some(2),
        split: true,
        ..healthy()
    };
    let found = Made::new().findings(vec![ill]);
    assert_eq!(kinds(&found), ["slowed", "memory-errors", "split"]);
    let costs: Vec<_> = found.iter().map(|finding| finding.costs_speed).collect();
    assert_eq!(costs, [true, true, false], "notes come last");
    let capped = Gpu { slowed_by: vec!["power cap".into()], ..healthy() };
    assert!(Made::new().findings(vec![capped]).is_empty(), "usual under load");
}

#[test]
fn without_gpu_and_driver_nothing_is_wrong() {
    let report = Made::new().undriven(None);
    assert!(report.findings.is_empty() && !report.facts.driver.found);
}

#[test]
fn a_gpu_whose_driver_does_not_answer_is_a_finding() {
    let made = Made::new();
    made.file("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
    made.file("sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
    assert_eq!(kinds(&made.undriven(None).findings), ["no-driver"]);
    let refused = made.undriven(Some("a version mismatch"));
    assert_eq!(kinds(&refused.findings), ["driver-refuses"]);
    assert!(refused.costs_speed() && refused.findings[0].what.contains("a version mismatch"));
    made.file("proc/driver/nvidia/version", "NVRM\n");
    assert_eq!(kinds(&made.undriven(None).findings), ["no-driver-library"]);
}

#[test]
fn hidden_gpus_and_missing_libraries_are_findings() {
    let mut made = Made::new();
    made.1.push(("CUDA_VISIBLE_DEVICES", "-1"));
    assert_eq!(kinds(&made.findings(vec![healthy()])), ["hidden-gpus"]);
    made.1.clear();
    for name in ["libcuda.so.1", "libnvrtc.so.12", "libnvjpeg.so.12", "libnvcuvid.so.1"] {
        made.without(&format!("usr/lib64/{name}"));
    }
    let found = made.findings(vec![healthy()]);
    assert_eq!(kinds(&found), ["no-libcuda", "no-nvrtc", "no-nvjpeg", "no-nvcuvid"]);
    assert_eq!(found[1].advice, "pip install nvidia-cuda-nvrtc-cu12");
    assert!(made.undriven(None).findings.is_empty(), "nobody misses them without a GPU");
}

#[test]
fn libraries_of_python_packages_are_found() {
    let mut made = Made::new();
    made.without("usr/lib64/libnvjpeg.so.12").without("usr/lib64/libnvrtc.so.12");
    made.file("venv/lib/python3.12/site-packages/torchvision.libs/libnvjpeg.36e11081.so.13", "");
    made.file("kit/libnvrtc.alt.so.13", "").file("kit/libnvrtc.so.13", "");
    made.1 = vec![("VIRTUAL_ENV", "/venv"), ("LD_LIBRARY_PATH", ":/kit")];
    let libraries = made.report(vec![healthy()]).facts.libraries;
    let found = |name: &str| libraries.iter().find(|l| l.name == name).cloned().unwrap();
    let nvjpeg = found("libnvjpeg");
    let nvrtc = found("libnvrtc");
    assert!(nvjpeg.path.unwrap().ends_with("torchvision.libs/libnvjpeg.36e11081.so.13"));
    assert!(!nvjpeg.on_search_path && nvrtc.on_search_path);
    assert!(nvrtc.path.unwrap().ends_with("kit/libnvrtc.so.13"));
}

#[test]
fn cgroups_bound_processors_and_memory_by_the_tightest_above() {
    let made = Made::new();
    made.file("proc/self/cgroup", "0::/job/task\n")
        .file("sys/fs/cgroup/job/cpu.max", "250000 100000\n")
        .file("sys/fs/cgroup/job/task/cpu.max", "max 100000\n")
        .file("sys/fs/cgroup/job/memory.max", "4000000000\n")
        .file("sys/fs/cgroup/job/memory.current", "3000000000\n")
        .file("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 500000000\nactive_file 1\n")
        .file("sys/fs/cgroup/job/task/memory.max", "max\n");
    let report = made.undriven(None);
    let machine = &report.facts.machine;
    assert_eq!(machine.cgroup_processors, Some(2.5));
    assert_eq!(machine.cgroup_memory_limit_bytes, Some(4_000_000_000));
    assert_eq!(machine.page_cache_room_bytes, Some(1_500_000_001));
    assert_eq!(kinds(&report.findings), ["little-memory"]);
}

#[test]
fn cgroups_of_version_1_are_read_too() {
    let made = Made::new();
    made.file("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n")
        .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n")
        .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    let machine = made.undriven(None).facts.machine;
    assert_eq!(machine.cgroup_processors, Some(4.0));
    assert_eq!(machine.cgroup_memory_limit_bytes, None, "that is no limit");
}

#[test]
fn small_limits_are_findings() {
    let made = Made::new();
    made.file(
        "proc/self/limits",
        "Max locked memory  8388608  8388608  bytes\nMax open files  256  4096  files\n",
    )
    .file("proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
    let found = made.findings(vec![healthy()]);
    assert_eq!(kinds(&found), ["few-files", "locked-memory", "small-shm"]);
    assert!(found[0].costs_speed && !found[1].costs_speed && !found[2].costs_speed);
    assert!(found[0].cost.starts_with("64 shards"), "{found:#?}");
    made.file("proc/self/status", "CapEff:\t0000000000004000\n");
    assert_eq!(kinds(&made.findings(vec![healthy()])), ["few-files", "small-shm"]);
}

#[test]
fn a_machine_without_any_information_is_no_failure() {
    let empty = tempfile::tempdir().unwrap();
    let of = Surroundings::below(empty.path(), []);
    let report = examine(&of, &Ok(Some(Known(vec![Gpu::default()]))));
    assert_eq!(report.facts.machine.processors_allowed, None);
    assert_eq!(report.facts.limits.open_files, None);
}
