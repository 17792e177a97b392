//! `Step`: what to do with a path that was named in place of a data set, as a command and as Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tarflume_formats::message::{Call, Face, Name, Setting, Task, python_text, shell_text};
use tarflume_formats::shown::ShowPath;

use super::kind::Samples;

/// The folder of the new shards in an example.
const OUT: &str = "shards/";
/// Data sets that a message names.
const NAMED: usize = 4;

/// The step from a path to a data set that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Pack it.
    Build(Build),
    /// Make the sidecars of the tars in a folder.
    Index(PathBuf),
    /// Pack the samples of compressed tars into shards.
    Reshard(PathBuf),
    /// Run the build of this folder again, which goes on where it ended.
    Finish(PathBuf),
    /// Name one of these instead.
    Name(Vec<PathBuf>),
}

/// A build: its source, and the options that the source needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// A folder, or a kind of source and its file: `csv:labels.csv`.
    pub source: PathBuf,
    /// The settings.
    pub settings: Vec<Setting>,
}

impl Build {
    /// Returns the build of a folder of samples. Without JSON, a table, or folders of classes, images are packed alone.
    pub(super) fn of_samples(folder: &Path, samples: &Samples) -> Build {
        let mut settings = Vec::new();
        let labels = &samples.labels;
        if let Some(yolo) = &samples.yolo {
            settings.push(Name::Pair.pairs([yolo.pattern.as_str()]));
            settings.extend(yolo.split_by.as_ref().map(|split_by| Name::SplitBy.is(split_by)));
            settings.push(Name::Yolo.is(folder));
            settings.extend(yolo.names.as_ref().map(|names| Name::YoloNames.is(names)));
            return Build { source: folder.into(), settings };
        }
        if let Some(split_by) = &labels.split_by {
            settings.push(Name::SplitBy.is(split_by));
        }
        match (&samples.table, &labels.label) {
            _ if samples.has_json && samples.has_images => {}
            _ if !samples.has_images => settings.push(Name::Require.is(&samples.ext)),
            (Some(table), _) => settings.push(Name::Join.is(table)),
            (None, Some(label)) => settings.push(Name::Label.is(label)),
            (None, None) => settings.push(Name::Require.is("image")),
        }
        Build { source: folder.into(), settings }
    }

    /// Returns the build of a source that is not a folder of samples.
    pub(super) fn of_source(word: &str, path: &Path) -> Build {
        let mut source = OsString::from(format!("{word}:"));
        source.push(path);
        Build { source: source.into(), settings: Vec::new() }
    }
}

impl Step {
    /// Returns the step as a command: `pack build train/ -o shards/ --label folder`. The text of [`Step::Name`] is a path.
    #[must_use]
    pub fn command(&self) -> String {
        self.command_into(Path::new(OUT))
    }

    /// As [`Step::command`], with the folder of the new shards.
    #[must_use]
    pub fn command_into(&self, out: &Path) -> String {
        match self.call(out) {
            Ok(call) => call.in_face(Face::Command),
            Err(paths) => named(paths, shell_text),
        }
    }

    /// Returns the task with its arguments, or the paths of which one is to be named.
    fn call(&self, out: &Path) -> Result<Call, &[PathBuf]> {
        Ok(match self {
            Step::Build(build) => {
                let call = Call::of(Task::Build).on_path(&build.source).out_path(out);
                build.settings.iter().cloned().fold(call, Call::with)
            }
            Step::Index(folder) => Call::of(Task::Index).on_path(folder),
            Step::Reshard(path) => Call::of(Task::Reshard).on_path(path).out_path(out),
            Step::Finish(folder) => Call::of(Task::Status).on_path(folder),
            Step::Name(paths) => return Err(paths),
        })
    }

    /// Returns the step as Python: `tarflume.pack.build("train/", "shards/", label="folder")`. The text of [`Step::Name`]
    /// is a path.
    #[must_use]
    pub fn python(&self) -> String {
        match (self, self.call(Path::new(OUT))) {
            // Python has no function for it.
            (Step::Finish(_), Ok(call)) => format!("`{}`", call.in_face(Face::Python)),
            (_, Ok(call)) => call.in_face(Face::Python),
            (_, Err(paths)) => named(paths, python_text),
        }
    }

    /// Returns the verb of the step, before its text: `pack it with`.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Step::Build(_) | Step::Reshard(_) => "pack it with",
            Step::Index(_) => "make its sidecars with",
            Step::Finish(_) => "run the same build again; what is left to do is shown by",
            Step::Name(paths) if paths.len() == 1 => "name",
            Step::Name(_) => "name one of them:",
        }
    }
}

fn shown(path: &Path) -> String {
    path.shown().to_string()
}

fn named(paths: &[PathBuf], quote: impl Fn(&str) -> String) -> String {
    let some: Vec<String> = paths.iter().take(NAMED).map(|path| quote(&shown(path))).collect();
    let more = if paths.len() > NAMED { ", ..." } else { "" };
    some.join(", ") + more
}
