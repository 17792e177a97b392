//! Cuts the power after each operation of a command on the disk and loses what was not synced in
//! several ways: the rest must be the complete published data set, or none, and the same command
//! must reach the same result. The effects of a command that ended well persist, whatever is lost.
//!
//! A command may find the files of another attempt that was killed or did not sync: these are not
//! on the disk either, until they are synced.

use std::fs::{self, File as Opened};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::calls::Class;
use super::disk::{Disk, Fate, Op};
use super::sweep::{Scenario, Stage};
use super::tracer::{Call, Deed, Judge, Made};

/// Ways to lose what was not synced.
const WAYS: usize = 8;
/// The way that keeps the newest name and loses all older ones that were not synced.
pub(super) const NEWEST: usize = 7;

/// The result of cutting the power.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    pub(super) ops: usize,
    pub(super) cuts: usize,
    /// Cuts that left a published data set.
    pub(super) published: usize,
    pub(super) broken: Vec<String>,
}

/// Records the operations on the output folder.
struct Recorder {
    disk: Disk,
    ops: Vec<Op>,
    /// The current tree, whatever was synced.
    now: Disk,
    /// Number of calls that sync or name something before the process is killed.
    kill: Option<usize>,
}

impl Judge for Recorder {
    fn before(&mut self, call: &Call) -> Deed {
        if !matches!(call.class, Class::Sync | Class::Name) {
            return Deed::Go;
        }
        match &mut self.kill {
            Some(0) => Deed::Kill,
            Some(left) => {
                *left -= 1;
                Deed::Go
            }
            None => Deed::Go,
        }
    }

    fn watches(&self, class: Class) -> bool {
        matches!(class, Class::Open | Class::Write | Class::Sync | Class::Name)
    }

    fn after(&mut self, made: &Made<'_>) {
        let path = made.path.to_string_lossy().into_owned();
        if made.result < 0 || !(path == "out" || path.starts_with("out/") || path.is_empty()) {
            return;
        }
        if let Some(op) = self.op(made, path) {
            self.now = self.now.cut(std::slice::from_ref(&op), |_| Fate::Kept);
            self.ops.push(op);
        }
    }
}

impl Recorder {
    fn new(disk: &Disk, kill: Option<usize>) -> Recorder {
        Recorder { now: disk.clone(), disk: disk.clone(), ops: Vec::new(), kill }
    }

    fn op(&self, made: &Made<'_>, path: String) -> Option<Op> {
        let arguments = &made.arguments;
        let from = made.from.map(|from| from.to_string_lossy().into_owned());
        let known = self.now.names.get(&path).copied();
        let file =
            || known.unwrap_or_else(|| panic!("{} of an unknown file {path}", made.call.name));
        Some(match made.call.name {
            "openat" | "open" => {
                let flags = arguments[if made.call.name == "open" { 1 } else { 2 }] as i32;
                if let (Some(file), true) = (known, flags & libc::O_TRUNC != 0) {
                    return Some(Op::Cut { file, length: 0 });
                }
                if known.is_some() || flags & libc::O_CREAT == 0 {
                    return None;
                }
                Op::Create { path, file: self.now.files.len() }
            }
            "write" | "pwrite64" => {
                let opened = format!("/proc/{}/fd/{}", made.thread, arguments[0]);
                let length = made.result as usize;
                let at = match made.call.name {
                    "write" => position(made) - length,
                    _ => arguments[3] as usize,
                };
                let mut bytes = vec![0; length];
                Opened::open(opened).unwrap().read_exact_at(&mut bytes, at as u64).unwrap();
                Op::Write { file: file(), at, bytes }
            }
            "ftruncate" => Op::Cut { file: file(), length: arguments[1] as usize },
            "fsync" | "fdatasync" => match known {
                Some(file) => Op::SyncFile { file },
                None => Op::SyncFolder { path },
            },
            "mkdir" | "mkdirat" => Op::Folder { path },
            "unlink" | "unlinkat" | "rmdir" => Op::Remove { path },
            "rename" | "renameat" | "renameat2" => {
                let from = from?;
                let file = self.now.names[&from];
                Op::Rename { from, to: path, file }
            }
            "link" | "linkat" => Op::Link { to: path, file: self.now.names[&from?] },
            other => panic!("the disk does not know {other}"),
        })
    }
}

/// Returns the current path of the open file that was written to.
fn position(made: &Made<'_>) -> usize {
    let path = format!("/proc/{}/fdinfo/{}", made.thread, made.arguments[0]);
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("pos:")).unwrap();
    line.trim().parse().unwrap()
}

/// Returns the fate of op `n` that was not synced, when the power is cut after the last of `ops`,
/// in one of the [`WAYS`].
fn fate(way: usize, ops: &[Op], n: usize) -> Fate {
    let data = !ops[n].is_of_names();
    match way {
        0 => Fate::Lost,
        1 => Fate::Kept,
        2 if data => Fate::Lost,
        3 if data => Fate::Zeros,
        2 | 3 => Fate::Kept,
        NEWEST if data || ops[n + 1..].iter().all(|op| !op.is_of_names()) => Fate::Kept,
        NEWEST => Fate::Lost,
        _ => {
            // The finalizer of splitmix64: always the same choice for the same case.
            let mut z = ((way * 1_000_003 + ops.len()) * 1_000_003 + n) as u64;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            [Fate::Kept, Fate::Lost, Fate::Zeros, Fate::Kept][(z >> 33) as usize % 4]
        }
    }
}

