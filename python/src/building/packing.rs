//! `Work`: packing, verifying and indexing in a separate thread, with events for Python.
//!
//! Python polls it: the interpreter lock is free while the work runs, and Python handles Ctrl-C.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use serde_json::{Value, json};
use tarflume_base::{Failure, Problem, Stop};
use tarflume_export::{ExportOptions, export};
use tarflume_formats::message::Face;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Manifest, Reading};
use tarflume_inspect::kept_apart;
use tarflume_packer::bucket::{Bucket, Leftovers};
use tarflume_packer::build::{self, Request};
use tarflume_packer::session::{
    Build, BuildCounter, DryRun, Finalized, Planned, PlannedBuild, PublishedBuild, StoreOutcome,
};
use tarflume_shards::index;
use tarflume_shards::listing::{self, Access, Listing};
use tarflume_tokens::build as tokens;
use tarflume_tokens::export::to_megatron;
use tarflume_verify::repair;

use crate::arguments::storage::Pairs;
use crate::faults::errors::bug;
use crate::faults::failures::{JobFailure, in_python};
use crate::faults::json::from_json;
use tarflume_formats::{IgnorePoison, room_for_threads};

/// The result of a job: JSON, or an error.
pub(crate) type Outcome = Result<Value, JobFailure>;

/// Returns the exception of a job whose threads cannot be started.
fn no_thread(error: std::io::Error) -> PyErr {
    Python::attach(|py| JobFailure::failure(Failure::no_thread(&error)).raised(py))
}

/// The progress of a job.
#[derive(Default)]
struct Counters {
    build: Arc<BuildCounter>,
    /// Bytes that `verify` or `index` has read.
    bytes: AtomicU64,
    tokens: tokens::Counter,
}

/// A running job of `tarflume.pack` in threads of Rust: packing, verifying or indexing.
#[pyclass(frozen, module = "tarflume._core")]
pub struct Work {
    phase: &'static str,
    began: Instant,
    stop: Stop,
    counters: Arc<Counters>,
    thread: Mutex<Option<Thread>>,
}

struct Thread {
    handle: JoinHandle<Outcome>,
    /// Disconnected when the job has ended.
    over: Receiver<()>,
}

/// The data set or the tar that is exported.
pub(crate) struct ExportSource {
    pub(crate) path: PathBuf,
    pub(crate) storage: Pairs,
    pub(crate) ignore_zeros: bool,
}

impl ExportSource {
    fn open(&self) -> Result<Listing, Failure> {
        let ExportSource { path, storage, ignore_zeros } = self;
        listing::open_at(path, Access { storage, ignore_zeros: *ignore_zeros })
    }
}

impl Work {
    fn begin(
        phase: &'static str,
        stop: Stop,
        work: impl FnOnce(&Counters) -> Outcome + Send + 'static,
    ) -> PyResult<Work> {
        let counters = Arc::new(Counters::default());
        let (done, over) = channel::<()>();
        let counted = counters.clone();
        let thread = std::thread::Builder::new().name("tarflume-pack".into());
        let started = room_for_threads(1).and_then(|()| {
            thread.spawn(move || {
                let outcome = work(&counted);
                drop(done);
                outcome
            })
        });
        let handle = started.map_err(no_thread)?;
        let thread = Mutex::new(Some(Thread { handle, over }));
        Ok(Work { phase, began: Instant::now(), stop, counters, thread })
    }

    pub(crate) fn build(request: Request) -> PyResult<Work> {
        Work::begin("scan", request.stop.clone(), move |counters| {
            build(Build::new(request).with_counter(counters.build.clone()))
        })
    }

    /// As [`Work::build`], into an object store.
    pub(crate) fn build_in(
        bucket: Bucket,
        request: Request,
        single_writer: bool,
    ) -> PyResult<Work> {
        Work::begin("scan", request.stop.clone(), move |counters| {
            let begun = Build::in_bucket(bucket, request, single_writer)?;
            build(begun.with_counter(counters.build.clone()))
        })
    }

    pub(crate) fn verify(paths: Vec<PathBuf>, options: tarflume_verify::Options) -> PyResult<Work> {
        Work::begin("verify", options.stop.clone(), move |counters| {
            let mut report = tarflume_verify::verify(&paths, &options, &|n| counters.add(n))?;
            kept_apart::check(&mut report, &options)?;
            report.close();
            Ok(
                json!({"report": report.to_value(Face::Python), "text": report.text_in(Face::Python)}),
            )
        })
    }

    pub(crate) fn repair(folder: PathBuf, options: repair::Options) -> PyResult<Work> {
        Work::begin("repair", options.stop.clone(), move |counters| {
            let done = repair::repair(&folder, &options, &|n| counters.add(n))?;
            Ok(done.to_value(Face::Python))
        })
    }

    pub(crate) fn index(paths: Vec<PathBuf>, options: index::Options) -> PyResult<Work> {
        Work::begin("index", options.stop.clone(), move |counters| {
            index(&paths, &options, counters)
        })
    }

