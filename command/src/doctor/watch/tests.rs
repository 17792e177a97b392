//! Texts of real machines become counters, counters become rates, and planted causes their verdicts.

mod causes;
mod rates;
mod texts;

use super::loader_look::{LoaderLook, Wait};
use super::look::{Cpu, Disk, Look, Memory};
use super::training::{Training, Worker};
use crate::doctor::gpus::Sample;

/// A machine with eight processors and a training that waits for data in 40 % of its time, without a cause.
fn waiting() -> Look {
    Look {
        seconds: 60.0,
        gpus: vec![gpu(0, 50.0, 40.0), gpu(1, 54.0, 70.0)],
        cpu: Cpu {
            processors: 8,
            usable_processors: Some(8.0),
            busy_percent: 30.0,
            ..Cpu::default()
        },
        memory: Some(Memory {
            total_bytes: 64_000_000_000,
            available_bytes: 50_000_000_000,
            page_cache_bytes: 30_000_000_000,
            ..Memory::default()
        }),
        disks: vec![disk("nvme0n1", 20.0), disk("sda", 1.0)],
        network: Vec::new(),
        training: Some(training(2.0)),
        loaders: vec![loader(40.0)],
    }
}

fn gpu(gpu: u64, sm: f64, memory: f64) -> Sample {
    Sample { gpu, sm_percent: Some(sm), memory_used_percent: Some(memory), ..Sample::default() }
}

fn disk(name: &str, busy: f64) -> Disk {
    Disk {
        name: name.into(),
        busy_percent: busy,
        read_mb_per_s: 100.0,
        reads_per_s: 400.0,
        read_size_bytes: Some(250_000.0),
        read_ms: Some(2.0),
        ..Disk::default()
    }
}

fn training(cores: f64) -> Training {
    Training {
        processes: 5,
        threads: 60,
        cores,
        disk_mb_per_s: Some(1.0),
        calls_mb_per_s: Some(100.0),
        busiest: vec![Worker { pid: 7, name: "python".into(), cores, memory_bytes: 1 }],
        ..Training::default()
    }
}

fn loader(waited: f64) -> LoaderLook {
    LoaderLook {
        pid: 7,
        waited_percent: Some(waited),
        batch_wait_ms: Some(Wait { p50: 30.0, p95: 60.0, p99: 90.0, max: 120.0 }),
        epoch_s: Some(36_000.0),
        prepared_batches: Some(4.0),
        read_mb_per_s: 200.0,
        ..LoaderLook::default()
    }
}
