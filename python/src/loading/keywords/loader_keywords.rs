//! `Keywords`: the keywords of a loader, each taken once. One that is left at the end is unknown.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::faults::errors::usage;
use crate::loading::keywords;

/// The given keywords. Each is taken once; a keyword that is left at the end is unknown.
pub(crate) struct Keywords<'py> {
    py: Python<'py>,
    words: Bound<'py, PyDict>,
    /// All keywords that were looked up.
    known: RefCell<Vec<&'static str>>,
}

impl<'py> Keywords<'py> {
    pub(crate) fn new(
        py: Python<'py>,
        words: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Keywords<'py>> {
        let words = words.map_or_else(|| Ok(PyDict::new(py)), |words| words.copy())?;
        Ok(Keywords { py, words, known: RefCell::default() })
    }

    /// The value of the keyword `name`, unless it is `None`.
    pub(crate) fn object(&self, name: &'static str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.borrow_mut().push(name);
        let Some(value) = self.words.get_item(name)? else { return Ok(None) };
        self.words.del_item(name)?;
        Ok((!value.is_none()).then_some(value))
    }

    /// True if the keyword `name` was given and is not `None`.
    pub(crate) fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self.words.get_item(name)?.is_some_and(|value| !value.is_none()))
    }

    pub(crate) fn value<T>(&self, name: &'static str, what: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let Some(object) = self.object(name)? else { return Ok(None) };
        match object.extract::<T>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => {
                let text = format!("{name}= takes {what}, not {}", object.repr()?);
                Err(usage(self.py, text))
            }
        }
    }

    pub(crate) fn whole(&self, name: &'static str) -> PyResult<Option<u64>> {
        self.value(name, "a whole number, 0 or more")
    }

    pub(crate) fn word(&self, name: &'static str, default: &str) -> PyResult<String> {
        Ok(self.value(name, "a word")?.unwrap_or_else(|| default.to_string()))
    }

    pub(crate) fn end(self) -> PyResult<()> {
        let left: Vec<String> = self.words.keys().extract()?;
        let Some(name) = left.first() else { return Ok(()) };
        if let Some(instead) = keywords::instead_of(name) {
            return Err(usage(self.py, format!("Loader takes no {name}=; {instead}")));
        }
        let near = self.py.import("difflib")?.getattr("get_close_matches")?;
        let near: Vec<String> = near.call1((name, self.known.into_inner(), 1))?.extract()?;
        let what = match near.first() {
            Some(near) => format!("did you mean {near}=?"),
            None => "help(tarflume.Loader) lists all".to_string(),
        };
        Err(usage(self.py, format!("Loader takes no {name}=; {what}")))
    }
}
