//! `ViewsColumn`: the column of one group of views, as a Python class. `views` makes them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tarflume::Decode;

/// The column of one group of `tarflume.Views`, such as `views["global"]`: for `columns=`, and for `Apply`. The columns of
/// one `Views` share the decoding of each sample.
#[pyclass(frozen, module = "tarflume")]
pub struct ViewsColumn(pub(crate) (Arc<dyn Decode>, bool), ViewsPlace);

/// Where a column is from.
pub(crate) struct ViewsPlace {
    pub(crate) views: Py<PyAny>,
    pub(crate) name: String,
}

impl ViewsColumn {
    pub(crate) fn new(column: tarflume::ViewsColumn, place: ViewsPlace) -> ViewsColumn {
        ViewsColumn((Arc::new(column), false), place)
    }
}

/// The decoder of an `Image`: one picture in a row, or all that its recipe makes of one at its end.
pub(crate) fn of_image(image: tarflume::Image) -> Arc<dyn Decode> {
    if !image.makes_several() {
        return Arc::new(image);
    }
    let mut columns = tarflume::Views::new().crops("crops", image).columns();
    Arc::new(columns.remove(0))
}

#[pymethods]
impl ViewsColumn {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}[{:?}]", self.1.views.bind(py).repr()?, self.1.name))
    }

    /// Columns of one `Views` that are pickled together share their decoding again.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let get = py.import("operator")?.getattr("getitem")?;
        Ok((get, (self.1.views.clone_ref(py), &self.1.name).into_pyobject(py)?))
    }
}
