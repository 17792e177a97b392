//! Symbolic links below a source folder are followed on request alone: a link in a data set of others can
//! lead to any file of this machine.
//!
//! Folders are opened component by component from the source folder, which itself may be a link.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// The reason of a problem.
pub fn reason() -> Message {
    message!("a symbolic link; give {follow} to pack what it points to, or {exclude} it";
        follow = Name::FollowLinks.on(), exclude = Name::Exclude)
}

/// Flags of a folder: it is not read, so permission to search it is enough.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Flags of a file: a blocking open of a pipe that replaced the file would never return.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// What happens at a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is refused with ELOOP.
    Refused,
    /// What it points to takes its place.
    Followed,
}

impl Links {
    /// Returns what `--follow-links` asks for.
    pub fn of(follow_links: bool) -> Links {
        if follow_links { Links::Followed } else { Links::Refused }
    }

    /// Returns the flags of a question about a file.
    pub fn flags(self) -> AtFlags {
        match self {
            Links::Followed => AtFlags::empty(),
            Links::Refused => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    /// Returns true if an error is the refusal of a link.
    pub fn refuses(self, error: &io::Error) -> bool {
        self == Links::Refused && error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
    }

    /// Opens the folder at `below` under `root`; `below` may end with a slash. The handle gives access to its files and
    /// does not list them.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, and ELOOP for a link below `root` that is not followed.
    pub fn open_folder(self, root: &Path, below: &[u8]) -> io::Result<OwnedFd> {
        if self == Links::Followed {
            let path = crate::source::part_path(root, below, b"");
            return files::patiently(|| opened(&path));
        }
        let mut at = files::patiently(|| opened(root))?;
        for component in below.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = files::patiently(|| entered(&at, component))?;
        }
        Ok(at)
    }

    /// Opens a file of a folder for reading.
    ///
    /// # Errors
    /// As [`Links::open_folder`].
    pub fn open_file(self, folder: &OwnedFd, name: &[u8]) -> io::Result<File> {
        let flags = match self {
            Links::Followed => FILE,
            Links::Refused => FILE | OFlags::NOFOLLOW,
        };
        let file = files::patiently(|| Ok(openat(folder, name, flags, Mode::empty())?))?;
        Ok(File::from(file))
    }
}

/// Opens a folder.
fn opened(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

/// Opens a folder in a folder, not through a link.
fn entered(folder: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    match openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
        // What a link gives with O_DIRECTORY.
        Err(Errno::NOTDIR) if is_link(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) => {
            Err(Errno::LOOP.into())
        }
        opened => Ok(opened?),
    }
}

fn is_link(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::Symlink
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Reads files below a root.
    struct Below<'a>(&'a Path);

    impl Below<'_> {
        fn read(&self, links: Links, folder: &[u8], name: &[u8]) -> io::Result<String> {
            let mut text = String::new();
            let folder = links.open_folder(self.0, folder)?;
            links.open_file(&folder, name)?.read_to_string(&mut text)?;
            Ok(text)
        }
    }

    #[test]
    fn links_below_the_root_are_refused_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("data/a/b")).unwrap();
        std::fs::write(at("data/a/b/x"), "inside").unwrap();
        std::fs::write(at("secret"), "outside").unwrap();
        symlink(at("data"), at("root")).unwrap();
        symlink(at("data/a"), at("data/folder")).unwrap();
        symlink(at("secret"), at("data/a/file")).unwrap();
        let root = at("root");
        let root = Below(&root);
        for links in [Links::Refused, Links::Followed] {
            assert_eq!(
                root.read(links, b"a/b/", b"x").unwrap(),
                "inside",
                "the root may be a link"
            );
            assert_eq!(root.read(links, b"", b"none").unwrap_err().kind(), io::ErrorKind::NotFound);
            assert!(
                !links.refuses(&root.read(links, b"a/b/x/", b"y").unwrap_err()),
                "a file is no link"
            );
        }
        for (folder, name) in
            [(&b"folder/b/"[..], &b"x"[..]), (b"a/", b"file"), (b"folder", b"file")]
        {
            let error = root.read(Links::Refused, folder, name).unwrap_err();
            assert!(Links::Refused.refuses(&error), "{name:?}: {error}");
            assert!(root.read(Links::Followed, folder, name).is_ok());
        }
    }
}
