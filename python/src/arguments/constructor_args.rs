//! `Again`: the arguments of an object's constructor, for `repr` and for pickling.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Keywords.
pub(crate) struct ConstructorArgs(Py<PyDict>);

/// The result of `__getnewargs_ex__`.
pub(crate) type NewArgs<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

impl ConstructorArgs {
    pub(crate) fn new(words: Bound<'_, PyDict>) -> ConstructorArgs {
        ConstructorArgs(words.unbind())
    }

    /// With these keywords, too.
    pub(crate) fn and(self, py: Python<'_>, more: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        if let Some(more) = more {
            self.0.bind(py).update(more.as_mapping())?;
        }
        Ok(self)
    }

    /// The `repr` of an object: its class and the arguments.
    pub(crate) fn shown(&self, object: &Bound<'_, PyAny>) -> PyResult<String> {
        let mut words = Vec::new();
        for (name, value) in self.0.bind(object.py()).iter().filter(|(_, value)| !value.is_none()) {
            words.push(format!("{name}={}", value.repr()?));
        }
        Ok(format!("tarflume.{}({})", object.get_type().name()?, words.join(", ")))
    }

    /// No positional arguments, and all keywords.
    pub(crate) fn words<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        (PyTuple::empty(py), self.0.bind(py).clone())
    }
}

/// The local variables of these names, as keywords.
macro_rules! again {
    ($py:expr, $($name:ident),*) => {{
        let words = pyo3::types::PyDict::new($py);
        $(
            #[allow(clippy::clone_on_copy)] // some are `Copy`, some are not
            words.set_item(stringify!($name), $name.clone())?;
        )*
        ConstructorArgs::new(words)
    }};
}
pub(crate) use again;