/// Selects cuts: by the number of the op, and the way.
pub(super) type Chosen<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Cuts the power after every op, in every way, that `chosen` selects by their numbers; after the
/// last in every way.
///
/// # Errors
/// Returns an error if the machine does not permit tracing.
pub(super) fn cut_power(scenario: Scenario, chosen: Chosen<'_>) -> io::Result<Cuts> {
    let bench = Bench::new(scenario)?;
    let mut recorder = Recorder::new(&bench.begun()?, None);
    bench.stage.reset();
    bench.command(&mut recorder)?;
    let mut all = Cuts { ops: recorder.ops.len(), ..Cuts::default() };
    let last = recorder.ops.len();
    bench.cuts(&recorder, "", &|cut, way| cut == last || chosen(cut, way), &mut all);
    Ok(all)
}

/// Runs `first` and kills it before each of its calls that sync or name something, the last time
/// not at all; then runs the command, and cuts the power as [`cut_power`] does, after ops of the
/// command alone. `chosen` gets the number of the call, the number of ops after the cut, and the
/// way.
///
/// # Errors
/// Returns an error if the machine does not permit tracing.
pub(super) fn cut_power_later(
    scenario: Scenario,
    first: &str,
    chosen: &dyn Fn(usize, usize, usize) -> bool,
) -> io::Result<Cuts> {
    let unsynced = first.contains("--no-fsync");
    let bench = Bench { unsynced, ..Bench::new(scenario)? };
    let begun = bench.begun()?;
    let mut all = Cuts::default();
    for kill in 0.. {
        let mut recorder = Recorder::new(&begun, Some(kill));
        bench.stage.reset();
        let ended = bench.stage.traced_as(first, &mut recorder)?.exit;
        assert!(ended == 0 || ended == 137, "{first}: {ended}");
        recorder.kill = None;
        let from = recorder.ops.len();
        bench.command(&mut recorder)?;
        let last = recorder.ops.len();
        all.ops += last - from;
        let text = format!("`{first}` was killed before call {kill}, ");
        let chosen = |cut, way| cut >= from && chosen(kill, last - cut, way);
        bench.cuts(&recorder, &text, &chosen, &mut all);
        if ended == 0 {
            break;
        }
    }
    Ok(all)
}

/// A scenario for power failures.
struct Bench {
    stage: Stage,
    root: PathBuf,
    /// The working folder may hold incomplete shards of an attempt that did not sync.
    unsynced: bool,
}

impl Bench {
    fn new(scenario: Scenario) -> io::Result<Bench> {
        let stage = Stage::new(scenario)?;
        let root = stage.place.at("").canonicalize()?;
        Ok(Bench { stage, root, unsynced: false })
    }

    /// The content of the disk before the command.
    fn begun(&self) -> io::Result<Disk> {
        self.stage.reset();
        Ok(match self.stage.scenario.before {
            [] => Disk::none(),
            _ => Disk::read(&self.root, "out"),
        })
    }

    /// Runs the command, which ends well.
    fn command(&self, recorder: &mut Recorder) -> io::Result<()> {
        let ran = self.stage.traced(recorder)?;
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        Ok(())
    }

    fn cuts(&self, recorder: &Recorder, before: &str, chosen: Chosen<'_>, all: &mut Cuts) {
        let name = self.stage.scenario.name;
        for cut in 0..=recorder.ops.len() {
            for way in (0..WAYS).filter(|&way| chosen(cut, way)) {
                let ops = &recorder.ops[..cut];
                self.stage.clear();
                recorder.disk.cut(ops, |n| fate(way, ops, n)).write(&self.root);
                all.cuts += 1;
                let published = self.stage.place.at("out/dataset.json").try_exists().unwrap();
                all.published += usize::from(published);
                if let Err(text) = self.survived(cut == recorder.ops.len()) {
                    let last = ops.last().map(brief).unwrap_or_default();
                    let text =
                        format!("{name}: {before}cut {cut}, way {way}, behind {last}: {text}");
                    all.broken.push(text);
                }
            }
        }
    }

    /// The conditions after a cut; `ended`: the command had ended well before it.
    fn survived(&self, ended: bool) -> Result<(), String> {
        let trusted = |name: &str| ended || !self.unsynced || !name.starts_with(".pack/");
        self.stage.whole_of(&trusted)?;
        if ended {
            self.stage.kept()?;
        }
        self.stage.restarted()
    }
}

fn brief(op: &Op) -> String {
    match op {
        Op::Write { file, at, bytes } => format!("write of {} to {file} at {at}", bytes.len()),
        op => format!("{op:?}"),
    }
}
