//! DALI's index, as NVIDIA's `wds2idx` writes it, with the offsets and the samples that DALI's reader needs.
//!
//! Text: `v1.2 SAMPLES`, then for each sample a line of `EXT OFFSET SIZE NAME` for each part, separated by blanks. Version
//! 1.1 has no names. `wds2idx` is wrong for GNU long names (its offsets are 1,024 bytes early), makes samples of files
//! without extension, and writes names with blanks, which DALI cannot parse.

use super::shard::{ReadPart, ReadShard};

/// The bytes of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DaliIndex {
    pub(super) bytes: Vec<u8>,
    /// Version 1.1 was written, because a name contains a blank.
    pub(super) is_without_names: bool,
}

/// Returns the name that DALI expects: the tar's name up to its first dot.
pub(super) fn file_name(tar: &str) -> String {
    let stem = tar.split('.').next().unwrap_or(tar);
    format!("{stem}.idx")
}

/// Makes the index of a shard; `None` for a shard without samples: DALI refuses an index that states none.
///
/// # Errors
/// Returns what the format cannot contain: an extension that is empty or contains a blank.
pub(super) fn index(shard: &ReadShard) -> Result<Option<DaliIndex>, String> {
    if shard.samples == 0 {
        return Ok(None);
    }
    let parts = || shard.samples().flatten();
    if let Some(part) = parts().find(|part| part.ext.is_empty() || has_blank(part.ext)) {
        return Err(format!(
            "sample {}: the extension `{}` cannot be in DALI's index, in which blanks separate words; rename the part",
            tarflume_formats::name::shown(part.key),
            tarflume_formats::name::shown(part.ext)
        ));
    }
    let is_without_names = parts().any(|part| has_blank(&part.member.name));
    let version = if is_without_names { "v1.1" } else { "v1.2" };
    let mut bytes = format!("{version} {}\n", shard.samples).into_bytes();
    for sample in shard.samples() {
        for (n, ReadPart { ext, member, .. }) in sample.iter().enumerate() {
            if n > 0 {
                bytes.push(b' ');
            }
            bytes.extend_from_slice(ext);
            bytes.extend_from_slice(format!(" {} {}", member.data, member.size).as_bytes());
            if !is_without_names {
                bytes.push(b' ');
                bytes.extend_from_slice(&member.name);
            }
        }
        bytes.push(b'\n');
    }
    Ok(Some(DaliIndex { bytes, is_without_names }))
}

fn has_blank(text: &[u8]) -> bool {
    text.iter().any(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
}
