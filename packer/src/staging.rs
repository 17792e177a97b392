//! The working folder `.pack` in the output folder: where everything stands until it is published.
//!
//! ```text
//! OUT/.pack/plan                     the plan
//! OUT/.pack/policy                   what is done about problems: fail, skip or quarantine
//! OUT/.pack/lock                     held by `build`, `plan` and `finalize`
//! OUT/.pack/shards/NAME.tar          finished shards,
//! OUT/.pack/shards/NAME.index    their sidecars,
//! OUT/.pack/shards/NAME.tar.record   and the note that they are finished, written last
//! ```
//!
//! Readers of OUT see no shard before the data set is whole. Only `finalize` and a fresh start
//! remove anything here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use tarflume_formats::manifest;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{TEMP_SUFFIX, write_whole};
use tarflume_formats::record::ShardRecord;
use tarflume_formats::shard::index_path;
use tarflume_formats::{Index, Plan, Result};

use crate::failure::Failure;
use tarflume_formats::shown::ShowPath;

/// The working folder of one output folder.
#[derive(Debug, Clone)]
pub struct Staging {
    out: PathBuf,
    root: PathBuf,
}

/// Held while a command may replace the plan or publish.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is the open file")] Option<File>);

impl Staging {
    /// The working folder of `out`; nothing is created.
    pub fn of(out: &Path) -> Staging {
        Staging { out: out.to_path_buf(), root: out.join(".pack") }
    }

    /// The output folder.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Where the plan stands.
    pub fn plan_path(&self) -> PathBuf {
        self.root.join("plan")
    }

    /// Where shards are written.
    pub fn shards(&self) -> PathBuf {
        self.root.join("shards")
    }

    /// Where the manifest will stand.
    pub fn manifest_path(&self) -> PathBuf {
        self.out.join(manifest::FILE_NAME)
    }

    /// Where problems are listed.
    pub fn problems_path(&self) -> PathBuf {
        self.out.join("problems.jsonl")
    }

    /// Where the files of problems are copied to.
    pub fn quarantine(&self) -> PathBuf {
        self.out.join("quarantine")
    }

