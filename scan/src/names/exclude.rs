//! Parses `--exclude`: globs of paths, and `@FILE`, a list of keys.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tarflume_base::Failure;
use tarflume_formats::KeyList;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::names::exclude_list::Listed;

/// Returns the word's file, if it names one.
fn file(word: &str) -> Option<&str> {
    word.strip_prefix('@')
}

/// Returns the globs among the words.
///
/// # Errors
/// Returns an error for an invalid glob pattern.
pub fn globs(words: &[String]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    for glob in words.iter().filter(|word| file(word).is_none()) {
        set.add(GlobBuilder::new(glob).literal_separator(false).build().map_err(bad_glob)?);
    }
    set.build().map_err(bad_glob)
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
