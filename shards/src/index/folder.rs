//! A folder of tars: selects its shards and writes the manifest that lists them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tarflume_base::{Columns, Exit, Failure, FailureKind, json_rules, split_names};
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::publish::write_whole;
use tarflume_formats::{files, read_manifest};

use super::options::Options;
use super::shard::Indexed;

/// The field `tool` of a manifest made here.
const TOOL: &str = concat!("pack ", env!("CARGO_PKG_VERSION"));
/// Endings of compressed tars, which cannot be indexed.
const PACKED: [&[u8]; 7] =
    [b".tar.gz", b".tgz", b".tar.zst", b".tar.xz", b".tar.bz2", b".tar.lz4", b".tar.lzma"];

/// The error for them.
pub fn compressed() -> Message {
    message!("this shard is compressed, and nothing in it can be found without unpacking it; decompress it (gunzip, zstd \
              -d), or pack its samples into other shards with `{reshard}`, or move it out of the folder, or read it \
              without an index, from front to back, as a stream (`tarflume.webdataset`, in Rust `Stream::open`)";
        reshard = Call::of(Task::Reshard))
}

/// A manifest, new or existing.
#[derive(Debug)]
pub struct MadeManifest {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub manifest: Manifest,
    /// True if an existing manifest with the same contents was kept.
    pub kept: bool,
}

/// Returns the tars of a folder in byte order of their names, and the compressed ones, refused.
///
/// # Errors
/// Returns an error if the folder cannot be read or has no tar.
pub fn tars(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Indexed>), Failure> {
    let mut tars = Vec::new();
    let mut packed = Vec::new();
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
        let text = "there is no *.tar in this folder";
        return Err(Failure::usage(text).in_file(folder));
    }
    Ok((tars, packed.into_iter().map(refuse).collect()))
}

/// Returns `a.tar` for `a.tar.gz`.
fn unpacked_name(packed: &Path) -> Option<&std::ffi::OsStr> {
    packed.file_stem()
}

fn refuse(tar: PathBuf) -> Indexed {
    let refused = Failure::bad_data(compressed()).in_file(&tar);
    Indexed { tar, result: Err(refused) }
}

/// Refuses a manifest that was edited after it was written, or accepts it: then it is written again with the digest of
/// its text. Returns true if it was written.
///
/// # Errors
/// Returns an error for an edited manifest that is not to be accepted, for one that is none, and if the operating
/// system refuses.
pub(crate) fn accept_edits(folder: &Path, accept: bool) -> Result<bool, Failure> {
    let path = folder.join(FILE_NAME);
    if !files::exists(&path)? {
        return Ok(false);
    }
    let bytes = files::read_whole(&path, "read the manifest")?;
    match (Manifest::from_json(&bytes), Manifest::from_edited_json(&bytes)) {
        (Ok(_), _) if Manifest::is_protected(&bytes) => Ok(false),
        (_, Ok(edited)) if accept => {
            write_whole(&path, &edited.to_json())?;
            Ok(true)
        }
        (_, Err(error)) if accept => Err(error.with_path(path).into()),
        (Err(error), Ok(_)) => Err(error.with_path(path).into()),
        _ => Ok(false), // written by an earlier version, or damaged
    }
}

/// Writes the folder's manifest if all its tars have a sidecar.
///
/// # Errors
/// Returns an error if a tar has no valid one; if an existing manifest lists other tars and `force` is not
/// set, or other sidecars and these were not replaced for their entry points; or if the operating
/// system refuses to write.
pub(crate) fn publish_manifest(
    folder: &Path,
    tars: &[Indexed],
    options: &Options,
) -> Result<MadeManifest, Failure> {
    let path = folder.join(FILE_NAME);
    let mut manifest =
        manifest_of(tars).map_err(|failure| failure.after("not written: ").in_file(&path))?;
    let found = match read_manifest(&path) {
        Ok(found) => Some(found),
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => None, // there is none, or it is damaged
    };
    if let Some(found) = &found {
        order_as(found, &mut manifest.shards);
    }
    if options.splits {
        split_by_names(folder, &mut manifest.shards)?;
    }
    // The rules of JSON are those of the manifest, or given ones that accept more.
    let rules = options.columns.rules();
    let widens = found.as_ref().is_some_and(|found| json_rules::of_manifest(Some(found)) != rules);
    let kept = found.clone().filter(|found| !widens && same(found, &manifest));
    if let Some(found) = kept {
        return Ok(MadeManifest { path, manifest: found, kept: true });
    }
    // The tars are unchanged, so what the manifest states about their samples stays valid.
    let found = found.filter(|found| same_tars(found, &manifest));
    let adds = options.entry_points || options.splits || !options.columns.is_empty() || widens;
    let added = adds && found.is_some();
    if let Some(found) = found {
        (manifest.plan, manifest.options) = (found.plan, found.options);
        (manifest.appended, manifest.about) = (found.appended, found.about);
        manifest.check = found.check;
    }
    json_rules::record(rules, &mut manifest);
    if !options.force && !added && files::exists(&path)? {
        let text = message!("this manifest does not describe the tars that are here; replace it with {force}"; force = Name::Force.on());
        return Err(Failure::bad_data(text).in_file(path));
    }
    write_whole(&path, &manifest.to_json())?;
    Ok(MadeManifest { path, manifest, kept: false })
}

