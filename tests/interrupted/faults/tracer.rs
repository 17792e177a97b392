//! Runs a command call by call: before each call on a file in the test's place, a judge decides
//! about it.
//!
//! A call is identified by its name, its file and how often both occurred together before, not by
//! its number in time: threads may run in any order, and call N is call N in every run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};

use super::calls::{self, Class, Known, Named};
use super::ptrace::{self, Stop, Thread};
use crate::harness::PATIENCE;

/// The fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It is made.
    Go,
    /// It is not made and returns this error.
    Fail(i32),
    /// It is made, and returns this error nevertheless, as a network may.
    Late(i32),
    /// It is made for half of its bytes.
    Short,
    /// The process is killed instead.
    Kill,
    /// It is made, and its thread gets this signal before.
    Signal(i32),
}

/// A call on a file in the place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    /// The file's path in the place; the random part of a temporary name is a `*`.
    pub(crate) path: String,
    /// Number of earlier calls with this name on this path.
    pub(crate) nth: u32,
    /// Bytes that are read or written; 0 for other calls.
    pub(super) length: u64,
}

/// A call as it was made.
#[derive(Debug)]
pub(super) struct Made<'a> {
    pub(super) call: &'a Call,
    /// The paths in the place: of the file, and of the target of a rename or link.
    pub(super) path: &'a Path,
    pub(super) from: Option<&'a Path>,
    /// Its result; a negative number is an error.
    pub(super) result: i64,
    pub(super) arguments: [u64; 6],
    pub(super) thread: Thread,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; for a signal 128 and its number; -1 for a command that hung.
    pub(crate) exit: i32,
    pub(crate) stderr: String,
    /// Calls with another fate than they requested.
    pub(super) injected: usize,
}

/// Decides about calls.
pub(super) trait Judge {
    /// Returns the fate of the call.
    fn before(&mut self, call: &Call) -> Deed;
    /// Returns true if [`Judge::after`] handles calls of this class.
    fn watches(&self, _class: Class) -> bool {
        false
    }
    /// Called after the call was made.
    fn after(&mut self, _made: &Made<'_>) {}
}

impl<F: FnMut(&Call) -> Deed> Judge for F {
    fn before(&mut self, call: &Call) -> Deed {
        self(call)
    }
}

/// A call between entry and exit.
struct Pending {
    call: Call,
    path: PathBuf,
    from: Option<PathBuf>,
    arguments: [u64; 6],
    deed: Deed,
}

struct Tracer<'a> {
    root: &'a Path,
    judge: &'a mut dyn Judge,
    counts: HashMap<(&'static str, String), u32>,
    pending: HashMap<Thread, Pending>,
    process: Thread,
    injected: usize,
}

/// Runs `command`, whose place is `root`, under `judge`.
///
/// # Errors
/// Returns an error if the machine does not permit tracing.
pub(super) fn run(
    mut command: Command,
    root: &Path,
    judge: &mut dyn Judge,
) -> std::io::Result<Ran> {
    let output = tempfile::NamedTempFile::new()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output.reopen()?);
    let numbers: Vec<_> = calls::all().map(|call| call.number).collect();
    let process = ptrace::start(&mut command, &numbers)?;
    let (done, ended) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let hangs = ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hangs {
            ptrace::kill(process);
        }
        hangs
    });
    let mut tracer = Tracer {
        root,
        judge,
        counts: HashMap::new(),
        pending: HashMap::new(),
        process,
        injected: 0,
    };
    let exit = tracer.until_exit();
    drop(done);
    let hung = watchdog.join().unwrap_or(true);
    let stderr = String::from_utf8_lossy(&fs::read(output.path())?).into_owned();
    Ok(Ran { exit: if hung { -1 } else { exit? }, stderr, injected: tracer.injected })
}

