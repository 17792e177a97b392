//! The reports of `pack verify` and the file of `--write-expect`: their paths are checked before the pass, and all are
//! written after it, also after one has failed. While the pass goes on, `live` writes what is known.

use std::io::Write;
use std::path::Path;

use tarflume_base::{Exit, Failure};
use tarflume_formats::Durability;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::shown;
use tarflume_verify::Report;

use crate::cli::output::out;
use crate::cli::output::report_files::{ReportFile, ReportOutput, checked};
use crate::reports::{Findings, ReportForm};

/// What is written after the pass.
pub(super) struct Outputs {
    files: Vec<ReportOutput>,
    /// The form of the report on standard output. Text is printed on standard error beside a report that takes its
    /// place.
    printed: ReportForm,
    takes_stdout: bool,
    expect: Option<OutputFile>,
}

/// What `--write-expect` writes.
const EXPECTATION: OutputKind = OutputKind {
    name: "a file that --write-expect wrote",
    is: |bytes| contains(bytes, "\"tarflume-expect\""),
};

/// What the command line asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The form of the report on standard output.
    pub(super) printed: ReportForm,
    pub(super) reports: &'a [ReportFile],
    /// The file of `--write-expect`.
    pub(super) expect: Option<&'a Path>,
}

impl Outputs {
    /// Checks the paths of all outputs.
    ///
    /// # Errors
    /// Returns an error if an output cannot be written at its path, or if two have one path.
    pub(super) fn of(wanted: Wanted<'_>) -> Result<Outputs, Failure> {
        let mut outputs = Outputs {
            files: Vec::new(),
            printed: wanted.printed,
            takes_stdout: false,
            expect: None,
        };
        for wanted_file in wanted.reports {
            match wanted_file.checked()? {
                Some(output) => outputs.files.push(output),
                None if outputs.takes_stdout || wanted.printed != ReportForm::Text => {
                    let text = "standard output takes one report: give a file to the other with \
                                --report FORMAT=FILE";
                    return Err(Failure::usage(text));
                }
                None => {
                    outputs.printed = wanted_file.form;
                    outputs.takes_stdout = true;
                }
            }
        }
        if let Some(path) = wanted.expect {
            outputs.expect = Some(checked("--write-expect", path, EXPECTATION)?);
        }
        outputs.check_names()?;
        Ok(outputs)
    }

    fn check_names(&self) -> Result<(), Failure> {
        let mut paths = self.files.iter().map(|report| &report.file).chain(&self.expect);
        while let Some(file) = paths.next() {
            if paths.clone().any(|other| other.path() == file.path()) {
                let text = "two outputs have this path; give another one to one of them";
                return Err(Failure::usage(text).in_file(file.path()));
            }
        }
        Ok(())
    }

    /// Returns true if a report is written to a file.
    pub(super) fn have_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Writes the files of reports, each whole, as far as a verification has come.
    ///
    /// # Errors
    /// Returns the first error; the others are tried, too.
    pub(super) fn write_unfinished(&self, report: &Report) -> Result<(), Failure> {
        let written = self.files.iter().map(|ReportOutput { form, file }| {
            file.write(text_of(*form, report).as_bytes(), Durability::Cached)
        });
        let all: Vec<_> = written.collect();
        Ok(all.into_iter().collect::<Result<(), _>>()?)
    }

    /// Writes and prints all outputs. Prints and returns the failures.
    pub(super) fn write(&self, report: &Report, quiet: bool) -> Vec<Failure> {
        let mut failures = Vec::new();
        for ReportOutput { form, file } in &self.files {
            let written = file.write(text_of(*form, report).as_bytes(), Durability::Cached);
            failures.extend(written.err().map(Failure::from));
        }
        failures.extend(self.print(report, quiet).err());
        if report.is_passed() {
            failures.extend(self.write_expect(report).err());
        }
        for failure in &failures {
            print_message!("error: {failure}");
        }
        failures
    }

    fn print(&self, report: &Report, quiet: bool) -> Result<(), Failure> {
        if self.printed == ReportForm::Text && !self.takes_stdout {
            return out::printed(print_text(report, quiet));
        }
        print(&text_of(self.printed, report))?;
        if self.takes_stdout && !(quiet && report.is_passed()) {
            print_message!("{report}");
        } else {
            for what in &report.unchecked {
                print_message!("error: not checked: {}", what.text());
            }
        }
        Ok(())
    }

    fn write_expect(&self, report: &Report) -> Result<(), Failure> {
        let Some(file) = &self.expect else { return Ok(()) };
        report.found.is_complete().map_err(|why| {
            Failure::usage(
                message!("{given}: {why}"; given = Name::WriteExpect.is(file.path()), why = why),
            )
            .with_file(file.path())
        })?;
        Ok(file.write(report.found.to_json().as_bytes(), Durability::Synced)?)
    }
}

/// Returns a report in a form.
fn text_of(form: ReportForm, report: &Report) -> String {
    let text = form.of(&Findings::of(report));
    text.unwrap_or_else(|| match form {
        ReportForm::Json => format!("{}\n", shown::json_lines(report)),
        _ => format!("{report}\n"),
    })
}

fn print(text: &str) -> Result<(), Failure> {
    let mut to = out::stdout();
    out::printed(to.write_all(text.as_bytes()).and_then(|()| to.flush()))
}

fn print_text(report: &Report, quiet: bool) -> std::io::Result<()> {
    let mut to = out::screen();
    if !(quiet && report.is_passed()) {
        writeln!(to, "{report}")?;
    }
    to.flush()
}

/// Returns the exit code: that of problems, also if a report could not be written.
pub(super) fn exit_of(report: &Report, failures: &[Failure]) -> Exit {
    if !report.problems.is_empty() {
        return Exit::Problems;
    }
    let unchecked = if report.is_passed() { Exit::Done } else { Exit::Usage };
    failures.first().map_or(unchecked, |failure| failure.exit())
}

#[cfg(test)]
mod tests {
    use tarflume_base::{Problem, ProblemKind};
    use tarflume_formats::files;

    use super::*;
    use crate::cli::output::report_files::report_file;
    use crate::reports;

    #[test]
    fn a_report_that_cannot_be_written_costs_neither_the_others_nor_the_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone/a.sarif");
        let last = folder.path().join("last.json");
        let given = [format!("sarif={}", gone.display()), format!("json={}", last.display())];
        let given = given.map(|text| report_file(&text).unwrap());
        let wanted = Wanted { printed: ReportForm::Text, reports: &given, expect: None };
        std::fs::create_dir(folder.path().join("gone")).unwrap();
        let outputs = Outputs::of(wanted).unwrap();
        std::fs::remove_dir(folder.path().join("gone")).unwrap();
        let problem = Problem::new(ProblemKind::Digest, "a.tar", "its bytes changed");
        let problems = reports::tests::report(vec![problem]);
        let whole = reports::tests::report(Vec::new());
        for (report, exit) in [(&problems, Exit::Problems), (&whole, Exit::Barred)] {
            let failures = outputs.write(report, true);
            assert_eq!(failures.len(), 1, "{failures:?}");
            assert!(failures[0].text().contains("gone"), "{failures:?}");
            assert_eq!(exit_of(report, &failures), exit);
            assert!(files::exists(&last).unwrap());
            std::fs::remove_file(&last).unwrap();
        }
        assert_eq!(exit_of(&whole, &[]), Exit::Done);
        let unchecked = Report { whole: false, unchecked: vec!["a schema".into()], ..whole };
        assert_eq!(exit_of(&unchecked, &[]), Exit::Usage);
    }
}
