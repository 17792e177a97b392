//! The names of parts of a sample that is a folder. Pure.

use std::collections::BTreeSet;

use tarflume_formats::name;

use super::rule::PartNames;
use crate::names::exts::ExtMap;
use crate::names::natural::natural;

/// Endings of compressed files, whose names have another one before: `.nii.gz`.
const COMPRESSED: [&[u8]; 4] = [b"gz", b"bz2", b"xz", b"zst"];

/// The part `json`.
const JSON: &[u8] = b"json";

/// The names of a folder's files, and how many files have a name of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The extension in the shard of each file, in the order of the files.
    pub(super) exts: Vec<Vec<u8>>,
    /// The number of different names without extension, that of a single JSON left out.
    pub(super) stems: usize,
}

/// Two files whose names differ by more than numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unlike {
    /// The number of the first that differs from the one at the begin.
    pub(super) other: usize,
}

/// Names the files of a folder by their paths in it. `folder` is the folder's own name.
///
/// # Errors
/// Returns a file that differs from others by more than numbers, where parts are numbered.
pub(super) fn named(
    names: PartNames,
    folder: &[u8],
    files: &[&[u8]],
    exts: &ExtMap,
) -> Result<Named, Unlike> {
    let split: Vec<FileName<'_>> = files.iter().map(|file| FileName::of(file, exts)).collect();
    let jsons = split.iter().filter(|file| file.ext == JSON).count();
    let mut stems: Vec<&[u8]> = split
        .iter()
        .filter(|file| !(jsons == 1 && file.ext == JSON))
        .map(|file| file.stem)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if names == PartNames::Numbers {
        check_alike(&stems, &split)?;
    }
    stems.sort_by(|a, b| natural(a, b));
    let mut found = Vec::with_capacity(files.len());
    for file in &split {
        if jsons == 1 && file.ext == JSON {
            found.push(JSON.to_vec());
            continue;
        }
        let name = match names {
            PartNames::Files => of_file(file.stem, folder),
            PartNames::Numbers | PartNames::AnyNumbers => {
                let number = stems.binary_search_by(|stem| natural(stem, file.stem));
                number.expect("each file's stem is one of them").to_string().into_bytes()
            }
        };
        found.push([name.as_slice(), b".", &file.ext].concat());
    }
    Ok(Named { exts: found, stems: stems.len() })
}

/// A path, divided before its extension.
struct FileName<'a> {
    stem: &'a [u8],
    /// As in shards; empty if there is none, which is refused before.
    ext: Vec<u8>,
}

impl FileName<'_> {
    fn of<'a>(path: &'a [u8], exts: &ExtMap) -> FileName<'a> {
        let file = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let Some(dot) = last_dot(path, file, path.len()) else {
            return FileName { stem: path, ext: Vec::new() };
        };
        let last = &path[dot + 1..];
        let is_compressed = COMPRESSED.iter().any(|ext| last.eq_ignore_ascii_case(ext));
        let before = last_dot(path, file, dot).filter(|_| is_compressed);
        let start = before.unwrap_or(dot);
        FileName { stem: &path[..start], ext: clean(&exts.apply(&path[start + 1..])) }
    }
}

/// Returns the last point in a range, not at its begin.
fn last_dot(path: &[u8], start: usize, end: usize) -> Option<usize> {
    (start + 1..end).rfind(|&at| path[at] == b'.')
}

/// Compares names without their numbers.
fn check_alike(stems: &[&[u8]], files: &[FileName<'_>]) -> Result<(), Unlike> {
    let Some(first) = stems.first() else { return Ok(()) };
    let form = without_numbers(first);
    let other = stems.iter().find(|stem| without_numbers(stem) != form);
    let Some(other) = other else { return Ok(()) };
    let number = files.iter().position(|file| file.stem == *other);
    Err(Unlike { other: number.expect("each stem is that of a file") })
}

/// Returns a name with `0` for each number.
fn without_numbers(name: &[u8]) -> Vec<u8> {
    let mut form = Vec::with_capacity(name.len());
    for &byte in name {
        match (byte.is_ascii_digit(), form.last()) {
            (true, Some(b'0')) => {}
            (true, _) => form.push(b'0'),
            (false, _) => form.push(byte),
        }
    }
    form
}

/// Returns a part's name from that of its file: without the name of the folder at its begin, in lower case, and with `_`
/// for what is no letter, digit, `_` or `-`; a slash is a point.
fn of_file(stem: &[u8], folder: &[u8]) -> Vec<u8> {
    let mut bare = stem;
    if let Some(rest) = stem.strip_prefix(folder) {
        let start = rest.iter().take_while(|byte| b"_-. ".contains(byte)).count();
        if start > 0 && start < rest.len() {
            bare = &rest[start..];
        }
    }
    clean(&name::lower(bare))
}

/// Returns a name of a part with a point for a slash, and with `_` for what no name has.
fn clean(name: &[u8]) -> Vec<u8> {
    let clean = name.iter().map(|&b| match b {
        b'/' => b'.',
        b if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.') => b,
        _ => b'_',
    });
    clean.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exts(names: PartNames, folder: &str, files: &[&str]) -> Result<Vec<String>, Unlike> {
        let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
        let named = named(names, folder.as_bytes(), &files, &ExtMap::default())?;
        Ok(named.exts.into_iter().map(|ext| String::from_utf8(ext).unwrap()).collect())
    }

    #[test]
    fn parts_are_numbered_in_natural_order() {
        let found = exts(PartNames::Numbers, "x", &["f10.JPEG", "f2.jpg", "f2.txt", "meta.json"]);
        assert_eq!(found.unwrap(), ["1.jpg", "0.jpg", "0.txt", "json"]);
        let found = exts(PartNames::Numbers, "x", &["1.json", "2.json"]);
        assert_eq!(found.unwrap(), ["0.json", "1.json"]);
        let found = exts(PartNames::Numbers, "x", &["v1_c2.nii.gz", "v1_c10.nii.gz"]);
        assert_eq!(found.unwrap(), ["0.nii.gz", "1.nii.gz"]);
        let found = exts(PartNames::Numbers, "x", &["a/1.png", "a/02.png"]);
        assert_eq!(found.unwrap(), ["0.png", "1.png"]);
    }

    #[test]
    fn names_that_differ_by_more_than_numbers_are_not_numbered_unasked() {
        let bands = ["B02.tif", "B11.tif", "B8A.tif"];
        assert_eq!(exts(PartNames::Numbers, "x", &bands), Err(Unlike { other: 2 }));
        let found = exts(PartNames::AnyNumbers, "x", &bands).unwrap();
        assert_eq!(found, ["0.tif", "2.tif", "1.tif"]);
    }

    #[test]
    fn files_keep_their_names_without_that_of_the_folder() {
        let files = ["P_1_B02.tif", "P_1_B8A.tif", "P_1.json", "other x.tif", "P_10.tif"];
        let found = exts(PartNames::Files, "P_1", &files).unwrap();
        assert_eq!(found, ["b02.tif", "b8a.tif", "json", "other_x.tif", "p_10.tif"]);
        let found = exts(PartNames::Files, "s", &["s_flair.nii.gz", "depth/1.png"]).unwrap();
        assert_eq!(found, ["flair.nii.gz", "depth.1.png"]);
    }

    #[test]
    fn a_single_json_is_not_counted() {
        let files: [&[u8]; 4] = [b"1.jpg", b"1.txt", b"2.jpg", b"x.json"];
        let found = named(PartNames::Numbers, b"", &files, &ExtMap::default()).unwrap();
        assert_eq!(found.stems, 2);
    }
}
