//! Runs one command once for each of its calls on files and each fault of a call, and checks the
//! conditions that must hold afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use tarflume_fixtures::Fault;

use super::calls::Class;
use super::tracer::{self, Call, Deed, Judge};
use crate::harness::{Place, Tree};

/// A command under test, and its scenario.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Planted into the source.
    pub(super) faults: &'static [Fault],
    /// Prepares what the command finds; nothing fails here.
    pub(super) before: &'static [&'static str],
    /// The command whose calls fail. It is repeated if it did not succeed.
    pub(super) command: &'static str,
    /// Completes the data set.
    pub(super) after: &'static [&'static str],
    /// Makes all files that the working folder may hold under final names.
    pub(super) plan: &'static str,
}

/// A fault of a call, with its name.
pub(super) const KINDS: [(&str, Kind); 9] = [
    ("EIO", Kind::Once(libc::EIO)),
    ("ENOSPC", Kind::Once(libc::ENOSPC)),
    ("ESTALE", Kind::Once(libc::ESTALE)),
    ("EINTR", Kind::Once(libc::EINTR)),
    ("ENOMEM", Kind::Once(libc::ENOMEM)),
    ("EIO for good", Kind::Always(libc::EIO)),
    ("EIO, but done", Kind::Late(libc::EIO)),
    ("short", Kind::Short),
    ("kill", Kind::Kill),
];

/// The fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It fails once.
    Once(i32),
    /// It fails, and every later one with its name on its path.
    Always(i32),
    /// It is made, but returns an error.
    Late(i32),
    /// It reads or writes half.
    Short,
    /// The process is killed before it.
    Kill,
}

impl Kind {
    fn concerns(self, call: &Call) -> bool {
        match self {
            Kind::Once(libc::EINTR) => call.class != Class::Map,
            Kind::Late(_) => {
                matches!(call.class, Class::Name | Class::Open | Class::Write | Class::Sync)
            }
            Kind::Short => call.length > 1,
            _ => true,
        }
    }

    fn deed(self, target: &Call, call: &Call) -> Deed {
        let same = target.name == call.name && target.path == call.path;
        match self {
            Kind::Always(error) if same && call.nth >= target.nth => Deed::Fail(error),
            _ if !same || call.nth != target.nth => Deed::Go,
            Kind::Once(error) | Kind::Always(error) => Deed::Fail(error),
            Kind::Late(error) => Deed::Late(error),
            Kind::Short => Deed::Short,
            Kind::Kill => Deed::Kill,
        }
    }

    fn error(self) -> Option<i32> {
        match self {
            Kind::Once(error) | Kind::Always(error) | Kind::Late(error) => Some(error),
            Kind::Short | Kind::Kill => None,
        }
    }
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) calls: usize,
    pub(super) faults: usize,
    /// Number of commands that were run, including repetitions.
    pub(super) runs: usize,
    /// Faulty runs by how they ended.
    pub(super) exits: BTreeMap<i32, usize>,
    /// The violated conditions.
    pub(super) broken: Vec<String>,
}

/// A place with a source, and the result of the command without faults.
pub(super) struct Stage {
    pub(super) place: Place,
    pub(super) scenario: Scenario,
    /// The calls of a run without faults.
    pub(super) calls: Vec<Call>,
    /// The content of the output folder when the command has succeeded, and at the end.
    pub(super) done: Tree,
    pub(super) end: Tree,
    /// All files that may have a final name.
    finals: Tree,
}

