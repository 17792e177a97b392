//! The files of Megatron Energon, as `energon prepare` of version 7 writes them, but for the SQLite index.
//!
//! Beside each tar, `SHARD.tar.idx`: the byte of the first header of each sample and the end of the last one, u64 little
//! endian. In `.nv-meta`: samples of each shard, splits, the kind of the data set, and an identifier.

use tarflume_formats::manifest::Manifest;

use super::python_json::string;
use super::shard::ReadShard;

/// The folder of the data set's own files.
pub(super) const FOLDER: &str = ".nv-meta";
/// The version of Energon whose files these are.
const VERSION: &str = "7.4.1";
/// The split of shards without one.
const SPLIT: &str = "train";

/// Returns the name of a shard's index.
pub(super) fn file_name(tar: &str) -> String {
    format!("{}.tar.idx", tar.strip_suffix(".tar").unwrap_or(tar))
}

/// Makes `SHARD.tar.idx`.
pub(super) fn offsets(shard: &ReadShard) -> Vec<u8> {
    let starts = shard.samples().map(|sample| sample[0].member.first);
    starts.chain([shard.end]).flat_map(u64::to_le_bytes).collect()
}

/// Makes the files of `.nv-meta`: names and contents.
pub(super) fn files(manifest: &Manifest, shards: &[ReadShard]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (".info.json", info(shards)),
        ("split.yaml", splits(manifest)),
        ("dataset.yaml", b"__module__: megatron.energon\n__class__: CrudeWebdataset\n".to_vec()),
        ("index.uuid", identifier(shards).into_bytes()),
    ]
}

fn info(shards: &[ReadShard]) -> Vec<u8> {
    let mut text = format!("{{\n  \"energon_version\": \"{VERSION}\",\n  \"shard_counts\": {{");
    for (n, shard) in shards.iter().enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        text.push_str(&format!("    {}: {}", string(shard.name.as_bytes()), shard.samples));
    }
    text.push_str("\n  }\n}");
    text.into_bytes()
}

/// Makes `split.yaml`, in the order in which splits appear. Names are in quotes, which YAML and JSON share.
fn splits(manifest: &Manifest) -> Vec<u8> {
    let mut names: Vec<&str> = Vec::new();
    for entry in &manifest.shards {
        let split = entry.split.as_deref().unwrap_or(SPLIT);
        if !names.contains(&split) {
            names.push(split);
        }
    }
    let mut text = String::from("split_parts:\n");
    for split in names {
        text.push_str(&format!("  {}:\n", string(split.as_bytes())));
        let of_split = manifest.shards.iter();
        for entry in of_split.filter(|entry| entry.split.as_deref().unwrap_or(SPLIT) == split) {
            text.push_str(&format!("  - {}\n", string(entry.name.as_bytes())));
        }
    }
    text.push_str("exclude: []\n");
    text.into_bytes()
}

/// Makes a UUID of version 8 of names, lengths and offsets, so that equal data sets have equal files.
fn identifier(shards: &[ReadShard]) -> String {
    let mut hasher = blake3::Hasher::new();
    for shard in shards {
        hasher.update(shard.name.as_bytes());
        hasher.update(&[0]);
        hasher.update(&shard.length.to_le_bytes());
        hasher.update(shard.offsets_digest.as_ref().map_or(&[], |digest| &digest.as_bytes()[..]));
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
