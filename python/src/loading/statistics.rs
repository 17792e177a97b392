//! The statistics of a loader as a dict.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{BatchWait, DeviceMemoryStats, IdleStats, PackStats, RingStats, Stats};
use tarflume_formats::message::Face;

use crate::loading::fetch_stats;

/// The numbers of `Stats`, in seconds, bytes and shares of 1.
pub(crate) fn facts<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("num_threads", stats.threads)?;
    facts.set_item("running_s", stats.running.as_secs_f64())?;
    facts.set_item("starved", stats.starved())?;
    facts.set_item("bottleneck", format!("{:?}", stats.bottleneck()).to_lowercase())?;
    facts.set_item("verdict", stats.verdict_message().in_face(Face::Python))?;
    facts.set_item("hidden", stats.hidden())?;
    facts.set_item("device", stats.device.as_ref())?;
    let slots = stats.ring.map(|ring| filled(py, &ring));
    facts.set_item("device_slots", slots.transpose()?)?;
    let memory = stats.device_memory.map(|memory| allocated(py, memory));
    facts.set_item("device_memory", memory.transpose()?)?;
    facts.set_item("ready_batches", filled(py, &stats.ready)?)?;
    facts.set_item("waiting_s", stats.waiting.as_secs_f64())?;
    let decoder = stats.decoder.as_ref().map(|decoder| {
        let dict = PyDict::new(py);
        dict.set_item("about", decoder.about.in_face(Face::Python))?;
        dict.set_item("decoded", decoder.decoded)?;
        dict.set_item("refused", decoder.refused)?;
        dict.set_item("why", decoder.why.as_ref().map(|why| why.in_face(Face::Python)))?;
        dict.set_item("waited_s", decoder.waited.as_secs_f64())?;
        dict.set_item("redone_s", decoder.redone.as_secs_f64())?;
        dict.set_item("share", f64::from(decoder.share) / 1000.0)?;
        PyResult::Ok(dict)
    });
    facts.set_item("decoder", decoder.transpose()?)?;
    let stages = PyDict::new(py);
    for stage in &stats.stages {
        let of = PyDict::new(py);
        of.set_item("busy_s", stage.busy.as_secs_f64())?;
        of.set_item("waiting_input_s", stage.waiting_input.as_secs_f64())?;
        of.set_item("waiting_output_s", stage.waiting_output.as_secs_f64())?;
        of.set_item("items", stage.items)?;
        of.set_item("bytes", stage.bytes)?;
        stages.set_item(stage.name, of)?;
    }
    facts.set_item("stages", stages)?;
    let idle = PyDict::new(py);
    let IdleStats { consumer, memory, prefetch, plan, input, wake, end, .. } = stats.idle;
    for (what, time) in [
        ("consumer", consumer),
        ("memory", memory),
        ("prefetch", prefetch),
        ("plan", plan),
        ("input", input),
        ("wake", wake),
        ("end", end),
    ] {
        idle.set_item(what, time.as_secs_f64())?;
    }
    facts.set_item("idle_s", idle)?;
    facts.set_item("reads_asleep_s", stats.reads_asleep.as_secs_f64())?;
    facts.set_item("startup_s", stats.startup.as_secs_f64())?;
    let BatchWait { count, mean, p50, p95, p99, max, .. } = stats.batch_wait;
    let wait = PyDict::new(py);
    wait.set_item("count", count)?;
    for (what, time) in [("mean", mean), ("p50", p50), ("p95", p95), ("p99", p99), ("max", max)] {
        wait.set_item(what, time.as_secs_f64())?;
    }
    facts.set_item("batch_wait_s", wait)?;
    let functions = PyDict::new(py);
    functions.set_item("calls", stats.calls.count)?;
    functions.set_item("busy_s", stats.calls.busy.as_secs_f64())?;
    functions.set_item("waiting_s", stats.calls.waiting.as_secs_f64())?;
    facts.set_item("functions", functions)?;
    let operations = stats.operations.iter().map(|operation| {
        let dict = PyDict::new(py);
        dict.set_item("column", &operation.column)?;
        dict.set_item("name", &operation.name)?;
        dict.set_item("calls", operation.calls)?;
        dict.set_item("busy_s", operation.busy.as_secs_f64())?;
        PyResult::Ok(dict)
    });
    facts.set_item("operations", operations.collect::<PyResult<Vec<_>>>()?)?;
    let fetch = stats.fetch.as_ref().map(|fetch| fetch_stats::fetched(py, fetch)).transpose()?;
    facts.set_item("fetch", fetch)?;
    facts.set_item("packs", stats.packs.map(|packs| packed(py, packs)).transpose()?)?;
    facts.set_item("reread", stats.reread)?;
    facts.set_item("reread_texts", &stats.reread_texts)?;
    let warning = stats.warning.as_ref().map(|warning| warning.message().in_face(Face::Python));
    facts.set_item("warning", warning)?;
    facts.set_item("jpeg_blocks_skipped", stats.blocks.skipped())?;
    facts.set_item("jpegs_irregular", stats.blocks.irregular)?;
    facts.set_item("jpegs_damaged", stats.blocks.damaged)?;
    Ok(facts)
}

/// How full the packs of an epoch are.
fn packed(py: Python<'_>, stats: PackStats) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("packs", stats.totals.packs)?;
    dict.set_item("samples", stats.totals.samples)?;
    dict.set_item("tokens", stats.totals.tokens)?;
    dict.set_item("max_tokens", stats.totals.capacity)?;
    dict.set_item("filled", stats.totals.filled())?;
    dict.set_item("too_long", stats.too_long)?;
    Ok(dict)
}

/// What was allocated on the device and pinned for it.
fn allocated(py: Python<'_>, memory: DeviceMemoryStats) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("bytes", memory.bytes)?;
    dict.set_item("pinned_bytes", memory.pinned_bytes)?;
    dict.set_item("allocations", memory.allocations)?;
    dict.set_item("late_allocations", memory.late_allocations)?;
    Ok(dict)
}

/// How many batches were ready at a request.
fn filled<'py>(py: Python<'py>, ring: &RingStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", ring.requests)?;
    dict.set_item("missing", ring.missing)?;
    dict.set_item("occupancy", ring.occupancy())?;
    Ok(dict)
}