/// Gives each shard the split that its name states.
///
/// # Errors
/// Returns an error for a name that states none.
fn split_by_names(folder: &Path, shards: &mut [ShardEntry]) -> Result<(), Failure> {
    for shard in shards {
        let split = split_names::word(&shard.name).ok_or_else(|| {
            Failure::usage(message!("its name states no split; rename it, with a word such as train, val or test between other \
                     characters than letters, or leave {split_by} out"; split_by = Name::SplitBy))
            .in_file(folder.join(&shard.name))
        })?;
        shard.split = Some(split.into());
    }
    Ok(())
}

impl MadeManifest {
    /// Returns a line about splits that the names of shards state and the manifest lacks.
    pub fn split_note(&self) -> Option<Message> {
        let shards = &self.manifest.shards;
        if shards.iter().any(|shard| shard.split.is_some()) {
            return None;
        }
        let splits = split_names::of_files(shards.iter().map(|shard| Path::new(&shard.name)))?;
        Some(
            message!("the names of the shards state splits ({}), and the manifest has none; `{index}` \
                 writes them", split_names::counted(&splits); index = Call::of(Task::Index).with(Name::SplitBy.is("source"))),
        )
    }
}

fn manifest_of(tars: &[Indexed]) -> Result<Manifest, Failure> {
    let mut shards: Vec<ShardEntry> = Vec::with_capacity(tars.len());
    let mut extensions: BTreeMap<String, u64> = BTreeMap::new();
    for indexed in tars {
        let made = match &indexed.result {
            Ok(made) => made,
            Err(failure) => {
                let kind = if tars.iter().any(|t| is_bad(&t.result)) {
                    FailureKind::BadData
                } else {
                    failure.kind()
                };
                let what = message!("{tar} could not be indexed"; tar = &indexed.tar);
                return Err(Failure::new(kind, what).with_file(&indexed.tar));
            }
        };
        if made.entry.name.is_empty() {
            let text = format!("the file name {:?} is not UTF-8; rename it", indexed.tar);
            return Err(Failure::bad_data(text).with_file(&indexed.tar));
        }
        shards.push(made.entry.clone());
        for (ext, count) in &made.extensions {
            *extensions.entry(ext.clone()).or_default() += count;
        }
    }
    let mut manifest = Manifest::new(TOOL, None, extensions, shards);
    let made = tars.iter().filter_map(|tar| tar.result.as_ref().ok());
    manifest.sidecar_columns = Columns::shared(made.map(|made| &made.columns)).texts();
    Ok(manifest)
}

fn is_bad<T>(result: &Result<T, Failure>) -> bool {
    result.as_ref().is_err_and(|failure| failure.exit() == Exit::BadData)
}

/// Orders shards as the manifest that lists the same names, and gives them its splits.
fn order_as(found: &Manifest, shards: &mut [ShardEntry]) {
    let places: HashMap<&str, (usize, &ShardEntry)> = found
        .shards
        .iter()
        .enumerate()
        .map(|(n, shard)| (shard.name.as_str(), (n, shard)))
        .collect();
    if places.len() != shards.len()
        || !shards.iter().all(|shard| places.contains_key(shard.name.as_str()))
    {
        return;
    }
    shards.sort_by_key(|shard| places[shard.name.as_str()].0);
    for shard in shards {
        shard.split.clone_from(&places[shard.name.as_str()].1.split);
    }
}

/// Returns true if two manifests are equal but for the program that wrote them.
fn same(found: &Manifest, made: &Manifest) -> bool {
    found.shards == made.shards && found.extensions == made.extensions
}

/// Returns true if two manifests differ only in their sidecars and both have digests.
fn same_tars(found: &Manifest, made: &Manifest) -> bool {
    let mut pairs = found.shards.iter().zip(&made.shards);
    found.shards.len() == made.shards.len() && pairs.all(|(found, made)| is_same_tar(found, made))
}

fn is_same_tar(found: &ShardEntry, made: &ShardEntry) -> bool {
    let known = found.blake3.is_none() || found.blake3 == made.blake3;
    (&found.name, found.samples, found.bytes) == (&made.name, made.samples, made.bytes) && known
}
