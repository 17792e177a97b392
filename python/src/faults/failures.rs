//! `Refused`: an error of packing, as an exception of `tarflume.errors`.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tarflume_base::{Exit, Failure, Problem};
use tarflume_formats::Place;
use tarflume_formats::message::{Face, Message};
use tarflume_formats::shown;
use tarflume_formats::url::without_secrets;

use crate::faults::errors::place_of;
use crate::faults::json::from_json;

/// Problems in the exception's text. The exception's list contains all.
const SHOWN: usize = 3;

/// The error of a job.
pub(crate) struct JobFailure {
    exit: Exit,
    /// In the words of Python.
    text: String,
    problems: Vec<Value>,
    place: Place,
}

impl JobFailure {
    pub(crate) fn failure(failure: Failure) -> JobFailure {
        let text = failure.text_in(Face::Python);
        let place = failure.place().clone();
        JobFailure { exit: failure.exit(), text, problems: Vec::new(), place }
    }

    /// Data with problems; `text` contains the remedy.
    pub(crate) fn problems(text: impl Into<Message>, problems: &[Problem]) -> JobFailure {
        let shown = problems.iter().take(SHOWN).map(|problem| problem.text_in(Face::Python));
        let text = lines(shown, problems.len(), &in_python(&text.into()));
        let problems = problems.iter().map(|problem| problem.to_value(Face::Python)).collect();
        JobFailure { exit: Exit::BadData, text, problems, place: Place::default() }
    }

    /// Tars and manifests that failed, while `others` were indexed.
    pub(crate) fn failures(refused: &[(PathBuf, Failure)], others: usize) -> JobFailure {
        let mut exits = [Exit::BadData, Exit::Barred].into_iter();
        let exit = exits.find(|exit| refused.iter().any(|(_, failure)| failure.exit() == *exit));
        let shown = refused.iter().take(SHOWN).map(|(_, failure)| failure.text_in(Face::Python));
        let foot = format!("{others} other tars were indexed");
        JobFailure {
            exit: exit.unwrap_or(Exit::TryAgain),
            text: lines(shown, refused.len(), &foot),
            problems: refused.iter().map(|(path, failure)| refusal(path, failure)).collect(),
            place: match refused {
                [(_, failure)] => failure.place().clone(),
                _ => Place::default(),
            },
        }
    }

    /// The exception.
    pub(crate) fn raised(&self, py: Python<'_>) -> PyErr {
        self.made(py).unwrap_or_else(|failed| failed)
    }

    fn made(&self, py: Python<'_>) -> PyResult<PyErr> {
        let text = shown::message(&self.text).to_string();
        let class = match self.exit {
            Exit::Interrupted | Exit::Terminated => {
                return Ok(PyKeyboardInterrupt::new_err(text));
            }
            Exit::Usage => "UsageError",
            Exit::TryAgain => "TryAgainError",
            _ => "PackError",
        };
        let class = py.import("tarflume.errors")?.getattr(class)?;
        let error = class.call((text,), Some(&place_of(py, &self.place)?))?;
        if self.exit == Exit::BadData {
            error.setattr("problems", from_json(py, &Value::Array(self.problems.clone()))?)?;
        }
        Ok(PyErr::from_value(error))
    }
}

/// A message in the words of Python.
pub(crate) fn in_python(message: &Message) -> String {
    message.in_face(Face::Python)
}

/// The first of `count` texts, each on its line, and `foot`.
fn lines(shown: impl Iterator<Item = String>, count: usize, foot: &str) -> String {
    let mut whole: String = shown.map(|text| text + "\n").collect();
    if count > SHOWN {
        whole.push_str(&format!("... and {} more\n", count - SHOWN));
    }
    whole + foot
}

fn refusal(path: &Path, failure: &Failure) -> Value {
    let path = path.display().to_string();
    json!({"path": without_secrets(&path), "reason": failure.text_in(Face::Python)})
}
