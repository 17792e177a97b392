//! Expands the names of a source to files: braces, globs, and the files of a folder, each sorted by
//! bytes. Checks which files exist; opens none.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};
use tarflume_base::Failure;
use tarflume_dataset::expand_braces;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::message;

/// The endings of a kind's files in a folder; `None` if the source is the folder itself.
pub(super) type Endings = Option<&'static [&'static str]>;

/// Returns the files that a name stands for. A name that exists is taken as it is; a name without
/// wildcards need not exist, so that the message about it is that of the reader.
///
/// # Errors
/// Returns an error for unbalanced braces, a pattern or a folder without files, and if the
/// operating system refuses.
pub(super) fn files(endings: Endings, name: &str) -> Result<Vec<PathBuf>, Failure> {
    let literal = absolute(name)?;
    if files::exists(&literal)? {
        return inside(endings, literal);
    }
    let names = expand_braces(name).map_err(|e| Failure::usage(format!("'{name}': {e}")))?;
    let mut found = Vec::new();
    for name in names {
        let path = absolute(&name)?;
        if name.contains(['*', '[']) && !files::exists(&path)? {
            for path in matching(&name)? {
                found.extend(inside(endings, path)?);
            }
        } else {
            found.extend(inside(endings, path)?);
        }
    }
    Ok(found)
}

pub(super) fn absolute(name: &str) -> Result<PathBuf, Failure> {
    std::path::absolute(name).map_err(|e| Failure::io(e, "find the file", name))
}

/// Returns the paths that a glob matches.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let mut found = Vec::new();
    for path in glob_with(pattern, options).map_err(|e| wrong(e, pattern))? {
        let path = path.map_err(|e| {
            let path = e.path().to_path_buf();
            Failure::io(e.into(), "read the folder", path)
        })?;
        found.push(std::path::absolute(&path).map_err(|e| Failure::io(e, "find the file", &path))?);
    }
    if found.is_empty() {
        return Err(Failure::usage(format!("no file matches '{pattern}'; quote it for the shell")));
    }
    sort(&mut found);
    Ok(found)
}

fn wrong(e: glob::PatternError, pattern: &str) -> Failure {
    Failure::usage(format!("'{pattern}': {e}"))
}

/// Returns the source files in a folder, if `path` is one and the kind is not a folder itself.
fn inside(endings: Endings, path: PathBuf) -> Result<Vec<PathBuf>, Failure> {
    let Some(endings) = endings else { return Ok(vec![path]) };
    if !files::is_folder(&path)? {
        return Ok(vec![path]);
    }
    let mut found = Vec::new();
    for entry in patiently(|| std::fs::read_dir(&path))
        .map_err(|e| Failure::io(e, "read the folder", &path))?
    {
        let name = entry.map_err(|e| Failure::io(e, "read the folder", &path))?.file_name();
        let bytes = name.as_bytes();
        if !bytes.starts_with(b".") && has_ending(bytes, endings) {
            found.push(path.join(name));
        }
    }
    if found.is_empty() {
        return Err(Failure::usage(message!(
            "the folder {path} has no {} file; name the files",
            endings.join(" or ");
            path = &path
        ))
        .with_file(path));
    }
    sort(&mut found);
    Ok(found)
}

/// Returns true for a name with one of these endings, also before the number of a shard: `x.tfrecord-00000-of-00010`.
pub(super) fn has_ending(name: &[u8], endings: &[&str]) -> bool {
    let name = without_shard_number(name);
    endings.iter().any(|end| name.len() > end.len() && name.ends_with(end.as_bytes()))
}

/// Returns a name without `-00000-of-00010` at its end.
fn without_shard_number(name: &[u8]) -> &[u8] {
    let of = without_digits(name).and_then(|rest| rest.strip_suffix(b"-of-"));
    let stem = of.and_then(without_digits).and_then(|rest| rest.strip_suffix(b"-"));
    stem.unwrap_or(name)
}

/// Returns a name without the digits at its end; `None` if there are none.
fn without_digits(name: &[u8]) -> Option<&[u8]> {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &name[..name.len() - digits])
}

fn sort(paths: &mut [PathBuf]) {
    paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
}

/// Refuses a text that begins with a word and a colon and is not the path of anything.
///
/// # Errors
/// Returns an error that lists the kinds of sources.
pub(super) fn refuse_unknown_kind(path: &Path, text: &str, kinds: &str) -> Result<(), Failure> {
    let Some((word, _)) = text.split_once(':') else { return Ok(()) };
    let is_word =
        word.len() > 1 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !is_word || files::exists(path)? {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "'{word}:' is no kind of source, and no folder has this name; the kinds are {kinds}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_globs_and_folders_give_files_in_the_order_of_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.tar", "a.tar", "a10.tar", "a2.tar", "x.txt", ".hidden.tar", "odd*.tar"] {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        let folder = format!("{}/", dir.path().display());
        for (pattern, names) in [
            ("a*.tar", &["a.tar", "a10.tar", "a2.tar"][..]),
            ("{b,a}.tar", &["b.tar", "a.tar"]),
            ("{08..10}.tar", &["08.tar", "09.tar", "10.tar"]),
            ("odd*.tar", &["odd*.tar"]), // a name that exists is no pattern
            ("", &["a.tar", "a10.tar", "a2.tar", "b.tar", "odd*.tar"]),
        ] {
            let found = files(Some(&[".tar"]), &format!("{folder}{pattern}")).unwrap();
            let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
            assert_eq!(found, names, "{pattern}");
        }
        let numbered = [".tfrecord"];
        assert!(has_ending(b"x.tfrecord-00000-of-00010", &numbered));
        assert!(has_ending(b"x.tfrecord", &numbered));
        for other in ["x.tfrecord-1", "x.tfrecord-of-1", "x.tfrecord-00000-of-", ".tfrecord-0-of-1"]
        {
            assert!(!has_ending(other.as_bytes(), &numbered), "{other}");
        }
        let none = files(Some(&[".tar"]), &format!("{folder}z*.tar")).unwrap_err();
        assert!(none.text().contains("no file matches"), "{none}");
        let none = files(Some(&[".zip"]), &folder).unwrap_err();
        assert!(none.text().contains("has no .zip file"), "{none}");
        assert_eq!(files(None, &folder).unwrap().len(), 1);
    }
}