    /// Creates the folders.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn create(&self) -> Result<(), Failure> {
        let shards = self.shards();
        fs::create_dir_all(&shards).map_err(|e| Failure::io(e, "create the folder", &shards))
    }

    /// Makes sure that no other command plans or publishes here.
    ///
    /// # Errors
    /// Another one does.
    pub fn lock(&self) -> Result<Lock, Failure> {
        self.create()?;
        let path = self.root.join("lock");
        let file = File::create(&path).map_err(|e| Failure::io(e, "create", &path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock(Some(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Failure::try_again(format!(
                "another pack is at work in {}; wait for it, or choose another folder",
                self.out.shown()
            ))),
            // Some network file systems know no locks; names and renames keep attempts apart.
            Err(_) => Ok(Lock(None)),
        }
    }

    /// Opens the plan.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let path = self.plan_path();
        if !path.exists() {
            return Err(Failure::usage(format!(
                "there is no plan in {}; make one with `pack plan SRC -o {}`",
                self.out.shown(),
                self.out.shown()
            )));
        }
        Ok(Plan::open(&path)?)
    }

    /// Notes what is done about problems.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn set_policy(&self, word: &str) -> Result<()> {
        write_whole(&self.root.join("policy"), word.as_bytes())
    }

    /// What is done about problems, as noted.
    pub fn policy(&self) -> Option<String> {
        fs::read_to_string(self.root.join("policy")).ok()
    }

    /// Where the record of the shard called `name` stands.
    pub fn record_path(&self, name: &str) -> PathBuf {
        self.shards().join(format!("{name}.record"))
    }

    /// The record of a shard of the plan that is finished and whole; `None` if it must be packed (again).
    ///
    /// Asked are: plan, whether it has entry points, name, lengths, and that the sidecar belongs to a tar of that length.
    pub fn finished(&self, plan: &PlanFoot, number: usize) -> Option<ShardRecord> {
        let shard = plan.shards.get(number)?;
        let bytes = fs::read(self.record_path(&shard.name)).ok()?;
        let record = ShardRecord::from_json(&bytes).ok()?;
        let entry = &record.entry;
        let same_plan = record.plan == plan.content && record.entry_points == plan.entry_points;
        if !same_plan || record.shard != number as u64 || entry.name != shard.name {
            return None;
        }
        // `finalize` may have been ended while it moved shards out.
        let in_place = |folder: &Path| {
            let tar = folder.join(&entry.name);
            let index = Index::open(&index_path(&tar)).ok()?;
            let length = fs::metadata(&tar).ok()?.len();
            let whole = length == entry.bytes
                && index.tar().length == length
                && index.samples() == entry.samples
                && index.length() == entry.index_bytes
                && index.tar().digest.map(|d| d.to_hex().to_string()) == entry.blake3;
            whole.then_some(())
        };
        let half_moved = || {
            let tar = self.out.join(&entry.name);
            let moved = fs::metadata(tar).is_ok_and(|m| m.len() == entry.bytes);
            moved && index_path(&self.shards().join(&entry.name)).exists()
        };
        let whole = in_place(&self.shards()).or_else(|| in_place(&self.out)).is_some();
        (whole || half_moved()).then_some(record)
    }

    /// Temporary files in the working folder, with their age.
    pub fn temporaries(&self) -> Vec<(PathBuf, Duration)> {
        let mut found = Vec::new();
        for folder in [&self.root, &self.shards()] {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let is_temp = entry.file_name().to_string_lossy().ends_with(TEMP_SUFFIX);
                let modified = entry.metadata().and_then(|m| m.modified());
                if let (true, Ok(modified)) = (is_temp, modified) {
                    let age = SystemTime::now().duration_since(modified).unwrap_or_default();
                    found.push((entry.path(), age));
                }
            }
        }
        found
    }

    /// Removes what attempts that were killed left under temporary names outside the working folder:
    /// of the manifest, of the list of problems, of the reasons beside quarantined files.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn sweep(&self) -> Result<(), Failure> {
        let lists = [manifest::FILE_NAME, "problems.jsonl"].map(|name| format!(".{name}."));
        sweep_folder(&self.out, &|name| lists.iter().any(|list| name.starts_with(list)), false)?;
        sweep_folder(&self.quarantine(), &|name| name.contains(".reason.json."), true)
    }

    /// Removes what an earlier attempt left, but not the plan that is being written, nor the lock.
    ///
    /// It may have been ended while it published: a shard whose record lies in the working folder is
    /// its own, wherever it stands, as long as no manifest names it.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn clear(&self) -> Result<(), Failure> {
        let shards = self.shards();
        let refused = |e| Failure::io(e, "remove", &shards);
        for entry in fs::read_dir(&shards).map_err(refused)?.flatten() {
            let name = entry.file_name();
            let Some(tar) = name.to_str().and_then(|name| name.strip_suffix(".record")) else {
                continue;
            };
            let moved = self.out().join(tar);
            for path in [index_path(&moved), moved] {
                match fs::remove_file(&path) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Failure::io(e, "remove", &path));
                    }
                    _ => {}
                }
            }
        }
        fs::remove_dir_all(&shards).map_err(refused)?;
        self.create()
    }

    /// True if something was packed here and is not published: a plan, or a shard.
    pub fn is_begun(&self) -> bool {
        let shards = fs::read_dir(self.shards()).ok();
        self.plan_path().exists() || shards.is_some_and(|mut found| found.next().is_some())
    }

    /// Removes the plan, if there is one.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn forget_plan(&self) -> Result<(), Failure> {
        match fs::remove_file(self.plan_path()) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::io(e, "remove", self.plan_path()))
            }
            _ => Ok(()),
        }
    }

    /// Removes the working folder and all in it.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn remove(&self) -> Result<(), Failure> {
        match fs::remove_dir_all(&self.root) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::io(e, "remove the working folder", &self.root))
            }
            _ => Ok(()),
        }
    }
}

/// Removes temporary files of `folder` whose names are `ours`.
fn sweep_folder(folder: &Path, ours: &dyn Fn(&str) -> bool, deep: bool) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if deep {
                sweep_folder(&entry.path(), ours, deep)?;
            }
        } else if name.starts_with('.') && name.ends_with(TEMP_SUFFIX) && ours(&name) {
            match fs::remove_file(entry.path()) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Failure::io(e, "remove", entry.path()));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
