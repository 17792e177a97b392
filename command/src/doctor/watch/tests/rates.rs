//! Snapshots become rates, and rates become means.

use super::super::kernel::{self, DiskCounters};
use super::super::loaders::{LoaderRecord, parse};
use super::super::look::Look;
use super::super::processes::ProcessCounters;
use super::super::snapshot::Snapshot;
use super::super::summary::Collected;
use super::gpu;

fn at(at: f64) -> Snapshot {
    Snapshot { at, ..Snapshot::default() }
}

#[test]
fn shares_of_processors_add_up_to_all() {
    fn stat(text: &str, seconds: f64) -> Snapshot {
        Snapshot { processors: kernel::processors(text), ..at(seconds) }
    }

    let before = stat("cpu 100 0 50 800 40 5 5 10\ncpu0 100 0 50 800 40 5 5 10\n", 0.0);
    let after = stat(
        "cpu 150 10 70 880 50 5 15 20\ncpu0 150 10 70 880 50 5 15 20\ncpu1 3 0 0 1 0 0 0 0\n",
        1.0,
    );
    let cpu = Look::between(&before, &after, &[]).cpu;
    // 190 ticks: 60 user, 30 system, 80 idle, 10 waiting, 10 stolen.
    let shares =
        [cpu.user_percent, cpu.system_percent, cpu.waiting_for_disk_percent, cpu.stolen_percent];
    let expected = [60.0, 30.0, 10.0, 10.0].map(|ticks| 100.0 * ticks / 190.0);
    for (share, expected) in shares.into_iter().zip(expected) {
        assert!((share - expected).abs() < 1e-9, "{cpu:?}");
    }
    assert!((cpu.busy_percent - 100.0 * 90.0 / 190.0).abs() < 1e-9);
    assert_eq!(
        (cpu.processors, cpu.each_busy_percent[1]),
        (2, 75.0),
        "a processor that went online"
    );
    let idle = Look::between(&after, &after, &[]).cpu;
    assert_eq!((idle.busy_percent, idle.each_busy_percent[0]), (0.0, 0.0));
}

#[test]
fn a_disk_has_the_figures_of_iostat() {
    /// Reads, bytes, milliseconds of reads, busy ones, queued ones.
    fn counters(of: [u64; 5]) -> DiskCounters {
        let [reads, read_bytes, read_ms, busy_ms, queued_ms] = of;
        let name = "sda".into();
        DiskCounters {
            name,
            reads,
            read_bytes,
            read_ms,
            busy_ms,
            queued_ms,
            ..DiskCounters::default()
        }
    }

    let before = Snapshot { disks: vec![counters([10, 1_000_000, 50, 100, 1000])], ..at(1.0) };
    let after = Snapshot { disks: vec![counters([210, 41_000_000, 450, 1700, 7000])], ..at(3.0) };
    let look = Look::between(&before, &after, &[]);
    let disk = look.busiest_disk().unwrap();
    assert_eq!((disk.busy_percent, disk.queue), (80.0, 3.0));
    assert_eq!((disk.read_mb_per_s, disk.reads_per_s), (20.0, 100.0));
    assert_eq!((disk.read_ms, disk.write_ms), (Some(2.0), None));
    assert_eq!(disk.read_size_bytes, Some(200_000.0));
    let back = Look::between(&after, &before, &[]);
    assert_eq!(back.disks[0].read_mb_per_s, 0.0, "counters that were reset");
}

fn process(pid: u64, started: u64, ticks: u64) -> ProcessCounters {
    ProcessCounters {
        pid,
        started,
        ticks,
        threads: 2,
        read_bytes: Some(ticks * 1000),
        ..ProcessCounters::default()
    }
}

#[test]
fn a_training_is_the_sum_of_its_processes() {
    let before =
        Snapshot { processes: Some(vec![process(7, 1, 100), process(8, 1, 50)]), ..at(0.0) };
    // 9 is new; the number 8 belongs to another process now.
    let now = vec![process(7, 1, 300), process(8, 2, 40), process(9, 3, 10)];
    let after = Snapshot { processes: Some(now), ..at(2.0) };
    let training = Look::between(&before, &after, &[]).training.unwrap();
    assert_eq!((training.processes, training.threads, training.cores), (3, 6, 1.25));
    assert_eq!(training.disk_mb_per_s, Some(0.125));
    assert_eq!(training.busiest[0].pid, 7);
    assert_eq!(training.calls_mb_per_s, None, "they are another user's");
}

#[test]
fn the_end_of_a_process_takes_nothing_from_the_means() {
    fn with(seconds: f64, processes: Vec<ProcessCounters>) -> Snapshot {
        Snapshot { processes: Some(processes), ..at(seconds) }
    }

    let mut collected = Collected::new(with(0.0, vec![process(7, 1, 0), process(8, 1, 0)]));
    collected.add(with(1.0, vec![process(7, 1, 50), process(8, 1, 100)]));
    collected.add(with(2.0, vec![process(7, 1, 100)]));
    let training = collected.summary().look.training.unwrap();
    assert_eq!((training.cores, training.processes), (1.0, 1), "1.5 and 0.5 processors");
}

