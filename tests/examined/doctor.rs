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
        let watch = Place::new().pack("doctor --watch 0.05 --count 2 --format json").succeeds();
        assert_eq!(watch.events()[2]["means"]["gpus"], serde_json::json!([]));
    }
}

#[test]
fn a_narrow_link_is_found() {
    let run = doctor(&[], "").exits(1);
    let run = run.says("570.00.00, runs CUDA up to 12.8; 2 GPUs");
    let run = run.says("GPU 0: Simulated GPU (0000:3b:00.0)").says("SM 87 %, memory 41 %");
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
    let watch = doctor(&[("FAKENVML_REFUSE", "18")], "--watch 0.05 --count 1").succeeds();
    watch.says("run 'pack doctor' for details").says("means of 1 sample");
}

#[test]
fn watch_samples_the_utilization_and_prints_its_means() {
    let run = doctor(&[], "--watch 0.05 --count 4").succeeds();
    let lines: Vec<Vec<&str>> =
        run.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    // The means of both GPUs: SM, memory in use.
    assert_eq!(lines[1][1..3], ["44", "12"], "{}", run.stdout);
    assert_eq!(lines[2][1..3], ["0", "12"], "every second look");
    assert_eq!(lines[1].len(), 9, "{}", run.stdout);
    let run = run
        .says("GPU 0      SM  44 %")
        .says("memory  25 % used,  20 % busy  link 12.0 GB/s in, 3.0 MB/s out");
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
    for words in [
        "--watch 0",
        "--watch soon",
        "--count 3",
        "--watch 1 --count 0",
        "shards",
        "--pid 1",
        "--require all",
        "--watch --require sm",
        "--watch --require sm<=80",
        "--watch --require gpu=80",
    ] {
        Place::new().pack(&format!("doctor {words}")).exits(2);
    }
    let nobody = Place::new().pack("doctor --watch --pid 4194304").exits(2);
    nobody.prints("", "error: --pid: there is no process 4194304 here\n");
}

/// Two processes that sleep.
fn family() -> std::process::Child {
    Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap()
}

