//! The manifest of the data set that is repaired, restored from a copy if it is damaged.

use std::path::Path;

use tarflume_base::{Failure, FailureKind};
use tarflume_formats::manifest::{FILE_NAME, Manifest, hex_digest};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::write_whole;
use tarflume_formats::{Error, read_manifest_text};
use tarflume_shards::kinds;

use super::copies::Copies;
use super::{Options, RepairedFile, Replaced};

/// The manifest, and the file if it was restored.
pub(super) struct Restored {
    pub(super) manifest: Manifest,
    pub(super) file: Option<RepairedFile>,
}

/// Reads the manifest in `folder`; if it is damaged, missing, or not the one with the given root digest, takes that of a copy.
///
/// # Errors
/// Returns an error if the manifest is damaged and no root digest is given, if no copy has the one with this digest, and
/// if the operating system refuses.
pub(super) fn restored(
    folder: &Path,
    copies: &Copies,
    options: &Options,
) -> Result<Restored, Failure> {
    let path = folder.join(FILE_NAME);
    let wanted = options.root.as_deref().map(wanted).transpose()?;
    let damage = match read(&path) {
        Ok(own) if wanted.is_none_or(|root| Manifest::root_of(&own) == root) => {
            let manifest = Manifest::from_json(&own).map_err(|e| e.with_path(&path))?;
            return Ok(Restored { manifest, file: None });
        }
        Ok(_) => None,
        Err(error) => Some(kinds::of_data(error)?),
    };
    let Some(root) = wanted else {
        let damage = damage.expect("without a root digest any whole manifest is the wanted one");
        let failure = Failure::from(damage).with_kind(FailureKind::BadData);
        let root = Name::Root.is("HEX");
        let info = Call::of(Task::Info).on_stand("COPY");
        return Err(failure.with_remedy(message!("to restore it from a copy, state which data set this is: {root}; `{info}` prints it"; root = root, info = info)));
    };
    let Some(found) = copies.manifest(&root) else {
        let text = message!("no copy has the manifest with the root digest {root}"; root = root.to_hex().to_string());
        return Err(Failure::bad_data(text).in_file(&path));
    };
    let manifest = Manifest::from_json(&found.bytes).map_err(|e| e.with_path(&found.from))?;
    if !options.dry_run {
        write_whole(&path, &found.bytes)?;
    }
    let bytes = found.bytes.len() as u64;
    let file = RepairedFile { path, what: Replaced::Whole, bytes, from: vec![found.from] };
    Ok(Restored { manifest, file: Some(file) })
}

/// Reads a text that is a whole manifest.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let text = read_manifest_text(path)?;
    Manifest::from_json(&text).map_err(|e| e.with_path(path))?;
    Ok(text)
}

fn wanted(root: &str) -> Result<tarflume_formats::Digest, Failure> {
    hex_digest(root).map_err(|_| {
        let option = Name::Root.is(root);
        let info = Call::of(Task::Info).on_stand("COPY");
        Failure::usage(message!("{option}: a root digest has 64 hexadecimal digits; `{info}` prints it"; option = option, info = info))
    })
}
