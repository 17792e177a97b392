//! `Refused`: an error of packing, as an exception of `tarflume.errors`.

use std::path::PathBuf;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tarflume_formats::url::without_secrets;
use tarflume_packer::{Exit, Failure, Problem};

use crate::json::from_json;

/// Problems in the exception's text. The exception's list contains all.
const SHOWN: usize = 3;

/// Flags without a value.
const SWITCHES: [&str; 9] = [
    "entry-points",
    "ext-by-content",
    "follow-links",
    "force",
    "fresh",
    "ignore-zeros",
    "per-line",
    "special-tokens",
    "split-special-tokens",
];
/// Flags whose values are text in Python.
const TEXTS: [&str; 9] =
    ["check", "json", "json-rules", "keep-empty", "level", "names", "numbers", "on-problem", "to"];

/// The error of a job.
pub(crate) struct JobFailure {
    exit: Exit,
    text: String,
    problems: Vec<Value>,
}

impl JobFailure {
    pub(crate) fn failure(failure: Failure) -> JobFailure {
        JobFailure { exit: failure.exit, text: failure.text, problems: Vec::new() }
    }

    /// Data with problems; `text` contains the remedy.
    pub(crate) fn problems(text: &str, problems: &[Problem]) -> JobFailure {
        let mut lines: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
        if problems.len() > SHOWN {
            lines.push(format!("... and {} more", problems.len() - SHOWN));
        }
        lines.push(text.to_string());
        let problems = problems.iter().map(Problem::to_value).collect();
        JobFailure { exit: Exit::BadData, text: lines.join("\n"), problems }
    }

    /// Tars and manifests that failed, while `others` were indexed.
    pub(crate) fn failures(refused: &[(PathBuf, Failure)], others: usize) -> JobFailure {
        let any = |exit| refused.iter().any(|(_, failure)| failure.exit == exit);
        let exit = [Exit::BadData, Exit::Barred].into_iter().find(|&exit| any(exit));
        let mut lines: Vec<String> =
            refused.iter().take(SHOWN).map(|(_, failure)| failure.text.clone()).collect();
        if refused.len() > SHOWN {
            lines.push(format!("... and {} more", refused.len() - SHOWN));
        }
        lines.push(format!("{others} other tars were indexed"));
        let problem = |(path, failure): &(PathBuf, Failure)| json!({"path": path.display().to_string(), "reason": failure.text});
        JobFailure {
            exit: exit.unwrap_or(Exit::TryAgain),
            text: lines.join("\n"),
            problems: refused.iter().map(problem).collect(),
        }
    }

    /// The exception.
    pub(crate) fn raised(&self, py: Python<'_>) -> PyErr {
        self.made(py).unwrap_or_else(|failed| failed)
    }

    fn made(&self, py: Python<'_>) -> PyResult<PyErr> {
        let text = keywords(&without_secrets(&self.text));
        let class = match self.exit {
            Exit::Interrupted | Exit::Terminated => {
                return Ok(PyKeyboardInterrupt::new_err(text));
            }
            Exit::Usage => "UsageError",
            Exit::TryAgain => "TryAgainError",
            _ => "PackError",
        };
        let class = py.import("tarflume.errors")?.getattr(class)?;
        let error = class.call1((text,))?;
        if self.exit == Exit::BadData {
            error.setattr("problems", from_json(py, &Value::Array(self.problems.clone()))?)?;
        }
        Ok(PyErr::from_value(error))
    }
}

/// Replaces flags of the command line by keywords. Commands between backquotes do not change.
pub(crate) fn keywords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, behind) = (&rest[..at], &rest[at + 2..]);
        out.push_str(before);
        let in_command = out.matches('`').count() % 2 == 1;
        let begins = out.is_empty() || out.ends_with([' ', '(', '\n']);
        if in_command || !begins {
            out.push_str("--");
            rest = behind;
            continue;
        }
        let end = behind.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let (name, more) = behind.split_at(end.unwrap_or(behind.len()));
        out.push_str(&name.replace('-', "_"));
        rest = more;
        if SWITCHES.contains(&name) {
            out.push_str("=True");
        } else if takes_value(more) {
            out.push('=');
            rest = &more[1..];
            if TEXTS.contains(&name) {
                let value = first_word(rest);
                out.push_str(&quoted(value));
                rest = &rest[value.len()..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The first word of a text, without the punctuation after it.
fn first_word(text: &str) -> &str {
    let word = text.split([' ', '\n']).next().unwrap_or(text);
    word.trim_end_matches([',', ';', ':', '.', ')'])
}

/// A value as Python's text; `skip|quarantine` are two.
fn quoted(value: &str) -> String {
    let words: Vec<String> = value.split('|').map(|word| format!("\"{word}\"")).collect();
    words.join(" or ")
}

/// `--shards 5`, `--on-problem skip|quarantine`; but not `--prefix was 'a'`.
fn takes_value(behind: &str) -> bool {
    let word = behind.strip_prefix(' ').and_then(|behind| behind.split(' ').next());
    word.is_some_and(|word| !matches!(word, "was" | "to" | "and" | "or" | "it" | "the" | ""))
}
