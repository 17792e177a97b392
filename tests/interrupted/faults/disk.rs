//! A simulated disk that forgets: the result of writes, syncs and renames after a power failure.
//!
//! Synced files and folders are kept. All else may be kept or lost independently: bytes may be
//! missing or zeros, names may be missing, new names may point to old bytes. A rename is kept or
//! lost as a whole, as in every file system in use; it is certain once its target folder is synced.
//! A folder whose own name was lost is lost with all in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file, whatever its name.
pub(super) type File = usize;

/// One operation, in paths from the place.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Create { path: String, file: File },
    Folder { path: String },
    Write { file: File, at: usize, bytes: Vec<u8> },
    Cut { file: File, length: usize },
    Rename { from: String, to: String, file: File },
    Link { to: String, file: File },
    Remove { path: String },
    SyncFile { file: File },
    SyncFolder { path: String },
}

/// The fate of an operation that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Lost,
    /// A file has its length and zeros instead of bytes; a name is kept.
    Zeros,
}

impl Op {
    /// Returns true if it creates or removes a name.
    pub(super) fn is_of_names(&self) -> bool {
        !matches!(
            self,
            Op::Write { .. } | Op::Cut { .. } | Op::SyncFile { .. } | Op::SyncFolder { .. }
        )
    }

    /// Returns true if `self`, done before, is certain once `later` is done.
    fn is_certain_after(&self, later: &Op) -> bool {
        match (self, later) {
            (Op::Write { file, .. } | Op::Cut { file, .. }, Op::SyncFile { file: synced }) => {
                file == synced
            }
            (
                Op::Create { path, .. }
                | Op::Folder { path }
                | Op::Remove { path }
                | Op::Link { to: path, .. }
                | Op::Rename { to: path, .. },
                Op::SyncFolder { path: synced },
            ) => folder_of(path) == synced,
            _ => false,
        }
    }
}

/// Returns the folder of a path; the place itself is an empty path.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The files and folders of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    pub(super) names: BTreeMap<String, File>,
    pub(super) folders: BTreeMap<String, ()>,
    pub(super) files: Vec<Vec<u8>>,
}

impl Disk {
    /// An empty place.
    pub(super) fn none() -> Disk {
        let mut disk = Disk::default();
        disk.folders.insert(String::new(), ());
        disk
    }

    /// Returns the tree under `name` of the place at `root`.
    pub(super) fn read(root: &Path, name: &str) -> Disk {
        let mut disk = Disk::none();
        let mut todo = vec![name.to_string()];
        while let Some(path) = todo.pop() {
            let Ok(entries) = fs::read_dir(root.join(&path)) else { continue };
            for entry in entries.map(Result::unwrap) {
                let below = format!("{path}/{}", entry.file_name().to_string_lossy());
                if entry.file_type().unwrap().is_dir() {
                    todo.push(below);
                } else {
                    disk.names.insert(below, disk.files.len());
                    disk.files.push(fs::read(entry.path()).unwrap());
                }
            }
            disk.folders.insert(path, ());
        }
        disk
    }

    /// Returns what is left of `ops`, done on this disk, after a power failure following the last
    /// of them. `fate` decides about the op with a number that was not synced.
    pub(super) fn cut(&self, ops: &[Op], fate: impl Fn(usize) -> Fate) -> Disk {
        let mut disk = self.clone();
        for (n, op) in ops.iter().enumerate() {
            let certain = ops[n + 1..].iter().any(|later| op.is_certain_after(later));
            disk.apply(op, if certain { Fate::Kept } else { fate(n) });
        }
        disk
    }

    fn apply(&mut self, op: &Op, fate: Fate) {
        let data = matches!(op, Op::Write { .. });
        if fate == Fate::Lost || (fate == Fate::Zeros && matches!(op, Op::Cut { .. })) {
            return;
        }
        match op {
            Op::Create { path, file } | Op::Link { to: path, file } => {
                self.file(*file);
                self.names.insert(path.clone(), *file);
            }
            Op::Folder { path } => {
                self.folders.insert(path.clone(), ());
            }
            Op::Write { file, at, bytes } => {
                let content = self.file(*file);
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                if data && fate == Fate::Kept {
                    content[*at..end].copy_from_slice(bytes);
                }
            }
            Op::Cut { file, length } => self.file(*file).resize(*length, 0),
            Op::Rename { from, to, file } => {
                self.file(*file);
                if self.names.get(from) == Some(file) {
                    self.names.remove(from);
                }
                self.names.insert(to.clone(), *file);
            }
            Op::Remove { path } => {
                self.names.remove(path);
                self.folders.remove(path);
            }
            Op::SyncFile { .. } | Op::SyncFolder { .. } => {}
        }
    }

    fn file(&mut self, file: File) -> &mut Vec<u8> {
        if self.files.len() <= file {
            self.files.resize(file + 1, Vec::new());
        }
        &mut self.files[file]
    }

    /// Returns true if every folder above `path` exists.
    fn reached(&self, path: &str) -> bool {
        let above = folder_of(path);
        self.folders.contains_key(above) && (above.is_empty() || self.reached(above))
    }

    /// Writes the tree into the place at `root`, which must not contain any of it.
    pub(super) fn write(&self, root: &Path) {
        for path in self.folders.keys().filter(|path| !path.is_empty() && self.reached(path)) {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for (path, &file) in self.names.iter().filter(|(path, _)| self.reached(path)) {
            fs::write(root.join(path), &self.files[file]).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is written under a temporary name and renamed; `sync` lists what is synced.
    fn published(file: bool, folder: bool, fate: Fate) -> Option<Vec<u8>> {
        let temp = String::from("d/t");
        let name = String::from("d/x");
        let mut ops = vec![
            Op::Create { path: temp.clone(), file: 0 },
            Op::Write { file: 0, at: 0, bytes: b"bytes".to_vec() },
        ];
        ops.extend(file.then_some(Op::SyncFile { file: 0 }));
        ops.push(Op::Rename { from: temp, to: name.clone(), file: 0 });
        ops.extend(folder.then_some(Op::SyncFolder { path: "d".into() }));
        let mut disk = Disk::default();
        disk.folders.extend([(String::new(), ()), ("d".into(), ())]);
        let left = disk.cut(&ops, |_| fate);
        left.names.get(&name).map(|&file| left.files[file].clone())
    }

    #[test]
    fn synced_data_survive_and_all_else_may_be_lost() {
        for fate in [Fate::Kept, Fate::Lost, Fate::Zeros] {
            assert_eq!(published(true, true, fate).as_deref(), Some(&b"bytes"[..]));
        }
        assert_eq!(published(true, false, Fate::Lost), None);
        assert_eq!(published(false, true, Fate::Lost).as_deref(), Some(&b""[..]));
        assert_eq!(published(false, true, Fate::Zeros).as_deref(), Some(&b"\0\0\0\0\0"[..]));
        assert_eq!(published(false, false, Fate::Kept).as_deref(), Some(&b"bytes"[..]));
    }
}
