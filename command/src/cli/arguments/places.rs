//! A place that was named in place of another: a folder of images where a data set is expected, a data set or a table
//! where a folder to pack is expected. Says what it is, and prints the command that is right.

use std::path::{Path, PathBuf};

use tarflume_base::{Exit, Failure};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Face, Task};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::url::url_of;
use tarflume_packer::recognize::{PathKind, Step, already_packed, recognize};

/// The folder of new shards in a command.
pub(in crate::cli) const OUT: &str = "shards/";

/// What a command takes beside data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Takes {
    /// Data sets, and single tars.
    DataSets,
    /// Folders of tars, too.
    Tars,
    /// Folders of tars, and folders above data sets, too.
    Nested,
}

/// Returns the failure of a command that needs data sets, with what a place is if it is none.
pub(in crate::cli) fn no_data_set<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
    takes: Takes,
    failure: Failure,
) -> Failure {
    no_shards(paths, takes, Path::new(OUT), failure)
}

/// As [`no_data_set`], for a command that writes shards to `out`.
pub(in crate::cli) fn no_shards<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
    takes: Takes,
    out: &Path,
    failure: Failure,
) -> Failure {
    for path in paths {
        let Some((kind, step)) = misplaced(path, &failure) else { continue };
        match kind {
            PathKind::DataSet | PathKind::Tar { .. } | PathKind::Missing | PathKind::Unfinished => {
            }
            PathKind::Tars { .. } | PathKind::CompressedTar if takes != Takes::DataSets => {}
            PathKind::Parent(_) if takes == Takes::Nested => {}
            kind => return told(path, &kind.name(), &step, out),
        }
    }
    failure
}

/// Returns the failure of a build, with what a source is if it is no folder of samples.
pub(in crate::cli) fn no_source(sources: &[PathBuf], out: &Path, failure: Failure) -> Failure {
    for path in sources {
        let Some((kind, step)) = misplaced(path, &failure) else { continue };
        let what = kind.name();
        if let Some(failure) = already_packed(path, &kind, out) {
            return failure;
        }
        let step =
            step.filter(|_| matches!(kind, PathKind::Source { .. } | PathKind::SampleFile(_)));
        if let Some(step) = step {
            let verb = step.verb();
            let command = step.command_into(out);
            return Failure::usage(message!(
                "{path} is {what}, not a folder of samples; {verb} `{command}`";
                path = path
            ))
            .with_file(path);
        }
    }
    failure
}

/// Returns the command for a place that was named without one.
pub(in crate::cli) fn without_command(path: &Path, out: &Path) -> Option<String> {
    let kind = recognize(path).ok()?;
    let command = match &kind {
        PathKind::Missing => return None,
        PathKind::DataSet | PathKind::Tar { has_sidecar: true } => info(path),
        kind => match kind.step(path)? {
            Step::Name(paths) => info(paths.first()?),
            step => step.command_into(out),
        },
    };
    Some(format!("{} is {}; the command is missing: {command}", path.shown(), kind.name()))
}

/// Returns the command that describes a data set.
fn info(path: &Path) -> String {
    Call::of(Task::Info).on_path(path).in_face(Face::Command)
}

/// Returns what a local place is, and the step for it, if a failure is about what was named.
fn misplaced(path: &Path, failure: &Failure) -> Option<(PathKind, Option<Step>)> {
    let is_of_place =
        matches!(failure.exit(), Exit::Usage | Exit::BadData) && url_of(path).is_none();
    // The failure of the command is the one to show if the place cannot be examined.
    let kind = is_of_place.then(|| recognize(path).ok()).flatten()?;
    let step = kind.step(path);
    Some((kind, step))
}

fn told(path: &Path, what: &str, step: &Option<Step>, out: &Path) -> Failure {
    let next = match step {
        Some(step @ Step::Name(_)) => format!("; {} {}", step.verb(), step.command()),
        Some(step) => format!("; {} `{}`", step.verb(), step.command_into(out)),
        None => String::new(),
    };
    Failure::usage(message!("{path} is {what}, not a data set{next}"; path = path)).with_file(path)
}
