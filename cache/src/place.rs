//! `Settings`: where the cache of a machine is, how large it is, and which file systems are refused.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::statfs;
use rustix::process::getuid;

use crate::error::{Error, Result};

/// Name of the file. The number is the version of its layout.
const FILE: &str = "tarflume-1.cache";

/// File systems of several machines, or without maps that processes share: magic numbers of statfs(2).
const REFUSED: [(u64, &str); 9] = [
    (0x6969, "NFS"),
    (0x6573_5546, "FUSE"),
    (0x517b, "SMB"),
    (0xff53_4d42, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0x0bd0_0bd0, "Lustre"),
    (0x00c3_6400, "Ceph"),
    (0x4750_4653, "GPFS"),
    (0x0102_1997, "9P"),
];

/// Where a cache is, and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub(crate) bytes: u64,
    folder: Option<PathBuf>,
}

impl Settings {
    /// A cache of at most `bytes`, in the folder `TARFLUME_CACHE`, or `/var/tmp/tarflume-UID`.
    pub fn new(bytes: u64) -> Settings {
        Settings { bytes, folder: None }
    }

    /// Sets the folder. It is made if it is missing.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Settings {
        self.folder = Some(folder.into());
        self
    }

    /// The folder, and true if nobody has chosen it.
    fn place(&self) -> (PathBuf, bool) {
        let variable = std::env::var_os("TARFLUME_CACHE").filter(|value| !value.is_empty());
        match self.folder.clone().or_else(|| variable.map(PathBuf::from)) {
            Some(folder) => (folder, false),
            None => (format!("/var/tmp/tarflume-{}", getuid().as_raw()).into(), true),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.place().0.join(FILE)
    }

    /// Makes the folder, and checks that a cache can be in it.
    pub(crate) fn prepare(&self) -> Result<PathBuf> {
        let (folder, usual) = self.place();
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|e| Error::machine(&folder, "cannot make the folder of the cache", e))?;
        expect_usable(&folder, usual)?;
        Ok(folder)
    }
}

/// Checks the folder. `usual`: it is in a folder where all users can write, so somebody else may have made it.
pub(crate) fn expect_usable(folder: &Path, usual: bool) -> Result<()> {
    if usual {
        let found = std::fs::symlink_metadata(folder)
            .map_err(|e| Error::machine(folder, "cannot ask for the folder", e))?;
        if !found.is_dir() || found.uid() != getuid().as_raw() {
            let text = "this folder is not yours; set TARFLUME_CACHE to a folder on a local disk";
            return Err(Error::refused(folder, text));
        }
    }
    let found =
        statfs(folder).map_err(|e| Error::machine(folder, "cannot ask for the folder", e))?;
    match REFUSED.iter().find(|(magic, _)| *magic == found.f_type as u64 & 0xffff_ffff) {
        None => Ok(()),
        Some((_, name)) => {
            let text = format!(
                "this folder is on {name}; a cache must be on a disk of this machine: set TARFLUME_CACHE to a \
                 folder there"
            );
            Err(Error::refused(folder, text))
        }
    }
}
