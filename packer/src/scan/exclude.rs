//! What `--exclude` says: globs of paths, and `@FILE`, a list of keys.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tarflume::Exclude;

use super::exclude_list::Listed;
use crate::failure::Failure;

/// The word's file, if it names one.
fn file(word: &str) -> Option<&str> {
    word.strip_prefix('@')
}

/// The globs among the words.
///
/// # Errors
/// A glob that is none.
pub(crate) fn globs(words: &[String]) -> Result<GlobSet, Failure> {
    let refused = |e: globset::Error| Failure::usage(format!("--exclude: {e}"));
    let mut set = GlobSetBuilder::new();
    for glob in words.iter().filter(|word| file(word).is_none()) {
        set.add(GlobBuilder::new(glob).literal_separator(false).build().map_err(refused)?);
    }
    set.build().map_err(refused)
}

/// The keys in all files that the words name.
///
/// # Errors
/// A file that can't be read, or is no list.
pub(crate) fn listed(words: &[String]) -> Result<Listed, Failure> {
    let mut lists = Vec::new();
    for path in words.iter().filter_map(|word| file(word)) {
        let refused = |text: String| Failure::usage(format!("--exclude @{path}: {text}"));
        if path.is_empty() {
            return Err(refused("say which file: --exclude @keys.txt".into()));
        }
        let list = Exclude::file(path).map_err(|e| match e.is_machine() {
            true => Failure::from(e),
            false => refused(Failure::from(e).text),
        })?;
        lists.push(list);
    }
    Ok(Listed::new(lists.iter().flat_map(Exclude::listed)))
}

/// The words as the plan has them: globs as they are, and one digest of all listed keys, so that
/// a list may move but not change.
pub(crate) fn planned(words: &[String], listed: &Listed) -> Vec<String> {
    let globs = words.iter().filter(|word| file(word).is_none()).cloned();
    let digest = (!listed.is_empty()).then(|| format!("@{}", listed.digest()));
    globs.chain(digest).collect()
}
