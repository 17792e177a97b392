//! `distinct`: names of files, which begin at the last component of a given path where that suffices.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use tarflume_formats::name;

/// A file or folder for a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GivenPlace<'a> {
    /// The number of the given path that it is, or is below.
    pub(crate) given: usize,
    /// Its path below the given one, with a slash before; empty for the given path itself.
    pub(crate) below: &'a str,
}

/// Returns a name for each of `places`: the end of a path of `given`, and what is below it.
///
/// A name has the last component of the given path. Where two different given paths lead to one name, it
/// has as many components as are necessary.
pub(crate) fn distinct(given: &[PathBuf], places: &[GivenPlace<'_>]) -> Vec<String> {
    let given: Vec<PathBuf> = given.iter().map(|path| plain(path)).collect();
    let mut taken: Vec<usize> = vec![1; given.len()];
    loop {
        let ends: Vec<String> =
            given.iter().zip(&taken).map(|(path, &taken)| end(path, taken)).collect();
        let names: Vec<String> =
            places.iter().map(|place| format!("{}{}", ends[place.given], place.below)).collect();
        let mut longer = false;
        for number in clashing(&given, places, &names) {
            if taken[number] < given[number].components().count() {
                taken[number] += 1;
                longer = true;
            }
        }
        if !longer {
            return names;
        }
    }
}

/// Returns the numbers of given paths with a name that another path has, too, each once.
fn clashing(given: &[PathBuf], places: &[GivenPlace<'_>], names: &[String]) -> Vec<usize> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for (place, name) in places.iter().zip(names) {
        let other = *first.entry(name).or_insert(place.given);
        if given[other] != given[place.given] {
            found.extend([other, place.given]);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns a path without the components that stay in their folder.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|&component| component != Component::CurDir).collect()
}

/// Returns the last components of a path, with escapes for other bytes; `.` for a path without a name.
fn end(path: &Path, taken: usize) -> String {
    let components: Vec<Component<'_>> = path.components().collect();
    if path.file_name().is_none() && taken == 1 {
        return ".".into();
    }
    let from = components.len().saturating_sub(taken);
    let last: PathBuf = components[from..].iter().collect();
    name::shown(last.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[&str], places: &[(usize, &str)]) -> Vec<String> {
        let given: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
        let places: Vec<GivenPlace<'_>> =
            places.iter().map(|&(given, below)| GivenPlace { given, below }).collect();
        distinct(&given, &places)
    }

    #[test]
    fn only_names_that_clash_are_longer() {
        let files = [(0, ""), (1, ""), (2, "")];
        assert_eq!(
            names(&["x/a.jsonl", "y/a.jsonl", "y/b.jsonl"], &files),
            ["x/a.jsonl", "y/a.jsonl", "b.jsonl"]
        );
        assert_eq!(
            names(&["p/x/a.txt", "q/x/a.txt", "a.txt"], &files),
            ["p/x/a.txt", "q/x/a.txt", "a.txt"]
        );
        let folders = [(0, "/a.txt"), (0, "/b.txt"), (1, "/b.txt"), (2, "")];
        assert_eq!(
            names(&["x/texts", "y/texts", "texts/c.txt"], &folders),
            ["x/texts/a.txt", "x/texts/b.txt", "y/texts/b.txt", "c.txt"]
        );
    }

    #[test]
    fn a_path_that_is_given_twice_keeps_its_name() {
        let files = [(0, ""), (1, "")];
        assert_eq!(names(&["x/a.txt", "x/a.txt"], &files), ["a.txt", "a.txt"]);
        assert_eq!(names(&["x/a.txt", "./x/a.txt"], &files), ["a.txt", "a.txt"]);
        assert_eq!(names(&[".", "/"], &[(0, "/a"), (1, "/b")]), ["./a", "./b"]);
    }
}
