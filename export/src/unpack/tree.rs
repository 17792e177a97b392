//! Creates files and folders under one folder, component by component from its handle, and never
//! through a link: no concurrent change of the tree leads to a write outside it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, linkat, mkdirat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use tarflume_base::Failure;
use tarflume_base::collide::fold;
use tarflume_formats::name;

/// Flags for opening a folder: must be one, not through a link.
pub(super) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for creating a file: must be new, not through a link.
pub(super) const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder to create files in.
#[derive(Debug)]
pub(crate) struct Tree {
    path: PathBuf,
    root: OwnedFd,
    /// The last folder and its path: neighboring files share it.
    last: Option<(Vec<u8>, OwnedFd)>,
}

/// The result of creating a name.
#[derive(Debug)]
pub(crate) enum Created {
    /// A new, empty file.
    File(File),
    /// A folder, new or not.
    Folder,
    /// Nothing: this path, created before, occupies the name.
    Taken(Vec<u8>),
    /// Nothing: the file system cannot hold the name.
    Refused(String),
}

/// What is at a path.
#[derive(Debug)]
pub(crate) enum Occupant {
    /// Nothing.
    Nothing,
    /// This path, which occupies the name.
    Path(Vec<u8>),
    /// Nothing: the file system cannot hold the name.
    Refused(String),
}

/// Why an intermediate folder was not opened.
enum Stopped {
    Refused(String),
    Failed(Failure),
}

impl Tree {
    /// Opens the tree under the folder at `path`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open(path: &Path) -> Result<Tree, Failure> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW); // the caller may name a link
        let root = openat(CWD, path, flags, Mode::empty())
            .map_err(|e| Failure::io(e.into(), "open the folder", path))?;
        Ok(Tree { path: path.into(), root, last: None })
    }

    /// Creates the file `path` and its parent folders. The caller has checked that `path` is safe.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn file(&mut self, path: &[u8]) -> Result<Created, Failure> {
        let (folder, base) = split(path);
        let root = self.path.clone();
        let at = match self.folder_at(folder) {
            Ok(at) => at,
            Err(Stopped::Refused(why)) => return Ok(Created::Refused(why)),
            Err(Stopped::Failed(failure)) => return Err(failure),
        };
        match openat(at, base, NEW_FILE, Mode::from_raw_mode(0o644)) {
            Ok(file) => Ok(Created::File(file.into())),
            Err(Errno::EXIST | Errno::ISDIR | Errno::LOOP) => {
                let taken = same_but_case(at, base).unwrap_or_else(|| base.to_vec());
                Ok(Created::Taken(joined(folder, &taken)))
            }
            Err(Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ) => {
                Ok(Created::Refused(format!("this file system can't hold '{}'", name::shown(base))))
            }
            Err(e) => Err(Failure::io(e.into(), "create", root.join(name::shown(path)))),
        }
    }

    /// Returns what is at `path`, and creates its parent folders. The caller has checked that `path` is safe.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn occupant(&mut self, path: &[u8]) -> Result<Occupant, Failure> {
        let (folder, base) = split(path);
        let root = self.path.clone();
        let at = match self.folder_at(folder) {
            Ok(at) => at,
            Err(Stopped::Refused(why)) => return Ok(Occupant::Refused(why)),
            Err(Stopped::Failed(failure)) => return Err(failure),
        };
        match retry_on_intr(|| statat(at, base, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(_) => {
                let taken = same_but_case(at, base).unwrap_or_else(|| base.to_vec());
                Ok(Occupant::Path(joined(folder, &taken)))
            }
            Err(Errno::NOENT) => Ok(Occupant::Nothing),
            Err(Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ) => Ok(Occupant::Refused(
                format!("this file system can't hold '{}'", name::shown(base)),
            )),
            Err(e) => Err(Failure::io(e.into(), "examine", root.join(name::shown(path)))),
        }
    }

    /// Gives the file `name` of the folder `from` the name `path`, which must be free. `from` is on the same file system.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn name(
        &mut self,
        from: &OwnedFd,
        name: &str,
        path: &[u8],
    ) -> Result<Occupant, Failure> {
        let (folder, base) = split(path);
        let root = self.path.clone();
        let at = match self.folder_at(folder) {
            Ok(at) => at,
            Err(Stopped::Refused(why)) => return Ok(Occupant::Refused(why)),
            Err(Stopped::Failed(failure)) => return Err(failure),
        };
        match rename_new(from, name, at, base) {
            Ok(()) => Ok(Occupant::Nothing),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => {
                let taken = same_but_case(at, base).unwrap_or_else(|| base.to_vec());
                Ok(Occupant::Path(joined(folder, &taken)))
            }
            Err(Errno::NAMETOOLONG | Errno::ILSEQ) => Ok(Occupant::Refused(format!(
                "this file system can't hold '{}'",
                name::shown(base)
            ))),
            Err(e) => Err(Failure::io(e.into(), "rename to", root.join(name::shown(path)))),
        }
    }

    /// Opens the regular file `path` for reading; `None` if it is none.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open_file(&mut self, path: &[u8]) -> Result<Option<File>, Failure> {
        let (folder, base) = split(path);
        let root = self.path.clone();
        let at = match self.folder_at(folder) {
            Ok(at) => at,
            Err(Stopped::Refused(_)) => return Ok(None),
            Err(Stopped::Failed(failure)) => return Err(failure),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match retry_on_intr(|| openat(at, base, flags, Mode::empty())) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::NXIO | Errno::NOENT) => return Ok(None),
            Err(e) => return Err(Failure::io(e.into(), "open", root.join(name::shown(path)))),
        };
        let is_file = file
            .metadata()
            .map_err(|e| Failure::io(e, "open", root.join(name::shown(path))))?
            .is_file();
        Ok(is_file.then_some(file))
    }

    /// Creates the folder `path`. The caller has checked that it is safe.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn folder(&mut self, path: &[u8]) -> Result<Created, Failure> {
        match self.folder_at(path) {
            Ok(_) => Ok(Created::Folder),
            Err(Stopped::Refused(why)) => Ok(Created::Refused(why)),
            Err(Stopped::Failed(failure)) => Err(failure),
        }
    }

    /// Removes a file that was created here.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn remove(&mut self, path: &[u8]) -> Result<(), Failure> {
        let (folder, base) = split(path);
        let root = self.path.clone();
        match self.folder_at(folder) {
            Ok(at) => unlinkat(at, base, AtFlags::empty())
                .map_err(|e| Failure::io(e.into(), "remove", root.join(name::shown(path)))),
            Err(Stopped::Refused(_)) => Ok(()), // nothing was created there
            Err(Stopped::Failed(failure)) => Err(failure),
        }
    }

    fn folder_at(&mut self, path: &[u8]) -> Result<&OwnedFd, Stopped> {
        if path.is_empty() {
            return Ok(&self.root);
        }
        let known = self.last.take().filter(|(last, _)| last == path);
        let folder = match known {
            Some((_, folder)) => folder,
            None => self.descend(path)?,
        };
        Ok(&self.last.insert((path.to_vec(), folder)).1)
    }

    fn descend(&self, path: &[u8]) -> Result<OwnedFd, Stopped> {
        let mut at: Option<OwnedFd> = None;
        for component in path.split(|&b| b == b'/') {
            let parent = at.as_ref().unwrap_or(&self.root);
            match mkdirat(parent, component, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ) => {
                    let text = format!("this file system can't hold '{}'", name::shown(component));
                    return Err(Stopped::Refused(text));
                }
                Err(e) => return Err(self.stopped(e, "create the folder", path)),
            }
            at = match openat(parent, component, FOLDER, Mode::empty()) {
                Ok(folder) => Some(folder),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let text = format!("'{}' is not a folder here", name::shown(component));
                    return Err(Stopped::Refused(text));
                }
                Err(e) => return Err(self.stopped(e, "open the folder", path)),
            };
        }
        match at {
            Some(folder) => Ok(folder),
            None => self
                .root
                .try_clone()
                .map_err(|e| Stopped::Failed(Failure::io(e, "open the folder", &self.path))),
        }
    }

    fn stopped(&self, e: Errno, doing: &str, path: &[u8]) -> Stopped {
        Stopped::Failed(Failure::io(e.into(), doing, self.path.join(name::shown(path))))
    }
}