impl Stage {
    /// Runs the scenario without faults.
    pub(super) fn new(scenario: Scenario) -> io::Result<Stage> {
        let place = Place::new();
        place.folder("photos", 6);
        for fault in scenario.faults {
            fault.plant(&place.at("photos"))?;
        }
        let done = Tree::new();
        let end = Tree::new();
        let finals = Tree::new();
        let mut stage = Stage { place, scenario, calls: Vec::new(), done, end, finals };
        stage.place.pack(scenario.plan).succeeds();
        stage.place.pack("run out").succeeds();
        stage.finals = stage.place.tree("out");
        remove(&stage.place.at("out"));
        for command in scenario.before {
            stage.place.pack(command).succeeds();
        }
        if !scenario.before.is_empty() {
            fs::rename(stage.place.at("out"), stage.place.at("begun"))?;
        }
        stage.calls = stage.undisturbed()?;
        let sorted = |mut calls: Vec<Call>| {
            calls.sort_by(|a, b| (a.name, &a.path, a.nth).cmp(&(b.name, &b.path, b.nth)));
            calls
        };
        assert_eq!(
            sorted(stage.undisturbed()?),
            sorted(stage.calls.clone()),
            "call N is not call N"
        );
        stage.done = stage.place.tree("out");
        stage.finish();
        stage.end = stage.place.tree("out");
        for tree in [&stage.done, &stage.end] {
            stage.finals.extend(tree.clone());
        }
        Ok(stage)
    }

    /// Returns the calls of a run without faults.
    fn undisturbed(&self) -> io::Result<Vec<Call>> {
        self.reset();
        let mut calls = Vec::new();
        let ran = self.traced(&mut |call: &Call| {
            calls.push(call.clone());
            Deed::Go
        })?;
        assert_eq!(ran.exit, 0, "{}: undisturbed: {}", self.scenario.name, ran.stderr);
        Ok(calls)
    }

    /// Removes the output folder.
    pub(super) fn clear(&self) {
        remove(&self.place.at("out"));
    }

    /// Restores the output folder to what the command finds.
    pub(super) fn reset(&self) {
        self.clear();
        if !self.scenario.before.is_empty() {
            copy(&self.place.at("begun"), &self.place.at("out"));
        }
    }

    /// Runs the command under `judge`.
    pub(super) fn traced(&self, judge: &mut dyn Judge) -> io::Result<tracer::Ran> {
        self.traced_as(self.scenario.command, judge)
    }

    /// Runs another command under `judge`.
    pub(super) fn traced_as(&self, words: &str, judge: &mut dyn Judge) -> io::Result<tracer::Ran> {
        let mut command = self.place.command(words);
        command.env("RAYON_NUM_THREADS", "1");
        tracer::run(command, &self.place.at("").canonicalize()?, judge)
    }

    fn finish(&self) {
        for command in self.scenario.after {
            self.place.pack(command).succeeds();
        }
    }

    /// Repeats the command without faults and completes the data set; returns the violated
    /// conditions.
    pub(super) fn restarted(&self) -> Result<(), String> {
        for command in [self.scenario.command].iter().chain(self.scenario.after) {
            let run = self.place.pack(command);
            if run.exit != 0 {
                return Err(format!(
                    "started again, `{command}` ends with {}: {}",
                    run.exit, run.stderr
                ));
            }
        }
        same(&self.place.tree("out"), &self.end).map_err(|e| format!("started again: {e}"))
    }

    /// The result of the command must exist; more may be left in the working folder.
    pub(super) fn kept(&self) -> Result<(), String> {
        let found = self.place.tree("out");
        match self.done.iter().find(|(name, digest)| found.get(*name) != Some(digest)) {
            Some((name, _)) => Err(format!("it ended well, and {name} is lost")),
            None => Ok(()),
        }
    }

    /// Every file with a final name in the output folder must be whole.
    pub(super) fn whole(&self) -> Result<(), String> {
        self.whole_of(&|_| true)
    }

    /// As [`Stage::whole`], for the names selected by `asked`.
    pub(super) fn whole_of(&self, selected: &dyn Fn(&str) -> bool) -> Result<(), String> {
        let mut found = self.place.tree("out");
        found.retain(|name, _| selected(name));
        for (name, digest) in &found {
            let base = name.rsplit('/').next().unwrap_or(name);
            let temporary = base.starts_with('.') && base.ends_with(".tmp");
            if !temporary && self.finals.get(name) != Some(digest) {
                return Err(format!("{name} bears its final name and is not whole"));
            }
        }
        let data = |name: &&String| !name.starts_with('.');
        let published = found.contains_key("dataset.json");
        match self.end.keys().filter(data).find(|name| published && !found.contains_key(*name)) {
            Some(missing) => Err(format!("published without {missing}")),
            None => Ok(()),
        }
    }

