//! The power is cut behind each thing that a command does to the disk, and what was not synced is lost
//! in several ways: what is left must be the published data set, whole, or none, and the same command
//! must bring it to the same end.

use std::fs::{self, File as Opened};
use std::io;
use std::os::unix::fs::FileExt;

use super::calls::Class;
use super::disk::{Disk, Fate, Op};
use super::sweep::{Scenario, Stage};
use super::tracer::{Call, Deed, Judge, Made};

/// Ways to lose what was not synced.
const WAYS: usize = 7;

/// What cutting the power came to.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    pub(super) ops: usize,
    pub(super) cuts: usize,
    /// Cuts that left a published data set.
    pub(super) published: usize,
    pub(super) broken: Vec<String>,
}

/// Writes down what is done to the output folder.
struct Recorder {
    disk: Disk,
    ops: Vec<Op>,
    /// The tree as it is now, whatever was synced.
    now: Disk,
}

impl Judge for Recorder {
    fn before(&mut self, _: &Call) -> Deed {
        Deed::Go
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

/// Where the open file that was written to stands now.
fn position(made: &Made<'_>) -> usize {
    let path = format!("/proc/{}/fdinfo/{}", made.thread, made.arguments[0]);
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("pos:")).unwrap();
    line.trim().parse().unwrap()
}

/// What becomes of an op that was not synced, in one of the [`WAYS`].
fn fate(way: usize, cut: usize, op: &Op, n: usize) -> Fate {
    let data = matches!(op, Op::Write { .. } | Op::Cut { .. });
    match way {
        0 => Fate::Lost,
        1 => Fate::Kept,
        2 if data => Fate::Lost,
        3 if data => Fate::Zeros,
        2 | 3 => Fate::Kept,
        _ => {
            // The finaliser of splitmix64: always the same choice for the same case.
            let mut z = ((way * 1_000_003 + cut) * 1_000_003 + n) as u64;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            [Fate::Kept, Fate::Lost, Fate::Zeros, Fate::Kept][(z >> 33) as usize % 4]
        }
    }
}

/// Cuts the power behind every op, in every way, that `chosen` picks by their numbers.
///
/// # Errors
/// The machine lets nobody trace.
pub(super) fn cut_power(
    scenario: Scenario,
    chosen: &dyn Fn(usize, usize) -> bool,
) -> io::Result<Cuts> {
    let stage = Stage::new(scenario)?;
    let root = stage.place.at("").canonicalize()?;
    stage.reset();
    let disk = match scenario.before {
        [] => Disk::none(),
        _ => Disk::read(&root, "out"),
    };
    let mut recorder = Recorder { now: disk.clone(), disk, ops: Vec::new() };
    let ran = stage.traced(&mut recorder)?;
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let Recorder { disk, ops, .. } = recorder;
    let mut all = Cuts { ops: ops.len(), ..Cuts::default() };
    for cut in 0..=ops.len() {
        for way in (0..WAYS).filter(|&way| cut == ops.len() || chosen(cut, way)) {
            let left = disk.cut(&ops[..cut], |n| fate(way, cut, &ops[n], n));
            stage.clear();
            left.write(&root);
            all.cuts += 1;
            let published = stage.place.at("out/dataset.json").exists();
            all.published += usize::from(published);
            let whole = stage.whole().and_then(|()| match scenario.after {
                [] if cut == ops.len() && !published => {
                    Err("exit 0, and nothing is published".into())
                }
                _ => Ok(()),
            });
            if let Err(text) = whole.and_then(|()| stage.restarted()) {
                let last = cut.checked_sub(1).map(|n| brief(&ops[n])).unwrap_or_default();
                all.broken.push(format!(
                    "{}: cut {cut}, way {way}, behind {last}: {text}",
                    scenario.name
                ));
            }
        }
    }
    Ok(all)
}

fn brief(op: &Op) -> String {
    match op {
        Op::Write { file, at, bytes } => format!("write of {} to {file} at {at}", bytes.len()),
        op => format!("{op:?}"),
    }
}
