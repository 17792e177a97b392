//! `Refused`: an error of packing, as an exception of `tarflume.errors`.

use std::path::PathBuf;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tarflume_formats::url::without_secrets;
use tarflume_packer::{Exit, Failure, Problem};

use crate::flags::keywords;
use crate::json::from_json;

/// Problems in the exception's text. The exception's list contains all.
const SHOWN: usize = 3;

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
