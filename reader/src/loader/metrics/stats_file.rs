//! `StatsFile`: the file in which a loader tells what it does while it runs, for `pack doctor --watch`.
//!
//! With the variable `TARFLUME_STATS=FOLDER` a thread of each loader replaces its file once a second, also while the
//! consumer waits for a batch. Without the variable nothing is started. An error is a warning of the statistics: it never
//! stops a training.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tarflume_formats::message::Message;
use tarflume_formats::output::must_be_outside;
use tarflume_formats::publish::{create_folders, folder_of, sweep, write_as};
use tarflume_formats::{Durability, Error, IgnorePoison, room_for_threads};
use tarflume_types::seconds;

use crate::fork::ForkGuard;
use crate::loader::metrics::stats::Stats;
use crate::loader::metrics::warning::Warning;

/// The variable with the folder.
const VARIABLE: &str = "TARFLUME_STATS";
/// The time between two writes.
const EVERY: Duration = Duration::from_secs(1);
/// The version of the file: its numbers never change their meaning.
const VERSION: u32 = 1;

/// The number of the next loader of this process that has a file.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// What a loader reports.
#[derive(Serialize)]
pub(crate) struct StatsReport {
    #[serde(flatten)]
    pub(crate) progress: Progress,
    /// The times of waiting for a batch, in seconds, with the number of batches.
    pub(crate) wait_counts: Vec<(f64, u64)>,
    pub(crate) stats: Stats,
}

/// Where a loader is in its epoch. Unknown for tars without an index.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Progress {
    pub(crate) rank: Option<u64>,
    pub(crate) world_size: Option<u64>,
    pub(crate) epoch: Option<u64>,
    /// Samples of the epoch that all ranks have delivered, and those of the whole epoch.
    pub(crate) position: Option<u64>,
    pub(crate) epoch_samples: Option<u64>,
    /// Steps of a whole epoch.
    pub(crate) epoch_steps: Option<u64>,
}

/// A loader that reports.
pub(crate) trait Reports: Send + Sync {
    fn report(&self) -> StatsReport;
}

/// The content of a file.
#[derive(Serialize)]
struct Record<'a> {
    tarflume_stats: u32,
    host: &'a str,
    pid: u32,
    loader: u32,
    /// Seconds since 1970.
    #[serde(serialize_with = "seconds")]
    time: Duration,
    /// True after the loader was dropped.
    ended: bool,
    #[serde(flatten)]
    report: &'a StatsReport,
}

/// The file of a loader. Dropping it ends its thread.
pub(crate) struct StatsFile {
    shared: ForkGuard<Arc<Target>>,
}

/// What the loader and the thread share.
struct Target {
    path: PathBuf,
    host: String,
    loader: u32,
    /// Held while a thread writes; true after the last write.
    ended: Mutex<bool>,
    stop: AtomicBool,
    /// What is to be written last.
    last: Mutex<Option<StatsReport>>,
    thread: Mutex<Option<thread::Thread>>,
    /// The first error, for the statistics.
    failure: Mutex<Option<Message>>,
}

impl StatsFile {
    /// The file of a loader that is being made, if the variable is set.
    pub(crate) fn of_process() -> Option<StatsFile> {
        let folder = env::var_os(VARIABLE).filter(|folder| !folder.is_empty())?;
        Some(StatsFile::within(folder))
    }

    fn within(folder: OsString) -> StatsFile {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().replace('/', "-");
        let loader = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{host}-{}-{loader}.json", std::process::id());
        let target = Target {
            path: Path::new(&folder).join(name),
            host,
            loader,
            ended: Mutex::new(false),
            stop: AtomicBool::new(false),
            last: Mutex::new(None),
            thread: Mutex::new(None),
            failure: Mutex::new(None),
        };
        StatsFile { shared: ForkGuard::new(Arc::new(target)) }
    }

    /// Starts the thread, which ends when nothing else holds the loader.
    pub(crate) fn start<R: Reports + 'static>(&self, loader: Weak<R>) {
        let Ok(target) = self.shared.get() else { return };
        let shared = target.clone();
        let started = room_for_threads(1).and_then(|()| {
            let named = thread::Builder::new().name("tarflume-stats".into());
            named.spawn(move || shared.run(&loader))
        });
        match started {
            Ok(handle) => *target.thread.lock().ignore_poison() = Some(handle.thread().clone()),
            Err(why) => target.fail(&why.to_string()),
        }
    }

    /// Writes the file for the last time.
    pub(crate) fn end(&self, report: impl FnOnce() -> StatsReport) {
        let Ok(target) = self.shared.get() else { return };
        *target.last.lock().ignore_poison() = Some(report());
        target.stop.store(true, Ordering::Release);
        // A write that hangs must not stop the program: the thread that hangs in it then writes the last one, too.
        if let Ok(mut ended) = target.ended.try_lock() {
            target.finish(&mut ended);
        }
        if let Some(thread) = &*target.thread.lock().ignore_poison() {
            thread.unpark();
        }
    }

    /// Returns why the file is not written.
    fn failure(&self) -> Option<Message> {
        // After a fork, a thread that stayed behind may have held the lock.
        self.shared.get().ok()?.failure.lock().ignore_poison().clone()
    }
}

