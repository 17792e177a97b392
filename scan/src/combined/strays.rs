//! `Strays`: files that belong to no sample, counted by their endings. Pure.

use std::collections::BTreeMap;

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

/// Endings that a message names.
const NAMED: usize = 5;
/// Endings that are counted; files of others are counted together.
const COUNTED: usize = 1000;

/// Files of one ending.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ending {
    files: u64,
    first: Vec<u8>,
}

/// Files that belong to no sample.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Strays(BTreeMap<Vec<u8>, Ending>);

impl Strays {
    /// Counts a file.
    pub(super) fn add(&mut self, path: &[u8]) {
        self.count(ending(path), 1, path);
    }

    /// Adds the files of another folder.
    pub(super) fn append(&mut self, other: Strays) {
        for (ending, Ending { files, first }) in other.0 {
            self.count(&ending, files, &first);
        }
    }

    fn count(&mut self, ending: &[u8], files: u64, path: &[u8]) {
        let ending =
            if self.0.len() >= COUNTED && !self.0.contains_key(ending) { b"other" } else { ending };
        let found =
            self.0.entry(ending.to_vec()).or_insert(Ending { files: 0, first: path.into() });
        found.files += files;
        if path < found.first.as_slice() {
            found.first = path.into();
        }
    }

    /// Returns the first file in a folder, of those that are the first of their ending.
    pub(super) fn first_in(&self, folder: &[u8]) -> Option<&[u8]> {
        let firsts = self.0.values().map(|ending| ending.first.as_slice());
        firsts.filter(|first| first.starts_with(folder)).min()
    }

    /// Returns the line of the summary; `None` without files. `why` is what is said of one file, and of several.
    pub(super) fn note(&self, option: Message, why: [&str; 2]) -> Option<Message> {
        let files: u64 = self.0.values().map(|ending| ending.files).sum();
        let mut endings: Vec<_> = self.0.iter().collect();
        endings.sort_by(|a, b| b.1.files.cmp(&a.1.files).then(a.0.cmp(b.0)));
        let named = endings.iter().take(NAMED).map(|(ending, found)| {
            let first = name::shown(&found.first);
            format!("{} {} (the first: {first})", units::count(found.files), name::shown(ending))
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let others = match endings.len().saturating_sub(NAMED) {
            0 => String::new(),
            others => format!(" and {others} other endings"),
        };
        let [one, several] = why;
        let files = match files {
            0 => return None,
            1 => format!("1 file {one} and is not packed"),
            files => format!("{} files {several} and are not packed", units::count(files)),
        };
        Some(message!("{option}: {files}: {named}{others}"; option = option))
    }
}

/// Returns the extension of a file with its point.
fn ending(path: &[u8]) -> &[u8] {
    let file = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    match (file + 1..path.len()).rfind(|&at| path[at] == b'.') {
        Some(dot) => &path[dot..],
        None => b"without extension",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(strays: &Strays) -> Option<String> {
        let why = ["matches no pattern", "match no pattern"];
        strays.note("option".into(), why).map(|note| note.text())
    }

    #[test]
    fn files_are_counted_by_their_endings() {
        let mut strays = Strays::default();
        assert_eq!(note(&strays), None);
        for path in ["a/2.txt", "a/1.txt", "LICENSE", "a/.x"] {
            strays.add(path.as_bytes());
        }
        let mut more = Strays::default();
        more.add(b"a/0.txt");
        strays.append(more);
        let note = note(&strays).unwrap();
        assert!(note.contains("5 files match no pattern and are not packed"), "{note}");
        assert!(note.contains("3 .txt (the first: a/0.txt)"), "{note}");
        assert!(note.contains("2 without extension (the first: LICENSE)"), "{note}");
        assert_eq!(strays.first_in(b"a/"), Some(&b"a/0.txt"[..]));
    }

    #[test]
    fn any_number_of_endings_takes_little_memory() {
        let mut strays = Strays::default();
        for number in 0..3 * COUNTED {
            strays.add(format!("x.{number}").as_bytes());
        }
        assert!(strays.0.len() <= COUNTED + 1);
        assert!(note(&strays).unwrap().contains("other endings"));
    }
}
