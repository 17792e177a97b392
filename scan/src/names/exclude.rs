//! Parses `--exclude`: globs of paths, and `@FILE`, a list of keys.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use tarflume_base::Failure;
use tarflume_formats::KeyList;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::names::exclude_list::Listed;

/// Returns the word's file, if it names one.
fn file(word: &str) -> Option<&str> {
    word.strip_prefix('@')
}

/// Returns the globs among the words. One without a slash, but at its end, is of names in any folder; one that begins with
/// a slash is of the source folder alone, as in .gitignore.
///
/// # Errors
/// Returns an error for an invalid glob pattern.
pub fn globs(words: &[String]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    for glob in words.iter().filter(|word| file(word).is_none()) {
        if let Some(anchored) = glob.strip_prefix('/') {
            let built = GlobBuilder::new(anchored).literal_separator(true).build();
            set.add(built.map_err(bad_glob)?);
            continue;
        }
        set.add(built(glob)?);
        if !glob.trim_end_matches('/').contains('/') {
            set.add(built(&format!("**/{glob}"))?);
        }
    }
    set.build().map_err(bad_glob)
}

fn built(glob: &str) -> Result<Glob, Failure> {
    GlobBuilder::new(glob).literal_separator(false).build().map_err(bad_glob)
}

fn bad_glob(error: globset::Error) -> Failure {
    Failure::usage(message!("{exclude}: {error}"; exclude = Name::Exclude))
}

/// Returns the keys in all files that the words name.
///
/// # Errors
/// Returns an error if a file cannot be read or is not a list.
pub fn listed(words: &[String]) -> Result<Listed, Failure> {
    let mut lists = Vec::new();
    for path in words.iter().filter_map(|word| file(word)) {
        if path.is_empty() {
            return Err(refused(
                path,
                message!("name the file: {exclude}"; exclude = Name::Exclude.is("@keys.txt")),
            ));
        }
        let list = KeyList::read(path).map_err(|e| {
            if e.blame().is_machine() {
                Failure::from(e)
            } else {
                refused(path, Failure::from(e).message())
            }
        })?;
        lists.push(list);
    }
    Ok(Listed::new(lists.iter().flat_map(KeyList::keys)))
}

/// Returns the error for a file of keys.
fn refused(path: &str, text: Message) -> Failure {
    Failure::usage(
        message!("{exclude}: {text}"; text = text, exclude = Name::Exclude.is(format!("@{path}"))),
    )
    .with_file(path)
}

/// Returns the words for the plan: globs unchanged, and one digest of all listed keys, so that a
/// list may move but not change.
pub fn planned(words: &[String], listed: &Listed) -> Vec<String> {
    let globs = words.iter().filter(|word| file(word).is_none()).cloned();
    let digest = (!listed.is_empty()).then(|| format!("@{}", listed.digest()));
    globs.chain(digest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_is_of_names_in_any_folder() {
        for (glob, path, is_match) in [
            ("Thumbs.db", "Thumbs.db", true),
            ("Thumbs.db", "a/b/Thumbs.db", true),
            ("Thumbs.db", "a/xThumbs.db", false),
            ("bird", "bird", true),
            ("raw/", "a/raw/", true),
            ("*.tmp", "a/b.tmp", true),
            ("train*", "a/train.txt", true),
            ("a/Thumbs.db", "b/a/Thumbs.db", false),
            ("raw/**", "a/raw/x", false),
            ("/s*.jpg", "s1.jpg", true),
            ("/s*.jpg", "a/s1.jpg", false),
            ("/s*.jpg", "s/1.jpg", false),
            ("/raw", "raw", true),
        ] {
            let set = globs(&[glob.to_string()]).unwrap();
            assert_eq!(set.is_match(path), is_match, "{glob} {path}");
        }
        assert!(globs(&["[".to_string()]).is_err());
    }
}
