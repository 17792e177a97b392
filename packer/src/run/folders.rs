//! Keeps the current source folder open and opens its files by their base names.
//!
//! Samples are sorted, so neighbors share a folder; resolving the full path of each file costs as
//! much as reading a small file.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use tarflume_scan::links::Links;
use tarflume_scan::source::part_path;

/// Opens source files for one thread.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    roots: &'a [PathBuf],
    links: Links,
    /// Root number, path under it with a trailing slash, and the open folder.
    open: Option<(u32, Vec<u8>, OwnedFd)>,
    name: Vec<u8>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(roots: &'a [PathBuf], links: Links) -> Folders<'a> {
        Folders { roots, links, open: None, name: Vec::new() }
    }

    /// Returns the path of a part, for messages. The extension is empty if `source` has it.
    pub(super) fn path(&self, root: u32, source: &[u8], ext: &str) -> PathBuf {
        part_path(&self.roots[root as usize], source, ext.as_bytes())
    }

    /// Opens `source.ext` under a root for reading; `source` itself if the extension is empty.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, and ELOOP for a link that is not followed.
    pub(super) fn open(&mut self, root: u32, source: &[u8], ext: &str) -> io::Result<File> {
        let base = source.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let (folder, base) = source.split_at(base);
        if !self.open.as_ref().is_some_and(|open| open.0 == root && open.1 == folder) {
            self.open = None;
            let opened = self.links.open_folder(&self.roots[root as usize], folder)?;
            self.open = Some((root, folder.to_vec(), opened));
        }
        self.name.clear();
        self.name.extend_from_slice(base);
        if !ext.is_empty() {
            self.name.push(b'.');
            self.name.extend_from_slice(ext.as_bytes());
        }
        match &self.open {
            Some((.., folder)) => self.links.open_file(folder, &self.name),
            None => Err(io::ErrorKind::NotFound.into()), // it was opened above
        }
    }
}
