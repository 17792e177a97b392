//! `Outputs`: the reports of `pack dedupe` in files. Each is written before the search, when it says that the search has not
//! finished, and whole after it.

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::output::{OutputKind, contains};

use super::found::Listed;
use crate::cli::output::report_files::{ReportFile, ReportOutput};
use crate::reports::{Findings, ReportForm};

/// The forms that are lists with a line for each duplicate.
pub(super) const LINES: [ReportForm; 2] = [ReportForm::Text, ReportForm::Json];

const UNFINISHED: &str = "the search for duplicates has not finished";

const TEXT: OutputKind = OutputKind {
    name: "a list of duplicates as text",
    is: |bytes| contains(bytes, " with equal bytes, ") || contains(bytes, UNFINISHED),
};

const JSON: OutputKind = OutputKind {
    name: "a list of duplicates as JSON",
    is: |bytes| {
        bytes.starts_with(b"{")
            && (contains(bytes, "\"exact\":") || contains(bytes, "\"finished\":"))
    },
};

/// A report in a file, and the lines of those that are lists.
struct Output {
    report: ReportOutput,
    lines: String,
}

/// The reports in files.
pub(super) struct Outputs(Vec<Output>);

impl Outputs {
    /// Checks the paths of all reports, and writes each for the first time.
    ///
    /// # Errors
    /// Returns an error if one cannot be written, if two have one path, and for standard output.
    pub(super) fn begin(wanted: &[ReportFile]) -> Result<Outputs, Failure> {
        let mut outputs: Vec<Output> = Vec::new();
        for file in wanted {
            let checked = match file.form {
                ReportForm::Text => file.checked_as(TEXT),
                ReportForm::Json => file.checked_as(JSON),
                _ => file.checked(),
            };
            let Some(report) = checked? else {
                return Err(Failure::usage(
                    "--report takes files; --format has the form of standard output",
                ));
            };
            if outputs.iter().any(|other| other.report.file.path() == report.file.path()) {
                let text = "two reports have this path; give another one to one of them";
                return Err(Failure::usage(text).in_file(report.file.path()));
            }
            outputs.push(Output { report, lines: String::new() });
        }
        for Output { report, .. } in &outputs {
            let text = report.form.of(&unfinished()).unwrap_or_else(|| match report.form {
                ReportForm::Json => "{\"finished\": false}\n".into(),
                _ => format!("not checked: {UNFINISHED}\n"),
            });
            report.file.write(text.as_bytes(), Durability::Cached)?;
        }
        Ok(Outputs(outputs))
    }

    /// Returns true if there is a report that lists problems.
    pub(super) fn list_problems(&self) -> bool {
        self.0.iter().any(|output| !is_of_lines(output.report.form))
    }

    /// Adds a line to each list in this form.
    pub(super) fn add_line(&mut self, form: ReportForm, line: impl Fn() -> String) {
        for Output { report, lines } in &mut self.0 {
            if report.form == form {
                lines.push_str(&line());
                lines.push('\n');
            }
        }
    }

    /// Writes the reports. All are tried.
    ///
    /// # Errors
    /// Returns the first error.
    pub(super) fn write(
        self,
        listed: &Listed,
        summary: &str,
        duplicates: u64,
    ) -> Result<(), Failure> {
        let written = self.0.into_iter().map(|Output { report, lines }| {
            let text = listed.report(report.form, summary, duplicates).unwrap_or(lines);
            report.file.write(text.as_bytes(), Durability::Cached)
        });
        let all: Vec<_> = written.collect();
        Ok(all.into_iter().collect::<Result<(), _>>()?)
    }
}

/// Returns true for the forms of [`LINES`].
pub(super) fn is_of_lines(form: ReportForm) -> bool {
    LINES.contains(&form)
}

fn unfinished() -> Findings<'static> {
    Findings {
        tool: "pack dedupe",
        summary: UNFINISHED.into(),
        coverage: None,
        is_passed: false,
        problems: &[],
        warnings: &[],
        unlisted: 0,
        unchecked: vec![format!("not checked: {UNFINISHED}")],
        cases: &[],
    }
}
