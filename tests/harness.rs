//! The language of the tests: a [`Place`] to work in, files in it, `pack` run there.
//!
//! Does not use the packer's or the formats' own code: it parses naively what it reads back.

mod child;
mod foreign;
mod published;
mod sidecar;
mod ustar;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;
use tarflume_fixtures::{Folder, flat_jpeg};

pub(crate) use child::{Child, PATIENCE, Run, until};
pub(crate) use foreign::{python, tool};
pub(crate) use sidecar::{crc32c, entry_points, section, strips, sum_again};
pub(crate) use ustar::{Member, members_of};

/// The JSON that [`Place::pair`] puts beside a picture.
pub(crate) const JSON: &[u8] = b"{\"class\":1}\n";

/// Returns the text of a manifest as earlier versions wrote it, without the digest of its own text.
pub(crate) fn without_digest(manifest: &str) -> String {
    let (rest, _) = manifest.split_once(",\n  \"manifest_blake3\"").expect("a digest");
    format!("{rest}\n}}\n")
}

/// Whether sweeps try every case, as `make faults` demands, or a fixed sample.
pub(crate) fn sweeps_whole() -> bool {
    std::env::var_os("TARFLUME_SWEEPS").is_some_and(|word| word == "whole")
}

/// How many of the first `cases` of a seeded sequence a test tries: a sixth, or all of them in `make faults`.
pub(crate) fn sampled(cases: u32) -> u32 {
    if sweeps_whole() { cases } else { cases.div_ceil(6) }
}

/// Files with their digests.
pub(crate) type Tree = BTreeMap<String, String>;

/// The working folder of a test; relative paths in commands are relative to it.
pub(crate) struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { root: tempfile::tempdir().expect("a temporary folder") }
    }

    /// Returns the path of `name` in this place.
    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes one file and its parent folders.
    pub(crate) fn file(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> &Place {
        let path = self.at(name.as_ref());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Writes a good pair: a small picture that contains its name, and a JSON.
    pub(crate) fn pair(&self, stem: &str) -> &Place {
        self.file(format!("{stem}.jpg"), flat_jpeg(stem.as_bytes()));
        self.file(format!("{stem}.json"), JSON)
    }

    /// Writes a folder of this many tiny pairs in three class folders, always the same.
    pub(crate) fn folder(&self, name: &str, pairs: usize) -> &Place {
        Folder::new(7).dirs(3).tiny(pairs).write(&self.at(name)).unwrap();
        self
    }

    /// Writes a folder of photo-like pairs of 3 to 12 kB.
    pub(crate) fn photos(&self, name: &str, pairs: usize) -> &Place {
        Folder::new(7).dirs(3).pairs(pairs).write(&self.at(name)).unwrap();
        self
    }

    /// Runs `pack` with these words; `''` is an empty one. The environment is empty but for PATH. What it publishes must
    /// pass `pack verify`.
    #[track_caller]
    pub(crate) fn pack(&self, words: &str) -> Run {
        let run = self.start(words).ended();
        published::expect_whole(self, words, &run);
        run
    }

    /// As [`Place::pack`] with variables in the environment.
    pub(crate) fn pack_in(&self, env: &[(&str, &str)], words: &str) -> Run {
        let mut command = self.command(words);
        command.envs(env.iter().copied());
        Child::start(command, self.root.path()).ended()
    }

    /// Starts `pack` and returns the running process.
    pub(crate) fn start(&self, words: &str) -> Child {
        Child::start(self.command(words), self.root.path())
    }

    /// Returns the command that [`Place::pack`] would run, to be changed.
    pub(crate) fn command(&self, words: &str) -> Command {
        let words = words.split_whitespace().map(|word| if word == "''" { "" } else { word });
        let mut command = Command::new(env!("CARGO_BIN_EXE_pack"));
        command.args(words).current_dir(self.root.path()).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }

    /// Makes the sidecar of the tar `name` newer than its tar, as if a disk had changed the tar.
    pub(crate) fn renew(&self, name: &str) {
        let tar = self.at(name);
        let sidecar = self.at(name).with_extension("index");
        let found = |path: &Path| fs::metadata(path).unwrap();
        loop {
            let sidecar = fs::File::open(&sidecar).unwrap();
            sidecar.set_modified(SystemTime::now()).unwrap();
            let times = |found: fs::Metadata| (found.ctime(), found.ctime_nsec());
            if times(sidecar.metadata().unwrap()) > times(found(&tar)) {
                return;
            }
        }
    }

    /// Returns all files under `name` with their digests, by their paths; none if there is no such
    /// folder.
    pub(crate) fn tree(&self, name: &str) -> Tree {
        let mut tree = Tree::new();
        gather(&self.at(name), "", &mut |path, at| {
            tree.insert(path, blake3::hash(&fs::read(at).unwrap()).to_hex()[..16].to_string());
        });
        tree
    }

    /// Asserts that the folders hold the same files, byte by byte, and nothing else.
    #[track_caller]
    pub(crate) fn same(&self, one: &str, other: &str) {
        let one = self.tree(one);
        let other = self.tree(other);
        assert_same(&one, &other);
    }

    /// Returns the names of all files under `name`, sorted.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let mut names = Vec::new();
        gather(&self.at(name), "", &mut |path, _| names.push(path));
        names.sort();
        names
    }

    /// Returns the manifest of the data set in `name`.
    pub(crate) fn manifest(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.at(name).join("dataset.json")).unwrap()).unwrap()
    }

    /// Returns the members of each shard of the data set in `name`, in the manifest's order.
    pub(crate) fn shards(&self, name: &str) -> Vec<Vec<Member>> {
        let manifest = self.manifest(name);
        let shards = manifest["shards"].as_array().unwrap();
        let tar = |shard: &Value| self.at(name).join(shard["name"].as_str().unwrap());
        shards.iter().map(|s| members_of(&fs::read(tar(s)).unwrap())).collect()
    }

    /// Returns the names of all members of the data set in `name`, in order.
    pub(crate) fn members(&self, name: &str) -> Vec<String> {
        self.shards(name).into_iter().flatten().map(|member| member.name).collect()
    }

    /// Returns the lines of `name/problems.jsonl`.
    pub(crate) fn problems(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.at(name).join("problems.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Asserts that two trees are equal; if not, shows only the differences.
#[track_caller]
pub(crate) fn assert_same(one: &Tree, other: &Tree) {
    let all = one.keys().chain(other.keys());
    let differ: Vec<_> = all.filter(|name| one.get(*name) != other.get(*name)).collect();
    assert!(differ.is_empty() && !one.is_empty(), "these of {} differ: {differ:?}", one.len());
}

/// Calls `each` with the path (under `folder`, as text) and the place of every file.
fn gather(folder: &Path, under: &str, each: &mut dyn FnMut(String, &Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let name = format!("{under}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), each);
        } else {
            each(name, &entry.path());
        }
    }
}
