//! Files that `--report FORMAT=FILE` names: their paths are checked before the work, and all are written after it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rustix::fs::Access;
use tarflume_base::Failure;
use tarflume_formats::files::{self, FileKind};
use tarflume_formats::message;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::publish::folder_of;

use crate::reports::ReportForm;

/// A report to be written; without a path, to standard output.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ReportFile {
    pub(in crate::cli) form: ReportForm,
    path: Option<PathBuf>,
}

/// Parses `FORMAT=FILE`.
pub(in crate::cli) fn report_file(text: &str) -> Result<ReportFile, String> {
    let (form, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| wrong_report(text))?;
    let form = <ReportForm as ValueEnum>::from_str(form, false).map_err(|_| wrong_report(text))?;
    Ok(ReportFile { form, path: (path != "-").then(|| path.into()) })
}

fn wrong_report(text: &str) -> String {
    let words: Vec<String> = ReportForm::value_variants()
        .iter()
        .filter_map(|form| Some(form.to_possible_value()?.get_name().to_string()))
        .collect();
    format!("'{text}': give FORMAT=FILE with one of {}", words.join(", "))
}

/// A report on its way to a file.
pub(in crate::cli) struct ReportOutput {
    pub(in crate::cli) form: ReportForm,
    pub(in crate::cli) file: OutputFile,
}

impl ReportFile {
    /// Checks that the report can be written; `None` for standard output.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub(in crate::cli) fn checked(&self) -> Result<Option<ReportOutput>, Failure> {
        self.checked_as(kind_of(self.form))
    }

    /// As [`ReportFile::checked`], for a command whose reports in this form are known again as `kind`.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub(in crate::cli) fn checked_as(
        &self,
        kind: OutputKind,
    ) -> Result<Option<ReportOutput>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        let file = checked("--report", path, kind)?;
        Ok(Some(ReportOutput { form: self.form, file }))
    }
}

/// Checks that a file of this kind can be written at a path: its folder exists and admits files.
pub(in crate::cli) fn checked(
    option: &str,
    path: &Path,
    kind: OutputKind,
) -> Result<OutputFile, Failure> {
    let file = OutputFile::new(path, kind)
        .map_err(|error| Failure::from(error).after(format!("{option} ")))?;
    let folder = folder_of(path);
    if files::kind(folder)? != Some(FileKind::Folder) {
        let text = message!(
            "{option} {path}: there is no folder {folder}; create it, or give another path";
            path = path,
            folder = folder
        );
        return Err(Failure::usage(text).with_file(path));
    }
    match rustix::fs::access(folder, Access::WRITE_OK) {
        Ok(()) => Ok(file),
        Err(error) => Err(Failure::io(error.into(), "write a file in the folder", folder)),
    }
}

/// Returns how files of a form are known again.
fn kind_of(form: ReportForm) -> OutputKind {
    match form {
        ReportForm::Text => OutputKind {
            name: "a report as text",
            is: |bytes| {
                has(bytes, [" shard, ", " shards, "])
                    && has(bytes, [" sample, ", " samples, "])
                    && has(bytes, [": whole", " problem"])
            },
        },
        ReportForm::Json => OutputKind {
            name: "a report as JSON",
            is: |bytes| bytes.starts_with(b"{") && contains(bytes, "\"shards_without_checksums\""),
        },
        ReportForm::Junit => OutputKind {
            name: "a report in JUnit's XML",
            is: |bytes| bytes.starts_with(b"<") && contains(bytes, "<testsuite"),
        },
        ReportForm::Sarif => OutputKind {
            name: "a report in SARIF",
            is: |bytes| bytes.starts_with(b"{") && contains(bytes, "sarif"),
        },
        ReportForm::Github => {
            OutputKind { name: "a list of annotations", is: |bytes| bytes.starts_with(b"::") }
        }
        ReportForm::Gitlab => OutputKind {
            name: "a list of issues for GitLab",
            is: |bytes| bytes == b"[]\n" || contains(bytes, "\"check_name\""),
        },
        ReportForm::Markdown => OutputKind {
            name: "a report in Markdown",
            is: |bytes| ["✅", "❌"].iter().any(|mark| bytes.starts_with(mark.as_bytes())),
        },
    }
}

fn has(bytes: &[u8], words: [&str; 2]) -> bool {
    words.iter().any(|word| contains(bytes, word))
}
