//! A folder of tars: which files are its shards, and the manifest that lists them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tarflume_formats::dataset::read_manifest;
use tarflume_formats::files;
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::publish::write_whole;
use tarflume_formats::shown::ShowPath;

use super::options::Options;
use super::shard::Indexed;
use crate::exit::Exit;
use crate::failure::Failure;

/// What a manifest made here says of its maker.
const TOOL: &str = concat!("pack ", env!("CARGO_PKG_VERSION"));
/// Endings of packed tars, which no reader can index.
const PACKED: [&[u8]; 7] =
    [b".tar.gz", b".tgz", b".tar.zst", b".tar.xz", b".tar.bz2", b".tar.lz4", b".tar.lzma"];

/// What is said of them.
pub(crate) const COMPRESSED: &str = "this shard is compressed, and nothing in it can be found without unpacking \
    it; decompress it (gunzip, zstd -d), or move it out of the folder, or read it without an index, from \
    front to back, as a stream (`stream=True`, in Rust `Stream::open`)";

/// A manifest, made or found.
#[derive(Debug)]
pub struct MadeManifest {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub manifest: Manifest,
    /// True if it was there, says the same, and was left as it is.
    pub kept: bool,
}

/// The tars of a folder in the order of their names' bytes, and the packed ones, refused.
///
/// # Errors
/// The folder can't be read; there is no tar in it.
pub(crate) fn tars(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Indexed>), Failure> {
    let (mut tars, mut packed) = (Vec::new(), Vec::new());
    for found in fs::read_dir(folder).map_err(|e| Failure::io(e, "read the folder", folder))? {
        let name = found.map_err(|e| Failure::io(e, "read the folder", folder))?.file_name();
        let bytes = name.as_bytes();
        if bytes.starts_with(b".") {
            continue; // hidden: temporary files of ours and of others
        }
        if bytes.ends_with(b".tar") {
            tars.push(folder.join(&name));
        } else if PACKED.iter().any(|end| bytes.ends_with(end)) {
            packed.push(folder.join(&name));
        }
    }
    tars.sort_unstable_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    packed.sort_unstable();
    packed.retain(|packed| !tars.iter().any(|tar| unpacked_name(packed) == tar.file_name()));
    if tars.is_empty() && packed.is_empty() {
        let text = format!("{}: there is no *.tar in this folder", folder.shown());
        return Err(Failure::usage(text));
    }
    Ok((tars, packed.into_iter().map(refuse).collect()))
}

/// `a.tar` for `a.tar.gz`.
fn unpacked_name(packed: &Path) -> Option<&std::ffi::OsStr> {
    packed.file_stem()
}

fn refuse(tar: PathBuf) -> Indexed {
    let text = format!("{}: {COMPRESSED}", tar.shown());
    Indexed { tar, result: Err(Failure::bad_data(text)) }
}

/// Writes the folder's manifest, if all its tars have a sidecar.
///
/// # Errors
/// A tar has none; a manifest of other tars is there and `force` is not set, or one of other sidecars
/// and these were not replaced for their entry points; the operating system's refusal to write.
pub(crate) fn publish_manifest(
    folder: &Path,
    tars: &[Indexed],
    options: &Options,
) -> Result<MadeManifest, Failure> {
    let path = folder.join(FILE_NAME);
    let mut manifest = manifest_of(tars).map_err(|failure| Failure {
        text: format!("{}: not written: {failure}", path.shown()),
        ..failure
    })?;
    let found = match read_manifest(&path) {
        Ok(found) => Some(found),
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => None, // there is none, or it is damaged
    };
    if let Some(found) = found.clone().filter(|found| same(found, &manifest)) {
        return Ok(MadeManifest { path, manifest: found, kept: true });
    }
    // The same tars are still those of the plan by which they were packed.
    let found = found.filter(|found| same_tars(found, &manifest));
    let added = options.entry_points && found.is_some();
    manifest.plan = found.and_then(|found| found.plan);
    if !options.force && !added && files::is_there(&path)? {
        let text = format!(
            "{}: this manifest does not describe the tars that are here; replace it with --force",
            path.shown()
        );
        return Err(Failure::bad_data(text));
    }
    write_whole(&path, &manifest.to_json())?;
    Ok(MadeManifest { path, manifest, kept: false })
}

fn manifest_of(tars: &[Indexed]) -> Result<Manifest, Failure> {
    let mut shards: Vec<ShardEntry> = Vec::with_capacity(tars.len());
    let mut extensions: BTreeMap<String, u64> = BTreeMap::new();
    for indexed in tars {
        let made = match &indexed.result {
            Ok(made) => made,
            Err(failure) => {
                let text = format!("{} has no sidecar", indexed.tar.shown());
                let exit = if tars.iter().any(|t| is_bad(&t.result)) {
                    Exit::BadData
                } else {
                    failure.exit
                };
                return Err(Failure { exit, text });
            }
        };
        if made.entry.name.is_empty() {
            let text = format!("the file name {:?} is not UTF-8; rename it", indexed.tar);
            return Err(Failure::bad_data(text));
        }
        shards.push(made.entry.clone());
        for (ext, count) in &made.extensions {
            *extensions.entry(ext.clone()).or_default() += count;
        }
    }
    Ok(Manifest::new(TOOL, None, extensions, shards))
}

fn is_bad<T>(result: &Result<T, Failure>) -> bool {
    result.as_ref().is_err_and(|failure| failure.exit == Exit::BadData)
}

/// True if two manifests differ in nothing but who wrote them.
fn same(found: &Manifest, made: &Manifest) -> bool {
    found.shards == made.shards && found.extensions == made.extensions
}

/// True if two manifests differ in nothing but their sidecars, and that one knows digests.
fn same_tars(found: &Manifest, made: &Manifest) -> bool {
    let same = |(found, made): (&ShardEntry, &ShardEntry)| {
        let known = found.blake3.is_none() || found.blake3 == made.blake3;
        (&found.name, found.samples, found.bytes) == (&made.name, made.samples, made.bytes) && known
    };
    found.shards.len() == made.shards.len() && found.shards.iter().zip(&made.shards).all(same)
}