    /// Runs the command with one fault, and checks the conditions. Returns the exit code, and the
    /// violations.
    fn faulty(
        &self,
        target: &Call,
        kind: Kind,
        runs: &mut usize,
    ) -> io::Result<(i32, Result<(), String>)> {
        self.reset();
        let ran = self.traced(&mut |call: &Call| kind.deed(target, call))?;
        *runs += 1;
        if ran.injected == 0 {
            return Ok((ran.exit, Err("the call was not made".into())));
        }
        let judged = self.judged(kind, &ran).and_then(|()| {
            if ran.exit == 0 {
                return Ok(());
            }
            *runs += 1 + self.scenario.after.len();
            self.restarted()
        });
        Ok((ran.exit, judged))
    }

    fn judged(&self, kind: Kind, ran: &tracer::Ran) -> Result<(), String> {
        match (kind, ran.exit) {
            (Kind::Kill, 137) => {}
            (_, 0) => {
                let found = self.place.tree("out");
                same(&found, &self.done).map_err(|e| format!("exit 0, but {e}"))?;
            }
            (_, 75) => {
                let text =
                    kind.error().map(|error| io::Error::from_raw_os_error(error).to_string());
                let text = text.unwrap_or_default();
                if !ran.stderr.contains(&text) {
                    return Err(format!("it does not say '{text}': {}", ran.stderr));
                }
            }
            (_, -1) => return Err("it hangs".into()),
            (_, exit) => return Err(format!("exit {exit}: {}", ran.stderr)),
        }
        self.whole()
    }
}

/// Sweeps over all calls and kinds that `chosen` selects by their numbers, in several threads.
///
/// # Errors
/// Returns an error if the machine does not permit tracing.
pub(super) fn sweep(
    scenario: Scenario,
    threads: usize,
    chosen: &(dyn Fn(usize, usize, &Call) -> bool + Sync),
) -> io::Result<Counts> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Counts::default());
    // All threads share one list, so that each case is taken once.
    let shared = OnceLock::new();
    let work = || -> io::Result<()> {
        let stage = Stage::new(scenario)?;
        let calls: &Vec<Call> = shared.get_or_init(|| stage.calls.clone());
        let cases: Vec<(usize, usize)> = (0..calls.len())
            .flat_map(|call| (0..KINDS.len()).map(move |kind| (call, kind)))
            .filter(|&(n, k)| KINDS[k].1.concerns(&calls[n]) && chosen(n, k, &calls[n]))
            .collect();
        all.lock().unwrap().calls = calls.len();
        while let Some(&(n, k)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let call = &calls[n];
            let (word, kind) = KINDS[k];
            let mut runs = 0;
            let (exit, judged) = stage.faulty(call, kind, &mut runs)?;
            let mut counts = all.lock().unwrap();
            counts.faults += 1;
            counts.runs += runs;
            *counts.exits.entry(exit).or_default() += 1;
            if let Err(text) = judged {
                let Call { name, path, nth, .. } = call;
                let text = text.trim_end();
                counts
                    .broken
                    .push(format!("{}: {word} at {name} {nth} of {path}: {text}", scenario.name));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    Ok(all.into_inner().unwrap())
}

/// Returns the differences between two folders.
fn same(found: &Tree, wanted: &Tree) -> Result<(), String> {
    let all = found.keys().chain(wanted.keys());
    let differ: Vec<_> = all.filter(|name| found.get(*name) != wanted.get(*name)).collect();
    if differ.is_empty() { Ok(()) } else { Err(format!("these files differ: {differ:?}")) }
}

fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => panic!("{}: {e}", folder.display()),
        _ => {}
    }
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
