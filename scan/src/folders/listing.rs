//! The names of one folder, in the order of their samples.
//!
//! Opens no file and reads only folder entries, except for `image_ext`. All names of a folder are
//! in one block of memory; a folder may hold tens of millions.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, openat, statat};
use rustix::io::Errno;
use tarflume_base::check::sniff;
use tarflume_formats::{Blame, files};

/// Bytes requested per system call.
const READ: usize = 256 * 1024;

/// The type of a folder entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

/// A name of the listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    start: usize,
    length: u16,
    /// Bytes of the name that are part of its sample's key: up to the dot before the extension.
    pub(crate) stem: u16,
    pub(crate) kind: EntryKind,
}

impl Entry {
    /// Returns the byte at `at` of its stem. A slash follows the stem of a folder, as in the keys below it; nothing follows
    /// the stem of a file.
    fn next_byte(&self, stem: &[u8], at: usize) -> Option<u8> {
        stem.get(at).copied().or((self.kind == EntryKind::Folder).then_some(b'/'))
    }
}

/// What a list states about a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Bytes.
    pub(crate) size: u64,
    /// A digest of its modification time.
    pub(crate) stamp: u32,
    /// Its modification time in nanoseconds since 1970.
    pub(crate) changed: i64,
}

/// The names of one folder.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The open folder: its files are looked up relative to it, without resolving the whole path. `None` if the names
    /// are those of a list.
    folder: Option<OwnedFd>,
    names: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    /// What a list states about each entry; empty if the names are those of a folder.
    known: Vec<Option<Known>>,
}

