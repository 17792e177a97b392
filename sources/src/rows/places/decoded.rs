//! `DecodedTars`: tars whose pictures were decoded when they were packed, as the manifests beside them state it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tarflume_base::check::CheckLevel;
use tarflume_base::{Failure, check_of};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Index, files, read_manifest};

/// The tars of the folder that was asked for last: their digests, by name.
#[derive(Debug, Default)]
pub(crate) struct DecodedTars {
    folder: Option<PathBuf>,
    digests: HashMap<String, String>,
}

impl DecodedTars {
    /// Returns true if the manifest beside a tar states that parts were checked, and lists the tar with the digest that
    /// its sidecar has. `pack index` decodes nothing: the checksums of such a sidecar say only what the tar contained.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub(crate) fn has(&mut self, tar: &Path, index: &Index) -> Result<bool, Failure> {
        let folder = folder_of(tar);
        if self.folder.as_deref() != Some(folder) {
            self.digests = of_folder(folder)?;
            self.folder = Some(folder.into());
        }
        let name = tar.file_name().and_then(std::ffi::OsStr::to_str);
        let listed = name.and_then(|name| self.digests.get(name));
        let found = index.tar().digest.map(|digest| digest.to_hex().to_string());
        Ok(listed.is_some() && listed == found.as_ref())
    }
}

fn of_folder(folder: &Path) -> Result<HashMap<String, String>, Failure> {
    let path = folder.join(FILE_NAME);
    if !files::exists(&path)? {
        return Ok(HashMap::new());
    }
    let manifest = match read_manifest(&path) {
        Ok(manifest) => manifest,
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => return Ok(HashMap::new()), // nothing is known
    };
    if check_of(&manifest).is_none_or(|level| level == CheckLevel::None) {
        return Ok(HashMap::new());
    }
    let shards = manifest.shards.into_iter();
    Ok(shards.filter_map(|shard| Some((shard.name, shard.blake3?))).collect())
}