impl Tracer<'_> {
    fn until_exit(&mut self) -> std::io::Result<i32> {
        // It stopped after its exec.
        ptrace::resume(self.process, false, 0)?;
        loop {
            let (thread, stop) = ptrace::wait(-1)?;
            let (to_return, signal) = match stop {
                Stop::Ended(code) if thread == self.process => return Ok(code),
                Stop::Ended(_) => continue,
                Stop::Call => (self.call(thread).unwrap_or(false), 0),
                Stop::Return => {
                    // A process that was killed meanwhile has no registers; its end comes next.
                    let _ = self.returned(thread);
                    (false, 0)
                }
                Stop::Signal(signal) => (false, signal),
                Stop::Nothing => (false, 0),
            };
            let _ = ptrace::resume(thread, to_return, signal); // as above
        }
    }

    /// Returns true if the thread must stop again after the call.
    fn call(&mut self, thread: Thread) -> std::io::Result<bool> {
        let (number, arguments) = ptrace::call(thread)?;
        let Some(known) = calls::known(number) else { return Ok(false) };
        let Some(path) = file_of(thread, known.file, &arguments) else { return Ok(false) };
        let Ok(inside) = path.strip_prefix(self.root) else { return Ok(false) };
        let inside = inside.to_path_buf();
        let from = known.from.and_then(|from| file_of(thread, from, &arguments));
        let from = from.and_then(|path| Some(path.strip_prefix(self.root).ok()?.to_path_buf()));
        let call = self.numbered(known, &inside, &arguments);
        let deed = self.judge.before(&call);
        let watched = self.judge.watches(known.class);
        self.injected += usize::from(deed != Deed::Go);
        match deed {
            Deed::Go => {}
            Deed::Fail(error) => ptrace::skip(thread, -i64::from(error))?,
            Deed::Late(_) => {}
            Deed::Short => ptrace::set_third(thread, (arguments[2] / 2).max(1))?,
            Deed::Kill => ptrace::kill(self.process),
            Deed::Signal(signal) => ptrace::signal(self.process, thread, signal),
        }
        let late = matches!(deed, Deed::Late(_) | Deed::Short);
        if late || (deed == Deed::Go && watched) {
            self.pending.insert(thread, Pending { call, path: inside, from, arguments, deed });
            return Ok(true);
        }
        Ok(false)
    }

    fn numbered(&mut self, known: &Known, path: &Path, arguments: &[u64; 6]) -> Call {
        let path = steady(path);
        let count = self.counts.entry((known.name, path.clone())).or_default();
        *count += 1;
        let counted = matches!(known.name, "read" | "pread64" | "write" | "pwrite64");
        Call {
            name: known.name,
            class: known.class,
            path,
            nth: *count - 1,
            length: if counted { arguments[2] } else { 0 },
        }
    }

    fn returned(&mut self, thread: Thread) -> std::io::Result<()> {
        let Some(pending) = self.pending.remove(&thread) else { return Ok(()) };
        let Pending { call, path, from, arguments, deed } = &pending;
        match *deed {
            Deed::Late(error) => ptrace::set_result(thread, -i64::from(error))?,
            Deed::Short => ptrace::set_third(thread, arguments[2])?,
            _ => {
                let result = ptrace::result(thread)?;
                let path = path.as_path();
                let from = from.as_deref();
                let arguments = *arguments;
                self.judge.after(&Made { call, path, from, result, arguments, thread });
            }
        }
        Ok(())
    }
}

/// Returns the absolute path of the file that a call names.
fn file_of(thread: Thread, named: Named, arguments: &[u64; 6]) -> Option<PathBuf> {
    match named {
        Named::Open(n) => of_open(thread, arguments[n] as i32),
        Named::Path(n) => Some(of_open(thread, libc::AT_FDCWD)?.join(text(thread, arguments[n])?)),
        Named::At(folder, path) => {
            let path = text(thread, arguments[path])?;
            if path.starts_with('/') {
                return Some(path.into());
            }
            let folder = of_open(thread, arguments[folder] as i32)?;
            Some(if path.is_empty() { folder } else { folder.join(path) })
        }
        Named::Map if arguments[3] as i32 & libc::MAP_ANONYMOUS == 0 => {
            of_open(thread, arguments[4] as i32)
        }
        Named::Map => None,
    }
}

fn of_open(thread: Thread, file: i32) -> Option<PathBuf> {
    let link = match file {
        libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
        file => format!("/proc/{thread}/fd/{file}"),
    };
    fs::read_link(link).ok()
}

/// Reads the text at an address of the stopped process.
fn text(thread: Thread, address: u64) -> Option<String> {
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let mut bytes = Vec::new();
    let mut at = address;
    loop {
        // To the end of the page at most: the next page may not be mapped.
        let mut piece = vec![0; (256 - at % 256) as usize];
        let read = memory.read_at(&mut piece, at).ok().filter(|&n| n > 0)?;
        let end = piece[..read].iter().position(|&b| b == 0);
        bytes.extend_from_slice(&piece[..end.unwrap_or(read)]);
        if end.is_some() || bytes.len() > 8192 {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        at += read as u64;
    }
}

/// Returns the path with a `*` for the random part of a temporary file's name.
fn steady(path: &Path) -> String {
    let names = path.components().map(|name| {
        let name = name.as_os_str().to_string_lossy();
        let temporary = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        match temporary.and_then(|own| own.rsplit_once('.')) {
            Some((own, _)) => format!(".{own}.*.tmp"),
            None => name.into_owned(),
        }
    });
    names.collect::<Vec<_>>().join("/")
}