fn end(mut process: std::process::Child) {
    let pid = process.id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    for child in std::fs::read_to_string(children).unwrap().split_whitespace() {
        let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
        rustix::process::kill_process(child, Signal::KILL).unwrap();
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_process_is_watched_with_all_that_it_started_until_it_ends() {
    let family = family();
    let place = Place::new();
    let words = format!("doctor --watch 0.05 --format json --pid {}", family.id());
    let child = Child::start(place.command(&words), &place.at(""));
    until("both processes are seen", || child.has_printed(r#""processes":2"#));
    end(family);
    let events = child.ended().succeeds().events();
    let means = &events[events.len() - 1]["means"]["training"];
    assert_eq!((&means["processes"], &means["disk_mb_per_s"]), (&2.into(), &0.0.into()));
    assert!(means["memory_bytes"].as_u64() > Some(0), "{means}");
}

/// The figures of a watch are within what `/proc` and `vmstat` say before it and after it.
#[test]
fn the_figures_of_a_watch_agree_with_the_system() {
    fn busy_ticks() -> f64 {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let all = text.lines().next().unwrap().split_whitespace().skip(1);
        let ticks: Vec<f64> = all.map(|word| word.parse().unwrap()).collect();
        ticks[..3].iter().chain(&ticks[5..7]).sum()
    }

    fn read_bytes(disk: &str) -> f64 {
        let text = std::fs::read_to_string("/proc/diskstats").unwrap();
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|words| words[2] == disk).unwrap();
        line[5].parse::<f64>().unwrap() * 512.0
    }

    let disks = std::fs::read_to_string("/proc/diskstats").unwrap();
    let names = disks.lines().filter_map(|line| line.split_whitespace().nth(2));
    let before: Vec<(String, f64)> = names.map(|name| (name.into(), read_bytes(name))).collect();
    let busy = busy_ticks();
    let run = Place::new().pack("doctor --watch 0.1 --count 3 --format json").succeeds();
    let busy = busy_ticks() - busy;
    let means = &run.events()[3]["means"];
    let seconds = means["seconds"].as_f64().unwrap();
    assert!(seconds > 0.0, "{means}");
    let cpu = &means["cpu"];
    let processors = cpu["processors"].as_f64().unwrap();
    let shown = cpu["busy_percent"].as_f64().unwrap() / 100.0 * processors * seconds * 100.0;
    // A tick is lost and won at each end, and processors count theirs at other times.
    assert!(shown <= busy * 1.05 + 4.0 * processors, "{shown} ticks of {busy}: {cpu}");
    for disk in means["disks"].as_array().unwrap() {
        let name = disk["name"].as_str().unwrap();
        let then = before.iter().find(|(known, _)| known == name).unwrap().1;
        let shown = disk["read_mb_per_s"].as_f64().unwrap() * 1e6 * seconds;
        assert!(shown <= read_bytes(name) - then + 1.0, "{disk}");
        assert!(disk["busy_percent"].as_f64().unwrap() <= 100.0, "{disk}");
    }
    let vmstat = Command::new("vmstat").args(["-s", "-S", "K"]).output();
    if let Ok(vmstat) = vmstat {
        let text = String::from_utf8(vmstat.stdout).unwrap();
        let total = text.lines().find_map(|line| line.strip_suffix(" K total memory")).unwrap();
        let total: u64 = total.trim().parse().unwrap();
        assert_eq!(means["memory"]["total_bytes"], total * 1024);
    }
}

/// A running loader, which `pack bench` is, tells what it does.
#[test]
fn a_running_loader_is_shown_with_its_waits_and_judged() {
    let place = Place::new();
    place.photos("photos", 20).pack("build photos -o shards").succeeds();
    let mut bench = place.command("bench shards --raw --seconds 3600 --batch 4");
    bench.env("TARFLUME_STATS", place.at("stats"));
    let bench = Child::start(bench, &place.at(""));
    let pid = bench.pid();
    let words = format!(
        "doctor --watch 0.05 --pid {pid} --require batch-p99=10min,batch-p50=0 --format json"
    );
    let refused = Place::new().pack(&words);
    refused.exits(2).says("is no limit of batch-p99");
    let words =
        format!("doctor --watch 0.05 --format json --pid {pid} --require batch-p99=3600s,epoch=0");
    let doctor = Child::start(place.command(&words), &place.at(""));
    // A file is written once a second, so the second one has batches.
    until("batches are seen", || {
        doctor.has_printed(r#""batches_per_s":"#) && some_batches(&doctor)
    });
    bench.signal(Signal::KILL);
    drop(bench);
    let run = doctor.ended().exits(1);
    let events = run.events();
    let last = &events[events.len() - 1];
    let loader = &last["means"]["loaders"][0];
    assert!(loader["batches"].as_u64() > Some(0), "{loader}");
    assert!(loader["stages"]["read"].as_f64().is_some(), "{loader}");
    assert_eq!(loader["prepared_batches"], 4.0, "{loader}");
    let states: Vec<_> = last["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (&r["figure"], &r["state"]))
        .collect();
    assert_eq!(
        states,
        [(&"batch-p99".into(), &"kept".into()), (&"epoch".into(), &"broken".into())]
    );
    let epoch = &last["requirements"][1];
    assert!(epoch["cause"].as_str().is_some() && epoch["change"].as_str().is_some(), "{epoch}");
}

fn some_batches(doctor: &Child) -> bool {
    let lines = doctor.printed();
    let looks = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    looks.into_iter().any(|look| look["loaders"][0]["batches"].as_u64() > Some(0))
}

#[test]
fn requirements_are_told_with_cause_and_remedy() {
    let run = doctor(&[], "--watch 0.05 --count 2 --require all,disk=100,worker-cpu=100").exits(1);
    let run = run.says("requirements\n  BROKEN       GPU busy (SM)          >= 80 %");
    let run = run.says("44 % (GPU 0)\n    cause: ").says("    try: ");
    let run = run.says("  BROKEN       GPU memory in use      >= 60 %         25 % (GPU 0)");
    let run = run.says("about 2.4 times as many samples reach 60 %");
    let run = run.says(
        "  not measured wait for a batch, p50  <= 50.0 ms\n    no loader told what it does; ",
    );
    run.says("  kept         busiest disk           <= 100 %");
    let run = doctor(&[], "--watch 0.05 --count 2 --require sm=40,gpu-memory=20").succeeds();
    run.says("  kept         GPU busy (SM)          >= 40 %         44 % (GPU 0)");
    let run = doctor(&[], "--watch 0.05 --count 1 --require batch-p50=50").exits(1);
    run.says("required by its name, so this fails: no loader told what it does");
}
