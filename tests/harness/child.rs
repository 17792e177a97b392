//! A running `pack`, and one that has ended. No child outlives its test, and none may hang.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A command that has not ended by then hangs, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until `met` returns true, and panics if it never does.
#[track_caller]
pub(crate) fn until(what: &str, met: impl Fn() -> bool) {
    let started = Instant::now();
    while !met() {
        assert!(started.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A running command. Its output goes to files, so that it never waits for a reader.
pub(crate) struct Child {
    process: std::process::Child,
    said: String,
    place: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    started: Instant,
}

/// The result of a command. The path of its place appears as `PLACE` in its output.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    said: String,
    /// The exit code; for a signal 128 and its number, as in shells.
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Child {
    pub(crate) fn start(mut command: Command, place: &Path) -> Child {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir();
        let output = |stream: &str| {
            folder.join(format!("tarflume-test-{}-{number}.{stream}", std::process::id()))
        };
        let stdout = output("stdout");
        let stderr = output("stderr");
        let said = format!("{command:?}");
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        let started = Instant::now();
        let process = command.spawn().unwrap_or_else(|e| panic!("{said}: {e}"));
        Child { process, said, place: place.to_path_buf(), stdout, stderr, started }
    }

    /// Sends a signal; one that comes too late has no effect.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id() as i32).unwrap();
        let _ = kill_process(pid, signal);
    }

    /// Returns its number.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Returns true once its standard output contains `text`.
    pub(crate) fn has_printed(&self, text: &str) -> bool {
        self.printed().contains(text)
    }

    /// Returns what it has printed on its standard output.
    pub(crate) fn printed(&self) -> String {
        self.text(&self.stdout)
    }

    /// Waits for the end.
    pub(crate) fn ended(mut self) -> Run {
        use std::os::unix::process::ExitStatusExt;
        let status = loop {
            match self.process.try_wait().unwrap() {
                Some(status) => break status,
                None if self.started.elapsed() > PATIENCE => {
                    let _ = self.process.kill();
                    let _ = self.process.wait();
                    panic!("{} hangs; it said: {}", self.said, self.text(&self.stderr));
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let signal = status.signal().map(|signal| 128 + signal);
        Run {
            said: self.said.clone(),
            exit: status.code().or(signal).unwrap(),
            stdout: self.text(&self.stdout),
            stderr: self.text(&self.stderr),
        }
    }

    fn text(&self, output: &Path) -> String {
        let text = String::from_utf8_lossy(&fs::read(output).unwrap()).into_owned();
        text.replace(&*self.place.to_string_lossy(), "PLACE")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.stdout);
        let _ = fs::remove_file(&self.stderr);
    }
}

impl Run {
    #[track_caller]
    pub(crate) fn succeeds(self) -> Run {
        self.exits(0)
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Run {
        assert_eq!(self.exit, code, "{self:#?}");
        self
    }

    /// Asserts that stdout or stderr contains `text`.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Run {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "no '{text}' in {self:#?}"
        );
        self
    }

    /// Asserts both streams exactly, but for lines of progress: they come after some seconds.
    #[track_caller]
    pub(crate) fn prints(self, stdout: &str, stderr: &str) -> Run {
        let is_progress =
            |line: &&str| ["scanning: ", "packing: "].iter().any(|p| line.starts_with(p));
        let lines = self.stderr.split_inclusive('\n').filter(|line| !is_progress(line));
        let said: String = lines.collect();
        assert_eq!((self.stdout.as_str(), said.as_str()), (stdout, stderr), "{}", self.said);
        self
    }

    /// Returns stdout as lines of JSON.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let parsed = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{self:#?}"))
        };
        self.stdout.lines().map(parsed).collect()
    }
}
