//! `pack doctor`: without a driver, and with the simulated management library of `fixtures/nvml`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Child, Place, Run, until};

/// Returns the folder of the simulated library, built if its sources are newer.
fn played() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nvml/build.sh");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvml");
        let built = Command::new("bash").arg(script).arg(&out).output().unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the played library can't be built: {text}");
        out
    });
    folder.to_str().unwrap()
}

/// Runs the doctor with the simulated library and these variables.
fn doctor(knobs: &[(&str, &str)], words: &str) -> Run {
    let env = [&[("LD_LIBRARY_PATH", played())], knobs].concat();
    Place::new().pack_in(&env, &format!("doctor {words}"))
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

/// Returns the kinds of a report's findings about GPUs; others depend on the machine that runs the
/// tests.
fn gpu_findings(report: &Value) -> Vec<(u64, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let of = |found: &Value| found["gpu"].as_u64();
    findings.filter_map(|f| Some((of(f)?, f["kind"].as_str().unwrap()))).collect()
}

/// Returns true if the machine that runs the tests has no library of NVIDIA's.
fn bare() -> bool {
    !Path::new("/proc/driver/nvidia").exists()
}

#[test]
fn without_a_driver_doctor_reports_no_error() {
    if bare() {
        let run = Place::new().pack("doctor").says("batches stay in host memory");
        run.says("machine\n").says("limits\n").says("libraries\n");
        let report = object(&Place::new().pack("doctor --format json"));
        assert_eq!(report["driver"]["found"], false);
        assert_eq!(report["gpus"], serde_json::json!([]));
        assert!(report["machine"]["processors_allowed"].as_u64() > Some(0), "{report:#}");
        let watch = Place::new().pack("doctor --watch 1").exits(2);
        watch.prints("", "error: there is no NVIDIA driver here, so nothing to watch\n");
    }
}

#[test]
fn a_narrow_link_is_found() {
    let run = doctor(&[], "").exits(1);
    let run = run.says("570.00.00, runs CUDA up to 12.8; 2 GPUs");
    let run = run.says("GPU 0: Played GPU (0000:3b:00.0)").says("SM 87 %, memory 41 %");
    let run =
        run.says("21.5 GB of 85.9 GB in use").says("4000000000 (not seen from here) holds 21.5 GB");
    let run = run.says("PCIe 1 x8 now, at most PCIe 5 x16; an idle link slows down");
    run.says("  GPU 1: its link has 8 lanes and could have 16: copies take 2.0 times as long; ");
}

#[test]
fn json_output_has_the_same_content() {
    let run = doctor(&[], "--format json").exits(1);
    let report = object(&run);
    assert_eq!(gpu_findings(&report), [(1, "narrow-link")]);
    let first = &report["gpus"][0];
    let second = &report["gpus"][1];
    assert_eq!((&first["sm_percent"], &first["ecc"]), (&87.into(), &true.into()));
    assert_eq!(first["link"]["width_max"], 16);
    assert_eq!(first["memory_total_bytes"], 80u64 << 30);
    assert_eq!((&second["ecc"], &second["processes"]), (&Value::Null, &serde_json::json!([])));
}

#[test]
fn other_problems_of_a_gpu_are_found() {
    let report = object(
        &doctor(&[("FAKENVML_HOT", "1"), ("FAKENVML_SPLIT", "1")], "--format json").exits(1),
    );
    assert_eq!(gpu_findings(&report), [(0, "slowed"), (1, "narrow-link"), (1, "split")]);
    assert_eq!(report["gpus"][1]["sm_percent"], Value::Null);
    doctor(&[("FAKENVML_SPLIT", "1")], "").says("SM unknown, memory unknown; it is split (MIG)");
    let hidden = object(&doctor(&[("CUDA_VISIBLE_DEVICES", "")], "--format json").exits(1));
    assert!(hidden["findings"].as_array().unwrap().iter().any(|f| f["kind"] == "hidden-gpus"));
}

#[test]
fn a_driver_that_returns_an_error_is_a_finding() {
    let run = doctor(&[("FAKENVML_REFUSE", "18")], "").exits(1);
    run.says("does not answer").says("NVIDIA's driver is installed but refuses: ");
    doctor(&[("FAKENVML_REFUSE", "18")], "--watch 1")
        .exits(75)
        .says("run 'pack doctor' for details");
}

#[test]
fn watch_samples_the_utilization_and_prints_its_means() {
    let run = doctor(&[], "--watch 0.05 --count 4").succeeds();
    let lines: Vec<Vec<&str>> =
        run.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1][1..], ["0", "87", "41", "25", "12000", "3"], "{}", run.stdout);
    assert_eq!(lines[2][1..], ["1", "0", "0", "0", "-", "-"]);
    assert_eq!(lines[3][1..], ["0", "0", "0", "25", "12000", "3"], "every second look");
    let run = run.says("means of 4 samples").says("GPU 0 was idle 56 % of the time");
    run.says("GPU 1 was idle.");
}

#[test]
fn watch_prints_lines_of_json() {
    let events = doctor(&[], "--watch 0.05 --count 2 --format json").succeeds().events();
    assert_eq!(events.len(), 3);
    assert!(events[0]["seconds"].as_f64() < events[1]["seconds"].as_f64());
    assert_eq!(events[0]["gpus"][0]["from_host_mb_per_s"], 12000.0);
    let means = &events[2]["means"];
    assert_eq!((&means["samples"], &means["gpus"][0]["sm_percent"]), (&2.into(), &43.5.into()));
    assert_eq!(means["gpus"][1]["from_host_mb_per_s"], Value::Null);
}

#[test]
fn ctrl_c_ends_a_watch_with_its_means() {
    for (signal, exit) in [(Signal::INT, 0), (Signal::TERM, 143)] {
        let place = Place::new();
        let mut command = place.command("doctor --watch 0.05");
        command.env("LD_LIBRARY_PATH", played());
        let child = Child::start(command, &place.at(""));
        until("it prints something", || child.has_printed("\n"));
        child.signal(signal);
        child.ended().exits(exit).says("means of ");
    }
}

#[test]
fn wrong_words_are_refused() {
    for words in ["--watch 0", "--watch soon", "--count 3", "--watch 1 --count 0", "shards"] {
        Place::new().pack(&format!("doctor {words}")).exits(2);
    }
}