/// Renames without replacing, as [`tarflume_formats::publish::rename_new`] does, from folder to folder.
fn rename_new(from: &OwnedFd, old: &str, to: &OwnedFd, new: &[u8]) -> Result<(), Errno> {
    match retry_on_intr(|| renameat_with(from, old, to, new, RenameFlags::NOREPLACE)) {
        // Old kernels and some network file systems know no such flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return done,
    }
    match retry_on_intr(|| linkat(from, old, to, new, AtFlags::empty())) {
        Ok(()) => return retry_on_intr(|| unlinkat(from, old, AtFlags::empty())),
        Err(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) => {}
        Err(e) => return Err(e),
    }
    // Neither: only one command fills the folder.
    match retry_on_intr(|| statat(to, new, AtFlags::SYMLINK_NOFOLLOW)) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => retry_on_intr(|| renameat(from, old, to, new)),
        Err(e) => Err(e),
    }
}

/// Splits a path into its folder and its last component.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

fn joined(folder: &[u8], base: &[u8]) -> Vec<u8> {
    if folder.is_empty() { base.to_vec() } else { [folder, b"/", base].concat() }
}

/// Returns the name in this folder that occupies `base`: itself, or one that differs in case.
fn same_but_case(folder: &OwnedFd, base: &[u8]) -> Option<Vec<u8>> {
    let mut twin = None;
    for entry in Dir::read_from(folder).ok()? {
        let Ok(entry) = entry else { continue };
        let found = entry.file_name().to_bytes();
        if found == base {
            return Some(base.to_vec());
        }
        if fold(found) == fold(base) {
            twin = Some(found.to_vec());
        }
    }
    twin
}