impl Warning {
    /// Adds to a warning why the file of the statistics is not written.
    pub(crate) fn with_failure(
        warning: Option<&Warning>,
        file: Option<&StatsFile>,
    ) -> Option<Warning> {
        let failure = file.and_then(StatsFile::failure);
        let Some(failure) = failure else { return warning.cloned() };
        Warning::of(warning.map(|warning| warning.message().clone()).into_iter().chain([failure]))
    }
}

impl Target {
    fn run(&self, loader: &Weak<impl Reports>) {
        if let Err(why) = self.prepare() {
            *self.ended.lock().ignore_poison() = true;
            return self.fail(&with_reason(&why));
        }
        while !self.stop.load(Ordering::Acquire) {
            // This thread may be the last that holds the loader, and then drops it here.
            let Some(report) = loader.upgrade().map(|loader| loader.report()) else { break };
            let ended = self.ended.lock().ignore_poison();
            if !*ended {
                self.write(&report, false);
            }
            drop(ended);
            if !self.stop.load(Ordering::Acquire) {
                thread::park_timeout(EVERY);
            }
        }
        self.finish(&mut self.ended.lock().ignore_poison());
    }

    /// Writes for the last time, unless that was done.
    fn finish(&self, ended: &mut bool) {
        let last = self.last.lock().ignore_poison().take();
        if let Some(report) = last.filter(|_| !*ended) {
            self.write(&report, true);
            *ended = true;
        }
    }

    /// Makes the folder, which must not be that of a data set.
    fn prepare(&self) -> Result<(), Error> {
        create_folders(folder_of(&self.path))?;
        must_be_outside(&self.path)?;
        sweep(folder_of(&self.path))
    }

    /// Replaces the file.
    fn write(&self, report: &StatsReport, ended: bool) {
        let record = Record {
            tarflume_stats: VERSION,
            host: &self.host,
            pid: std::process::id(),
            loader: self.loader,
            time: SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO),
            ended,
            report,
        };
        let text = serde_json::to_vec(&record).expect("numbers and texts become JSON");
        if let Err(why) = write_as(&self.path, &text, Durability::Cached) {
            self.fail(&with_reason(&why));
        }
    }

    /// Keeps the first error.
    fn fail(&self, why: &str) {
        let text = format!("the statistics of this loader ({VARIABLE}) are not written: {why}");
        self.failure.lock().ignore_poison().get_or_insert(Message::words(text));
    }
}

/// Returns an error with what the operating system said.
fn with_reason(error: &Error) -> String {
    match error.io_error() {
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tarflume_formats::files;
    use tarflume_formats::message::Face;

    use super::*;

    struct Idle;

    impl Reports for Idle {
        fn report(&self) -> StatsReport {
            let progress = Progress { rank: Some(3), ..Progress::default() };
            StatsReport { progress, wait_counts: vec![(0.5, 2)], stats: Stats::default() }
        }
    }

    fn until(what: &str, holds: impl Fn() -> bool) {
        for _ in 0..300_000 {
            if holds() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("{what} did not happen");
    }

    fn object(file: &StatsFile) -> Value {
        let path = &file.shared.get().unwrap().path;
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn a_loader_tells_what_it_does_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = StatsFile::within(folder.path().join("new/stats").into());
        let loader = Arc::new(Idle);
        file.start(Arc::downgrade(&loader));
        until("a file", || files::exists(&file.shared.get().unwrap().path).unwrap());
        let first = object(&file);
        assert_eq!(
            (&first["ended"], &first["rank"], &first["epoch"]),
            (&false.into(), &3.into(), &Value::Null)
        );
        assert_eq!(
            (&first["pid"], &first["wait_counts"][0][1]),
            (&std::process::id().into(), &2.into())
        );
        assert_eq!(first["stats"]["batch_wait_s"]["p99"], 0.0);
        file.end(|| loader.report());
        assert_eq!(object(&file)["ended"], true);
        assert_eq!(file.failure(), None);
        // The thread has gone, and wrote nothing after the end.
        let target = file.shared.get().unwrap().clone();
        drop(file);
        until("the end of the thread", || Arc::strong_count(&target) == 1);
        let last: Value = serde_json::from_slice(&fs::read(&target.path).unwrap()).unwrap();
        assert_eq!(last["ended"], true);
        assert_eq!(
            fs::read_dir(target.path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_a_warning_and_no_more() {
        let place = tempfile::tempdir().unwrap();
        let plain = place.path().join("plain");
        fs::write(&plain, "").unwrap();
        let set = place.path().join("set");
        fs::create_dir(&set).unwrap();
        fs::write(set.join("dataset.json"), "{}").unwrap();
        for (folder, reason) in [(plain, "Not a directory"), (set.clone(), "")] {
            let file = StatsFile::within(folder.into());
            let loader = Arc::new(Idle);
            file.start(Arc::downgrade(&loader));
            until("a warning", || file.failure().is_some());
            let warning = Warning::with_failure(None, Some(&file)).unwrap();
            assert!(warning.as_str().contains("(TARFLUME_STATS) are not written: "), "{warning}");
            assert!(warning.as_str().to_lowercase().contains(&reason.to_lowercase()), "{warning}");
            let other = Warning::of([Message::words("slow".to_string())]);
            let both = Warning::with_failure(other.as_ref(), Some(&file)).unwrap();
            assert!(both.message().in_face(Face::Python).starts_with("slow; "), "{both}");
            file.end(|| loader.report());
        }
        assert_eq!(fs::read_dir(set).unwrap().count(), 1, "nothing is written into a data set");
    }
}