    pub(crate) fn export(
        source: ExportSource,
        out: PathBuf,
        options: ExportOptions,
    ) -> PyResult<Work> {
        Work::begin("export", options.stop.clone(), move |counters| {
            let listing = source.open()?;
            let done = export(&listing, &out, &options, &|n| counters.add(n))?;
            Ok(json!({"samples": done.samples, "files": done.files, "bytes": done.bytes,
                      "shards_without_checksums": done.unproved}))
        })
    }

    pub(crate) fn export_tokens(source: ExportSource, out: PathBuf, stop: Stop) -> PyResult<Work> {
        Work::begin("export", stop.clone(), move |counters| {
            let listing = source.open()?;
            let done = to_megatron(&listing, &out, &stop, &|n| counters.add(n))?;
            Ok(json!({"documents": done.documents, "tokens": done.tokens, "bytes": done.bytes}))
        })
    }

    pub(crate) fn tokens(request: tokens::Request) -> PyResult<Work> {
        Work::begin("tokens", request.stop.clone(), move |counters| {
            let built = tokens::build(&request, &counters.tokens)?;
            let mut report =
                serde_json::to_value(&built.report).expect("texts and numbers serialize");
            report["notices"] = built.report.notices.iter().map(in_python).collect();
            Ok(json!({"manifest": built.manifest, "report": report, "fill": built.report.fill()}))
        })
    }

    fn held(&self) -> MutexGuard<'_, Option<Thread>> {
        self.thread.lock().ignore_poison()
    }
}

#[pymethods]
impl Work {
    /// Waits at most `seconds` for the end of the job; returns true if it has ended. Other threads run meanwhile.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds.clamp(0.0, 60.0));
        py.detach(|| match self.held().as_ref() {
            Some(thread) => {
                thread.over.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
            }
            None => true,
        })
    }

    /// Requests the job to end at its next sample. Finished shards stay, unfinished ones are removed.
    fn stop(&self) {
        self.stop.request();
    }

    /// The progress as an event, with `"line"` as text.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seconds = self.began.elapsed().as_secs_f64();
        let event = match (self.phase, self.counters.build.now()) {
            (_, Some(now)) => {
                let mut event = now.json();
                event["line"] = format!("packing: {}", now.line()).into();
                event
            }
            ("scan", None) => {
                let names = self.counters.build.names();
                json!({"event": "progress", "phase": "scan", "names": names, "seconds": seconds,
                       "line": format!("scanning: {names} names")})
            }
            ("tokens", None) => tokenizing(&self.counters.tokens, seconds),
            (phase, None) => {
                let bytes = self.counters.bytes.load(Ordering::Relaxed);
                let rate = bytes as f64 / seconds.max(1e-3);
                let line = format!("{phase}: {:.1} MB  {:.0} MB/s", bytes as f64 / 1e6, rate / 1e6);
                json!({"event": "progress", "phase": phase, "bytes": bytes, "bytes_per_s": rate,
                       "seconds": seconds, "line": line})
            }
        };
        from_json(py, &event)
    }

    /// Waits for the job and returns its result; can be called once.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let joined = py.detach(|| self.held().take().map(|thread| thread.handle.join()));
        match joined {
            Some(Ok(Ok(value))) => from_json(py, &value),
            Some(Ok(Err(refused))) => Err(refused.raised(py)),
            Some(Err(_)) => Err(bug("packing ended by a panic")),
            None => Err(bug("the result was taken before")),
        }
    }
}

impl Drop for Work {
    /// Stops and joins the thread, so that it does not outlive this object.
    fn drop(&mut self) {
        let thread = self.thread.get_mut().ignore_poison().take();
        if let Some(thread) = thread {
            self.stop.request();
            Python::attach(|py| py.detach(|| drop(thread.handle.join())));
        }
    }
}