impl Listing {
    /// Reads the names of the folder at `path`; `stem_of` returns how much of a file's name is key.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn read(
        path: &Path,
        follow_links: bool,
        stem_of: impl Fn(&[u8]) -> usize,
    ) -> io::Result<Listing> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())?;
        let names = Vec::new();
        let entries = Vec::new();
        let mut listing = Listing { folder: Some(folder), names, entries, known: Vec::new() };
        let reader = openat(CWD, path, flags, Mode::empty())?;
        let mut buffer = vec![MaybeUninit::uninit(); READ];
        let mut raw = RawDir::new(reader, &mut buffer);
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = listing.kind_of(name, entry.file_type(), follow_links)?;
            let stem = if kind == EntryKind::Folder { name.len() } else { stem_of(name) };
            listing.entries.push(Entry {
                start: listing.names.len(),
                length: name.len() as u16, // a file system's names have 255 bytes at most
                stem: stem as u16,
                kind,
            });
            listing.names.extend_from_slice(name);
        }
        listing.names.shrink_to_fit();
        listing.sort();
        Ok(listing)
    }

    /// Creates a listing without names, for those of a list.
    pub(crate) fn of_list() -> Listing {
        Listing { folder: None, names: Vec::new(), entries: Vec::new(), known: Vec::new() }
    }

    /// Adds a file of a list, whose stem is not before that of the last one.
    pub(crate) fn add(&mut self, name: &[u8], stem: usize, known: Option<Known>) {
        self.entries.push(Entry {
            start: self.names.len(),
            length: name.len() as u16, // longer names are no names of files, and refused when they are packed
            stem: stem as u16,
            kind: EntryKind::File,
        });
        self.names.extend_from_slice(name);
        self.known.push(known);
    }

    /// Returns true if the last name has this stem.
    pub(crate) fn ends_with_stem(&self, stem: &[u8]) -> bool {
        self.entries.last().is_some_and(|last| self.stem(last) == stem)
    }

    /// Removes all names.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
        self.known.clear();
    }

    /// Returns what a list states about an entry.
    pub(crate) fn known(&self, entry: &Entry) -> Option<Known> {
        if self.known.is_empty() {
            return None;
        }
        // Entries of a list are in the order of their names.
        let number = self.entries.binary_search_by_key(&entry.start, |entry| entry.start).ok()?;
        self.known.get(number).copied().flatten()
    }

    /// Examines a file of the folder; `path` returns its path.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, and ELOOP for a link of a list that is not followed: those of
    /// a folder were found when it was read.
    pub(crate) fn examined(
        &self,
        path: impl Fn() -> PathBuf,
        name: &[u8],
        flags: AtFlags,
    ) -> io::Result<Stat> {
        files::patiently(|| match &self.folder {
            Some(folder) => Ok(statat(folder, name, flags)?),
            None => match statat(CWD, path(), flags)? {
                found if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
                    Err(Errno::LOOP.into())
                }
                found => Ok(found),
            },
        })
    }

    /// Returns device and inode of the folder.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn id(&self) -> io::Result<(u64, u64)> {
        let Some(folder) = &self.folder else { return Ok((u64::MAX, u64::MAX)) };
        let stat = files::patiently(|| Ok(rustix::fs::fstat(folder)?))?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// Returns the extension that the file of this name should have by its image format; `None` if
    /// it is not a known image.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or read.
    pub(crate) fn image_ext(&self, name: &[u8]) -> io::Result<Option<&'static str>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut first = [0; sniff::ENOUGH];
        let read = files::patiently(|| {
            let Some(folder) = &self.folder else { return Err(io::ErrorKind::Unsupported.into()) };
            let file = openat(folder, name, flags, Mode::empty())?;
            Ok(rustix::io::pread(&file, &mut first, 0)?)
        })?;
        Ok(sniff::ext(&first[..read]))
    }

    /// Returns the type of a name; queries the file system if the entry has no type or a link may
    /// be followed.
    fn kind_of(&self, name: &[u8], known: FileType, follow_links: bool) -> io::Result<EntryKind> {
        let found = match known {
            FileType::Unknown => self.query(name, AtFlags::SYMLINK_NOFOLLOW)?,
            known => known,
        };
        let found = match found {
            FileType::Symlink if follow_links => self.query(name, AtFlags::empty())?,
            found => found,
        };
        Ok(match found {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        })
    }

    fn query(&self, name: &[u8], flags: AtFlags) -> io::Result<FileType> {
        let Some(folder) = &self.folder else { return Ok(FileType::RegularFile) };
        match files::patiently(|| Ok(statat(folder, name, flags)?)) {
            Ok(found) => Ok(FileType::from_raw_mode(found.st_mode)),
            Err(error) if Blame::of(&error).is_machine() => Err(error),
            // A file that cannot be examined is examined again as part of a sample, which reports
            // the error.
            Err(_) => Ok(FileType::RegularFile),
        }
    }

    /// Sorts by key in byte order, a folder at the position of the keys in it; parts by name.
    fn sort(&mut self) {
        let Listing { names, entries, .. } = self;
        let name = |e: &Entry| &names[e.start..e.start + e.length as usize];
        entries.par_sort_unstable_by(|a, b| {
            let stem_a = &name(a)[..a.stem as usize];
            let stem_b = &name(b)[..b.stem as usize];
            let common = stem_a.len().min(stem_b.len());
            stem_a[..common]
                .cmp(&stem_b[..common])
                .then_with(|| a.next_byte(stem_a, common).cmp(&b.next_byte(stem_b, common)))
                .then_with(|| name(a).cmp(name(b)))
        });
    }

    /// Returns the name of an entry.
    pub(crate) fn name(&self, entry: &Entry) -> &[u8] {
        &self.names[entry.start..entry.start + entry.length as usize]
    }

    /// Returns the entry's stem.
    pub(crate) fn stem(&self, entry: &Entry) -> &[u8] {
        &self.name(entry)[..entry.stem as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_dot(name: &[u8]) -> usize {
        name.iter().position(|&b| b == b'.').unwrap_or(name.len())
    }

    #[test]
    fn folders_are_sorted_by_their_keys() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a.jpg", "a-b.jpg", "a0.jpg", "a.json", "ab.jpg", "a.b"] {
            std::fs::write(dir.path().join(file), b"x").unwrap();
        }
        for folder in ["a", "a!", "ab.d"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let listing = Listing::read(dir.path(), false, first_dot).unwrap();
        let names: Vec<_> = listing
            .entries
            .iter()
            .map(|e| String::from_utf8_lossy(listing.name(e)).into_owned())
            .collect();
        // Keys: a, a!/, a-b, a/, a0, ab, ab.d/
        assert_eq!(
            names,
            ["a.b", "a.jpg", "a.json", "a!", "a-b.jpg", "a", "a0.jpg", "ab.jpg", "ab.d"]
        );
    }
}
