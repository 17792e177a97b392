//! Names of rows in the form in which samples have them: another extension, folders and backslashes are removed. Pure.

use std::collections::HashSet;

use crate::join::options::On;

/// Extensions that a table may have where the samples have others.
const USUAL: [&str; 16] = [
    "jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp", "ppm", "pgm", "json", "txt", "xml",
    "csv", "npy", "mat",
];

/// The last component of a path, as a place in it.
fn last(name: &[u8]) -> usize {
    name.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1)
}

/// Returns the length of a file's name without extension: without the longest ending after a point that is among `exts`,
/// or a last one that is usual.
fn stem(file: &[u8], exts: &HashSet<Vec<u8>>) -> usize {
    let mut dots = (1..file.len()).filter(|&at| file[at] == b'.');
    let known = dots.clone().find(|&dot| exts.contains(&file[dot + 1..].to_ascii_lowercase()));
    let usual = dots.next_back().filter(|&dot| is_usual(&file[dot + 1..]));
    known.or(usual).unwrap_or(file.len())
}

fn is_usual(ext: &[u8]) -> bool {
    USUAL.iter().any(|usual| ext.eq_ignore_ascii_case(usual.as_bytes()))
}

/// Changes the name of a row, or of a list, to the form of `on`. `exts` are the extensions of the samples' files.
pub fn reduce(name: &mut Vec<u8>, on: On, exts: &HashSet<Vec<u8>>) {
    for byte in name.iter_mut().filter(|byte| **byte == b'\\') {
        *byte = b'/';
    }
    let start = name.iter().take_while(|byte| **byte == b'/').count();
    name.drain(..start);
    match on {
        On::Path => {}
        On::Basename => drop(name.drain(..last(name))),
        On::Stem => {
            name.drain(..last(name));
            name.truncate(stem(name, exts));
        }
        On::Key => {
            let file = last(name);
            let length = stem(&name[file..], exts);
            name.truncate(file + length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_samples() {
        let exts: HashSet<Vec<u8>> = ["jpg", "seg.png"].map(|ext| ext.as_bytes().to_vec()).into();
        for (name, on, wanted) in [
            ("/data/cat/1.JPG", On::Stem, "1"),
            ("cat\\1.jpg", On::Path, "cat/1.jpg"),
            ("/cat/1.jpg", On::Key, "cat/1"),
            ("cat/1.bmp", On::Stem, "1"),
            ("cat/1.seg.png", On::Stem, "1"),
            ("v1.5", On::Stem, "v1.5"),
            ("C:\\x\\1.png", On::Basename, "1.png"),
            (".jpg", On::Stem, ".jpg"),
            ("", On::Key, ""),
        ] {
            let mut found = name.as_bytes().to_vec();
            reduce(&mut found, on, &exts);
            assert_eq!(String::from_utf8(found).unwrap(), wanted, "{name}");
        }
    }
}
