//! What recipes drew for the rows of a batch, as Python objects.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use tarflume::internal::{ObjectRows, drawn_for};
use tarflume::transforms::mixing::{How, MixedRow};
use tarflume::{Decode, RowTransforms};

use crate::faults::errors::{OrRaise, bug};
use crate::faults::json::from_json;

/// The columns that a loader was given.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) decoders: Arc<[(String, Arc<dyn Decode>)]>,
    /// Names of those whose rows are texts.
    pub(crate) texts: Arc<[String]>,
    /// True if samples are rows of arrays, which have numbers in place of keys.
    pub(crate) of_arrays: bool,
}

impl Given {
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.decoders.iter().map(|(name, _)| name.as_str())
    }

    /// What the rows of a column have of each object, if it is one of annotations.
    pub(crate) fn objects(&self, name: &str) -> Option<ObjectRows> {
        self.decoders.iter().find(|(column, _)| column == name)?.1.objects()
    }

    /// Whether the rows of a column are pictures, or planes on them, of the size of a bucket: of one shape in each batch.
    pub(crate) fn is_sized_by_bucket(&self, name: &str) -> bool {
        let found = self.decoders.iter().find(|(column, _)| column == name);
        found.is_some_and(|(_, decode)| {
            let is_picture = matches!(decode.objects(), None | Some(ObjectRows::Plane));
            is_picture && decode.lacks_bucket()
        })
    }

    pub(crate) fn is_text(&self, name: &str) -> bool {
        self.texts.iter().any(|text| text == name)
    }
}

/// The actions of each row, by the name of the column.
pub(crate) fn transforms<'py>(
    py: Python<'py>,
    batch: &tarflume::Batch,
    given: &Given,
) -> PyResult<Bound<'py, PyDict>> {
    let drawn = py.detach(|| drawn_for(batch, &given.decoders)).or_raise(py)?;
    let made = PyDict::new(py);
    for column in &drawn {
        let rows = column.rows.iter().map(actions).collect::<PyResult<Vec<Value>>>()?;
        made.set_item(&column.column, from_json(py, &rows)?)?;
    }
    Ok(made)
}

/// The actions of a row, with the mosaic, the pasted objects and the mix at their end.
fn actions(row: &RowTransforms) -> PyResult<Value> {
    let mut actions: Vec<Value> = Vec::new();
    for action in &row.actions {
        let value = serde_json::to_value(action);
        actions.push(value.map_err(|_| bug("an action that JSON cannot represent"))?);
    }
    actions.extend(
        row.mosaic
            .map(|mosaic| json!({"mosaic": {"sources": mosaic.sources, "center": mosaic.center}})),
    );
    let pasted = row.pasted.as_ref();
    actions.extend(pasted.map(
        |pasted| json!({"copy_paste": {"partner": pasted.partner, "objects": pasted.objects}}),
    ));
    actions.extend(row.mixed.and_then(mix));
    Ok(Value::Array(actions))
}

fn mix(MixedRow { partner, how, .. }: MixedRow) -> Option<Value> {
    match how {
        How::Alone => None,
        How::Blend { lam } => Some(json!({"mixup": {"partner": partner, "lam": lam}})),
        How::Paste { region, lam } => Some(json!({"cutmix": {
            "partner": partner,
            "lam": lam,
            "top": region.top,
            "left": region.left,
            "height": region.bottom - region.top,
            "width": region.right - region.left,
        }})),
    }
}
