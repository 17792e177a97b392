//! Tars that are not here, and what stands for them: pointers of Git LFS and files of DVC.
//!
//! A tar that was not pulled is not damaged. The size that its pointer states is compared with manifest and sidecar. The
//! digest is that of another kind than theirs, so a report shows it, and nothing here can be compared with it.

pub(crate) mod dvc;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tarflume_base::units;
use tarflume_formats::lfs::Pointer;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use self::dvc::Tracked;

/// What fetches a tar that was not pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pointers {
    /// Git LFS.
    Lfs,
    /// DVC.
    Dvc,
}

/// What is stated about a tar that was not pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedTar {
    /// What fetches it.
    pub by: Pointers,
    /// Its bytes.
    pub size: Option<u64>,
    /// Its digest with the name of the kind: `sha256 4d7a...`.
    pub digest: Option<String>,
}

impl StatedTar {
    pub(crate) fn of_lfs(pointer: Pointer) -> StatedTar {
        let digest = pointer.sha256.map(|sha256| {
            let digits: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("sha256 {digits}")
        });
        StatedTar { by: Pointers::Lfs, size: Some(pointer.size), digest }
    }

    pub(crate) fn of_dvc(tracked: Tracked) -> StatedTar {
        let digest = tracked.md5.map(|md5| format!("md5 {md5}"));
        StatedTar { by: Pointers::Dvc, size: tracked.size, digest }
    }

    /// Returns what is stated: `: 12,345 bytes, sha256 4d7a...`; empty if that is nothing.
    fn text(&self) -> String {
        let size = self.size.map(|size| units::counted(size, "byte", "bytes"));
        let stated: Vec<String> = size.into_iter().chain(self.digest.clone()).collect();
        if stated.is_empty() { String::new() } else { format!(": {}", stated.join(", ")) }
    }
}

/// Tars that were not pulled, by what fetches them.
#[derive(Debug, Default)]
pub(crate) struct NotPulled(BTreeMap<Pointers, Counted>);

/// Tars of one kind of pointer.
#[derive(Debug)]
struct Counted {
    tars: u64,
    first: PathBuf,
    stated: StatedTar,
}

impl NotPulled {
    pub(crate) fn add(&mut self, path: &Path, stated: StatedTar) {
        let by = stated.by;
        let counted =
            self.0.entry(by).or_insert_with(|| Counted { tars: 0, first: path.into(), stated });
        counted.tars += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|counted| counted.tars).sum()
    }

    /// Returns a sentence for each tool.
    pub(crate) fn sentences(&self) -> Vec<Message> {
        let each = self.0.iter().map(|(pointers, counted)| {
            let tars = units::counted(counted.tars, "tar was", "tars were");
            let first = counted.first.as_path();
            let stated = counted.stated.text();
            match pointers {
                Pointers::Lfs => message!("{tars} not pulled: Git LFS pointers are in their place. `git lfs pull` fetches them \
                    (first: {first}{stated})"; first = first),
                Pointers::Dvc => message!("{tars} not pulled: DVC tracks them. `dvc pull` fetches them (first: {first}{stated})";
                    first = first),
            }
        });
        each.collect()
    }
}