impl Counters {
    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn build(build: Build) -> Outcome {
    let before = build.leftovers().clone();
    let planned = match planned(build)? {
        Ok(planned) => planned,
        Err(outcome) => return Ok(outcome),
    };
    let stored = match planned.store()? {
        StoreOutcome::Ready(stored) => stored,
        StoreOutcome::Published(manifest, plan) => {
            let left = plan.finalize()?.leftovers;
            return Ok(with_notices(already(&manifest), &[before, left]));
        }
    };
    match stored.run()?.finalize()? {
        Finalized::Refused(ran) => Err(JobFailure::problems(build::kept(&ran), &ran.problems)),
        Finalized::Published(done) => {
            let value = published(&done);
            Ok(with_notices(value, &[before, done.leftovers]))
        }
    }
}

/// Returns problems as dicts, in the words of Python.
fn in_python_values<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> Value {
    problems.into_iter().map(|problem| problem.to_value(Face::Python)).collect()
}

/// Adds what became of the uploads of killed attempts to the warnings.
fn with_notices(mut value: Value, left: &[Leftovers]) -> Value {
    if let Some(warnings) = value["warnings"].as_array_mut() {
        warnings.extend(
            left.iter().flat_map(Leftovers::notices).map(|notice| Value::from(in_python(&notice))),
        );
    }
    value
}

fn already(manifest: &Manifest) -> Value {
    json!({"manifest": manifest, "packed": 0, "skipped": manifest.shards.len(),
           "problems": [], "warnings": []})
}

fn published(done: &PublishedBuild) -> Value {
    let scanned = done.scanned();
    let ran = &done.ran;
    let problems = in_python_values(scanned.problems.iter().chain(&ran.problems));
    json!({"manifest": done.manifest, "packed": ran.packed, "skipped": ran.skipped,
           "present": scanned.present, "problems": problems,
           "irregular_jpegs": ran.irregular_jpegs, "warnings": warnings(done.foot())})
}

/// Scans and plans. Returns the result of a build that ends before it packs.
fn planned(build: Build) -> Result<Result<Box<PlannedBuild>, Value>, JobFailure> {
    Ok(Err(match build.plan()? {
        Planned::Ready(planned) => return Ok(Ok(planned)),
        Planned::Published { manifest, .. } => already(&manifest),
        Planned::Nothing { manifest, scanned } => {
            json!({"manifest": manifest, "packed": 0, "skipped": manifest.shards.len(),
                   "present": scanned.present, "problems": in_python_values(&scanned.problems), "warnings": []})
        }
        Planned::Refused(mut refused) => {
            refused.look()?;
            let scanned = refused.scanned();
            return Err(JobFailure::problems(build::mend(scanned), &scanned.problems));
        }
        Planned::Dry(mut dry) => {
            dry.look()?;
            dry_run(&dry)
        }
    }))
}

fn dry_run(dry: &DryRun) -> Value {
    let foot = dry.foot();
    let shards: Vec<_> = foot
        .shards
        .iter()
        .map(|s| json!({"name": s.name, "samples": s.samples, "bytes": s.bytes}))
        .collect();
    let plan = json!({"plan": foot.content, "samples": foot.samples, "bytes": foot.bytes,
                      "shards": shards});
    json!({"manifest": plan, "packed": 0, "skipped": 0,
           "problems": in_python_values(&dry.scanned().problems), "warnings": warnings(foot)})
}

/// The progress of `tokens`.
fn tokenizing(counter: &tokens::Counter, seconds: f64) -> Value {
    let [text, tokens, samples] = [&counter.text, &counter.tokens, &counter.samples]
        .map(|number| number.load(Ordering::Relaxed));
    let (phase, line) = match samples {
        0 => ("tokenize", format!("tokenizing: {:.1} MB of text, {tokens} ids", text as f64 / 1e6)),
        _ => ("pack", format!("packing: {samples} samples")),
    };
    json!({"event": "progress", "phase": phase, "text": text, "tokens": tokens, "samples": samples,
           "seconds": seconds, "line": line})
}

/// Warnings about a plan, with the names of Python's keywords.
fn warnings(foot: &PlanFoot) -> Vec<String> {
    build::warnings(foot).iter().map(in_python).collect()
}

/// Indexes every path; the error at the end lists all that failed.
fn index(paths: &[PathBuf], options: &index::Options, counters: &Counters) -> Outcome {
    let mut tars = Vec::new();
    let mut manifests = Vec::new();
    let mut refused = Vec::new();
    let mut single = index::SeenValues::default();
    for path in paths {
        let done = index::index(path, options, &|n| counters.add(n))?;
        if done.manifest.is_none() {
            single.add(&done.tars);
        }
        for index::Indexed { tar, result } in done.tars {
            match result {
                Ok(made) => tars.push(json!({
                    "path": tar.display().to_string(), "samples": made.entry.samples, "bytes": made.entry.bytes,
                    "extensions": made.extensions, "kept": made.kept, "warnings": made.warnings.iter().map(in_python).collect::<Vec<_>>(),
                    "entry_points": made.entry_points, "damaged": in_python_values(&made.damaged.listed),
                })),
                Err(failure) => refused.push((tar, failure)),
            }
        }
        match done.manifest {
            Some(Ok(made)) => manifests.push(json!({
                "note": made.split_note().as_ref().map(in_python),
                "path": made.path.display().to_string(), "kept": made.kept, "samples": made.manifest.samples,
                "bytes": made.manifest.bytes, "shards": made.manifest.shards.len(),
            })),
            Some(Err(failure)) => refused.push((path.clone(), failure)),
            None => {}
        }
    }
    single.expect(&options.columns)?;
    if refused.is_empty() {
        return Ok(json!({"tars": tars, "manifests": manifests}));
    }
    Err(JobFailure::failures(&refused, tars.len()))
}

/// Reads headers only, or every byte.
pub(crate) fn reading(headers: bool) -> Reading {
    if headers { Reading::Headers } else { Reading::Everything }
}

impl From<Failure> for JobFailure {
    fn from(failure: Failure) -> JobFailure {
        JobFailure::failure(failure)
    }
}
