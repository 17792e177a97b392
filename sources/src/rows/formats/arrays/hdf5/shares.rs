//! Several files of one source: whether they follow one another or lie side by side, and which of the chosen data sets
//! each of them has.

use std::path::Path;

use hdf5_reader::error::Error;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;

use super::file::{self, OpenFile, all, guarded};
use super::link::instead;
use crate::rows::columns::choice::{Choice, chosen};
use crate::rows::url::SourceUrl;

/// The data sets of each file.
pub(super) struct Shares {
    pub(super) files: Vec<Vec<Choice>>,
    /// True if a sample is one row of each file.
    pub(super) side_by_side: bool,
}

impl Shares {
    /// Returns which of the chosen data sets each file has.
    ///
    /// # Errors
    /// Returns an error for a file that is not HDF5, and for files that have some data sets in common and not all.
    pub(super) fn of(source: &SourceUrl) -> Result<Shares, Failure> {
        let paths = &source.files;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let opened = file::open(path)?;
            let choices = chosen(source, || all(&opened.file, path))?;
            files.push(match paths.len() {
                1 => choices,
                _ => present(choices, &opened, path, paths)?,
            });
        }
        let sets: Vec<Vec<String>> = files.iter().map(|choices| names(choices)).collect();
        let mut everything: Vec<&String> = sets.iter().flatten().collect();
        let count = everything.len();
        everything.sort_unstable();
        everything.dedup();
        if let Some(lost) = lost(source, &everything)? {
            // Opening it gives the error.
            files[0] = vec![lost];
            return Ok(Shares { files, side_by_side: false });
        }
        let is_same = sets.iter().all(|set| is_same_set(set, &sets[0]));
        let is_apart = everything.len() == count && sets.iter().all(|set| !set.is_empty());
        if !is_same && !is_apart {
            return Err(mixed(&sets, paths));
        }
        Ok(Shares { files, side_by_side: !is_same })
    }
}

fn names(choices: &[Choice]) -> Vec<String> {
    choices.iter().map(|choice| choice.dataset.clone()).collect()
}

/// Returns the named data set that no file has.
fn lost(source: &SourceUrl, found: &[&String]) -> Result<Option<Choice>, Failure> {
    let named = chosen(source, || Ok(Vec::new()))?.into_iter();
    let mut named = named.map(|mut choice| {
        choice.dataset = own_name(&choice.dataset).into();
        choice
    });
    Ok(named.find(|choice| !found.contains(&&choice.dataset)))
}

/// Returns the part of a name after the file that it begins with: `/x` of `x.h5:/x`.
fn own_name(name: &str) -> &str {
    name.split_once(":/").map_or(name, |(file, _)| &name[file.len() + 1..])
}

fn is_same_set(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// Returns those of the choices that a file has.
fn present(
    choices: Vec<Choice>,
    opened: &OpenFile,
    path: &Path,
    paths: &[std::path::PathBuf],
) -> Result<Vec<Choice>, Failure> {
    let mut kept = Vec::with_capacity(choices.len());
    for mut choice in choices {
        if let Some((file, _)) = choice.dataset.split_once(":/") {
            if !paths.iter().any(|path| path.ends_with(file)) {
                return Err(Failure::usage(format!(
                    "{}: no file of the source is named '{file}'",
                    choice.dataset
                ))
                .in_file(path));
            }
            if !path.ends_with(file) {
                continue;
            }
            choice.dataset = own_name(&choice.dataset).into();
            kept.push(choice);
            continue;
        }
        // Another error is that of the data set, when it is opened.
        let found = guarded(|| opened.file.dataset(&choice.dataset));
        let is_missing = found.err().is_some_and(|error| is_missing(&error));
        if !is_missing || instead(&opened.file, &choice.dataset, path).is_some() {
            kept.push(choice);
        }
    }
    Ok(kept)
}

/// Returns true for the error of a name that a file has not.
fn is_missing(error: &Error) -> bool {
    match error {
        Error::DatasetNotFound(_) | Error::GroupNotFound(_) => true,
        Error::Context { source, .. } => is_missing(source),
        _ => false,
    }
}

/// Returns the error for files that have some data sets in common and not all.
fn mixed(sets: &[Vec<String>], paths: &[std::path::PathBuf]) -> Failure {
    let other = sets.iter().position(|set| !is_same_set(set, &sets[0])).unwrap_or(0);
    let odd = sets[0].iter().find(|name| !sets[other].contains(name));
    let odd = odd.or_else(|| sets[other].iter().find(|name| !sets[0].contains(name)));
    let odd = odd.map_or("", String::as_str);
    Failure::usage(message!(
        "{path} and {} differ in {odd}: files with the same data sets follow one another, and files without a common one \
         lie side by side; name the data sets of each, or pack them as different data sets",
        paths[other].shown();
        path = &paths[0]
    ))
    .with_file(&paths[0])
}