#[test]
fn the_means_of_gpus_are_those_of_the_samples_that_know() {
    let mut collected = Collected::new(at(0.0));
    for (n, sm) in [10.0, 20.0, 60.0].into_iter().enumerate() {
        let mut unknown = gpu(1, 0.0, 50.0);
        unknown.sm_percent = None;
        collected.add(Snapshot { gpus: vec![gpu(0, sm, 25.0), unknown], ..at(n as f64 + 1.0) });
    }
    let summary = collected.summary();
    let sm: Vec<_> = summary.look.gpus.iter().map(|gpu| gpu.sm_percent).collect();
    assert_eq!((summary.samples, sm), (3, vec![Some(30.0), None]));
}

/// A file of a loader.
fn file(time: f64, batches: u64, waited: f64, pending: f64, counts: &str) -> LoaderRecord {
    let text = format!(
        r#"{{"tarflume_stats": 1, "host": "n1", "pid": 7, "loader": 0, "time": {time}, "ended": false, "rank": 0,
            "world_size": 1, "epoch": 2, "position": 500, "epoch_samples": 2000, "epoch_steps": 200,
            "wait_counts": {counts}, "stats": {{"running_s": {}, "startup_s": 1.0, "waiting_s": {pending},
            "bottleneck": "storage", "ready_batches": {{"requests": {batches}, "missing": 0, "ready": {}, "slots": {}}},
            "stages": {{"read": {{"busy_s": {}, "waiting_input_s": 0, "items": 9, "bytes": {}}},
            "consumer": {{"busy_s": 1, "waiting_input_s": {waited}, "items": {batches}, "bytes": 0}}}}}}}}"#,
        time - 100.0,
        batches * 3,
        batches * 4,
        time / 2.0,
        batches * 1_000_000
    );
    parse(&text).unwrap()
}

fn loader_between(then: LoaderRecord, now: LoaderRecord) -> super::LoaderLook {
    let before = Snapshot { loaders: vec![then], ..at(0.0) };
    let after = Snapshot { loaders: vec![now], ..at(1.0) };
    Look::between(&before, &after, &[]).loaders.remove(0)
}

#[test]
fn a_loader_is_what_it_did_between_two_files() {
    let then = file(102.0, 10, 1.5, 0.0, "[[0.001, 8], [1.0, 2]]");
    let now = file(112.0, 60, 5.5, 0.0, "[[0.001, 46], [0.08, 10], [1.0, 4]]");
    let look = loader_between(then, now);
    assert_eq!((look.batches, look.batches_per_s), (50, 5.0));
    // 4 of 10 seconds, and 200 steps at 0.2 s.
    assert_eq!((look.waited_percent, look.epoch_s), (Some(40.0), Some(40.0)));
    let wait = look.batch_wait_ms.unwrap();
    assert_eq!((wait.p50, wait.p95, wait.p99, wait.max), (1.0, 80.0, 1000.0, 1000.0));
    assert_eq!((look.ready_batches, look.prepared_batches), (Some(3.0), Some(4.0)));
    assert_eq!(
        (look.stages["read"], look.read_mb_per_s, look.epoch_percent),
        (0.5, 5.0, Some(25.0))
    );
}

#[test]
fn a_wait_that_is_not_over_counts_once_it_is_the_longest() {
    let counts = "[[0.001, 10]]";
    let stuck =
        loader_between(file(102.0, 10, 1.0, 0.0, counts), file(112.0, 10, 1.0, 9.0, counts));
    assert_eq!(stuck.batch_wait_ms.unwrap().p50, 9000.0);
    assert_eq!((stuck.waiting_s, stuck.epoch_s), (9.0, None));
    let short =
        loader_between(file(102.0, 0, 1.0, 0.0, "[]"), file(112.0, 10, 1.0, 0.0001, counts));
    assert_eq!(short.batch_wait_ms.unwrap().max, 1.0);
}

#[test]
fn a_loader_that_has_written_nothing_new_is_shown_as_before() {
    let then = file(102.0, 10, 1.0, 0.0, "[[0.001, 10]]");
    let now = file(104.0, 20, 1.0, 0.0, "[[0.001, 20]]");
    let mut collected = Collected::new(Snapshot { loaders: vec![then], ..at(0.0) });
    let fresh = collected.add(Snapshot { loaders: vec![now.clone()], ..at(1.0) }).loaders;
    let same = collected.add(Snapshot { loaders: vec![now], ..at(1.5) }).loaders;
    assert_eq!((fresh[0].batches, &same), (10, &fresh));
    // A loader that has gone is in the means.
    collected.add(at(2.0));
    assert_eq!(collected.summary().look.loaders[0].batches, 10);
}

#[test]
fn files_of_something_else_are_not_taken() {
    let good = serde_json::json!({"tarflume_stats": 1, "host": "a", "pid": 1, "loader": 0, "time": 1.0, "ended": true,
        "stats": {"running_s": 1.0, "stages": {}}});
    assert!(parse(&good.to_string()).is_some());
    for (key, value) in [("tarflume_stats", 2.into()), ("time", (-1.0).into()), ("pid", "x".into())]
    {
        let mut bad = good.clone();
        bad[key] = value;
        assert_eq!(parse(&bad.to_string()), None, "{key}");
    }
    assert_eq!(parse("[]"), None);
}
