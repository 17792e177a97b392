//! `Step`: what to do with a path that was named in place of a data set, as a command and as Python.

use std::path::{Path, PathBuf};

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
    pub source: String,
    /// The options, without dashes, with their values: `label` and `folder`.
    pub options: Vec<(&'static str, String)>,
}

impl Build {
    /// Returns the build of a folder of samples. Without JSON, a table, or folders of classes, images are packed alone.
    pub(super) fn of_samples(folder: &Path, samples: &Samples) -> Build {
        let mut options = Vec::new();
        let labels = &samples.labels;
        if let Some(split_by) = &labels.split_by {
            options.push(("split-by", split_by.clone()));
        }
        match (&samples.table, &labels.label) {
            _ if samples.has_json && samples.has_images => {}
            _ if !samples.has_images => options.push(("require", samples.ext.clone())),
            (Some(table), _) => options.push(("join", table.shown().to_string())),
            (None, Some(label)) => options.push(("label", label.clone())),
            (None, None) => options.push(("require", "image".into())),
        }
        Build { source: folder.shown().to_string(), options }
    }

    /// Returns the build of a source that is not a folder of samples.
    pub(super) fn of_source(word: &str, path: &Path) -> Build {
        Build { source: format!("{word}:{}", path.shown()), options: Vec::new() }
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
        let out = word(&shown(out));
        match self {
            Step::Build(build) => {
                let mut text = format!("pack build {} -o {out}", word(&build.source));
                for (name, value) in &build.options {
                    text += &format!(" --{name} {}", word(value));
                }
                text
            }
            Step::Index(folder) => format!("pack index {}", word(&shown(folder))),
            Step::Reshard(path) => {
                format!("pack reshard {} -o {out}", word(&shown(path)))
            }
            Step::Finish(folder) => format!("pack status {}", word(&shown(folder))),
            Step::Name(paths) => named(paths, word),
        }
    }

    /// Returns the step as Python: `tarflume.pack.build("train/", "shards/", label="folder")`. The text of [`Step::Name`]
    /// is a path.
    #[must_use]
    pub fn python(&self) -> String {
        match self {
            Step::Build(build) => {
                let mut text =
                    format!("tarflume.pack.build({}, {}", quoted(&build.source), quoted(OUT));
                for (name, value) in &build.options {
                    text += &format!(", {}={}", name.replace('-', "_"), quoted(value));
                }
                text + ")"
            }
            Step::Index(folder) => format!("tarflume.pack.index({})", quoted(&shown(folder))),
            Step::Reshard(path) => {
                format!("tarflume.pack.reshard({}, {})", quoted(&shown(path)), quoted(OUT))
            }
            Step::Finish(folder) => {
                format!("`pack status {}`", word(&shown(folder)))
            }
            Step::Name(paths) => named(paths, quoted),
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

fn named(paths: &[PathBuf], quote: fn(&str) -> String) -> String {
    let some: Vec<String> = paths.iter().take(NAMED).map(|path| quote(&shown(path))).collect();
    let more = if paths.len() > NAMED { ", ..." } else { "" };
    some.join(", ") + more
}

/// Returns text as one word of a shell.
fn word(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+,:=@%".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns text as a string of Python.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}
