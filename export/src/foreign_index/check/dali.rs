//! DALI's index, with the two known wrong rules of `wds2idx`.

use std::path::Path;

use tarflume_base::Problems;
use tarflume_formats::name;
use tarflume_formats::tar::Member;

use super::problem;
use crate::foreign_index::shard::{ReadPart, ReadShard};

const FORMAT: &str = "dali";
/// Bytes of the headers that precede a member with a GNU long name or a pax header, in the usual case.
const EXTRA: u64 = 1024;

/// Returns true for an index of DALI: other programs use the ending, too.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    matches!(bytes, [b'v', version, ..] if version.is_ascii_digit())
}

fn shown(key: &[u8], ext: &[u8]) -> String {
    format!("{}.{}", name::shown(key), name::shown(ext))
}

/// Compares an index with its tar. Reports the first part that differs, and how many do.
pub(super) fn compare(path: &Path, bytes: &[u8], shard: &ReadShard, problems: &mut Problems) {
    let mut lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let head = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let words_of_a_part = match head.split_once(' ') {
        Some(("v1.2", _)) => 4,
        Some(("v1.1", _)) => 3,
        _ => {
            let what =
                format!("the first line is {head:?}; DALI reads `v1.1 SAMPLES` and `v1.2 SAMPLES`");
            problems.push(problem(path, FORMAT, &what));
            return;
        }
    };
    let stated = head.split_once(' ').and_then(|(_, count)| count.trim().parse::<u64>().ok());
    let lines: Vec<&[u8]> = lines.collect();
    if stated != Some(lines.len() as u64) {
        let what = format!("the first line is {head:?}, but {} samples follow", lines.len());
        problems.push(problem(path, FORMAT, &what));
    }
    if lines.len() as u64 != shard.samples {
        let what = format!(
            "it lists {} samples, but the tar has {}{}",
            lines.len(),
            shard.samples,
            if shard.members.iter().any(|member| name::split(&member.name).is_none()) {
                ": wds2idx takes files without extension for samples"
            } else {
                ""
            }
        );
        problems.push(problem(path, FORMAT, &what));
        return;
    }
    let mut found = Differences::default();
    for (line, sample) in lines.iter().zip(shard.samples()) {
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let stated: Vec<&[&[u8]]> = words.chunks(words_of_a_part).collect();
        if stated.len() != sample.len() {
            found.add(&name::shown(sample[0].key), || {
                format!("{} parts are listed, the tar has {}", stated.len(), sample.len())
            });
            continue;
        }
        for (ReadPart { key, ext, member }, words) in sample.iter().zip(stated) {
            let offset = number(words, 1);
            let size = number(words, 2);
            if words.first() != Some(ext) || size != Some(member.size) {
                found.add(&shown(key, ext), || "extension or size differ".into());
            } else if offset != Some(member.data) {
                found.add(&shown(key, ext), || wrong_offset(shard, member, offset));
            }
        }
    }
    if let Some(what) = found.into_text() {
        problems.push(problem(path, FORMAT, &what));
    }
}

/// Returns word `n` of a part as a number; `None` if the word is missing or no number.
fn number(words: &[&[u8]], n: usize) -> Option<u64> {
    std::str::from_utf8(words.get(n)?).ok()?.parse().ok()
}

/// Explains a wrong offset by the rule that leads to it.
fn wrong_offset(shard: &ReadShard, member: &Member, offset: Option<u64>) -> String {
    let stated = offset.map_or_else(|| "no number".into(), |offset| offset.to_string());
    let text = format!("its data begins at byte {}, the index says {stated}", member.data);
    let next = shard.members.iter().find(|next| next.first >= member.end());
    // The rule before DALI 1.18: the block of the next header, less the size.
    let old_rule = next.map(|next| (next.data - 512).saturating_sub(member.size) / 512 * 512);
    match offset {
        Some(offset) if member.data - member.first > 512 && offset + EXTRA == member.data => {
            format!("{text}: wds2idx places files with GNU long names {EXTRA} bytes early")
        }
        Some(offset) if Some(offset) == old_rule => {
            format!(
                "{text}: wds2idx before DALI 1.18 is wrong where the next file has a pax header"
            )
        }
        _ => text,
    }
}

/// The first difference, and the number of all.
#[derive(Default)]
struct Differences {
    first: Option<String>,
    count: u64,
}

impl Differences {
    fn add(&mut self, part: &str, what: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(|| format!("{part}: {}", what()));
    }

    fn into_text(self) -> Option<String> {
        let first = self.first?;
        Some(match self.count {
            1 => first,
            more => format!("{more} parts are wrong; the first: {first}"),
        })
    }
}
