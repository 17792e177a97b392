//! Boxes, points and masks that follow the actions of a recipe.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use tarflume::ImageSize;
use tarflume::transforms::actions::Action;
use tarflume::transforms::annotations::{
    self, RotatedBox, Sanitize, clamp_rotated_box, move_points, move_seen_boxes,
    move_seen_rotated_boxes, shown_part,
};

use super::checks::{check, shape};
use crate::arguments::numbers::Number;
use crate::faults::errors::{OrRaise, usage};

/// A picture's height and width, the moved numbers, and for each box the part that is visible.
type Moved<'py> = ((u32, u32), Bound<'py, PyByteArray>, Bound<'py, PyByteArray>);

/// Actions from their JSON.
pub(super) fn actions_of(py: Python<'_>, text: &str) -> PyResult<Vec<Action>> {
    serde_json::from_str(text)
        .map_err(|error| usage(py, format!("these are no actions of draw(): {error}")))
}

/// Numbers of double precision from their bytes.
fn numbers_of(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<f64>> {
    let numbers = bytes.as_chunks::<8>();
    if !numbers.1.is_empty() {
        return Err(usage(py, "numbers have 8 bytes each"));
    }
    Ok(numbers.0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}

fn bytes_of<'py>(py: Python<'py>, numbers: &[f64]) -> Bound<'py, PyByteArray> {
    PyByteArray::new(py, bytemuck::cast_slice(numbers))
}

/// The numbers of float64 of boxes (`kind` "boxes": 4 each), boxes with an angle ("rotated": 8) or points ("points": 2) after
/// actions, which are given as JSON.
#[pyfunction]
#[pyo3(signature = (actions, kind, numbers, height, width))]
pub fn move_annotations<'py>(
    py: Python<'py>,
    actions: &str,
    kind: &str,
    numbers: &[u8],
    height: Number<u32>,
    width: Number<u32>,
) -> PyResult<Moved<'py>> {
    let actions = actions_of(py, actions)?;
    let on = shape(py, height, width, Number(1))?.size;
    check(py, &actions, on)?;
    let mut numbers = numbers_of(py, numbers)?;
    let mut visible = Vec::new();
    let moved = py.detach(|| {
        // Actions that a user wrote may have numbers that none of ours has.
        let moved = AssertUnwindSafe(|| moved(&actions, kind, on, &mut numbers, &mut visible));
        catch_unwind(moved).unwrap_or_else(|_| {
            Err(tarflume::Error::usage("an action has a number that no operation draws"))
        })
    });
    let ImageSize { width, height } = moved.or_raise(py)?;
    Ok(((height, width), bytes_of(py, &numbers), bytes_of(py, &visible)))
}

fn moved(
    actions: &[Action],
    kind: &str,
    on: ImageSize,
    numbers: &mut [f64],
    visible: &mut Vec<f64>,
) -> tarflume::Result<ImageSize> {
    match kind {
        "boxes" => {
            let boxes = numbers.as_chunks_mut::<4>().0;
            visible.resize(boxes.len(), 1.0);
            move_seen_boxes(actions, on, boxes, visible)
        }
        "rotated" => {
            let mut quads = quads_of(numbers);
            visible.extend(quads.iter().map(|quad| shown_part(quad, on)));
            let size = move_seen_rotated_boxes(actions, on, &mut quads, visible)?;
            let places = quads.as_flattened().as_flattened();
            numbers[..places.len()].copy_from_slice(places);
            Ok(size)
        }
        _ => move_points(actions, on, numbers.as_chunks_mut::<2>().0),
    }
}

/// Boxes with an angle, as eight numbers each.
fn quads_of(numbers: &[f64]) -> Vec<RotatedBox> {
    let quads = numbers.as_chunks::<8>().0.iter();
    quads.map(|quad| [0, 2, 4, 6].map(|at| [quad[at], quad[at + 1]])).collect()
}

/// The actions of a mask, as JSON, from those of its picture.
#[pyfunction]
#[pyo3(signature = (actions, fill))]
pub fn mask_actions(py: Python<'_>, actions: &str, fill: u8) -> PyResult<String> {
    let actions = annotations::mask_actions(&actions_of(py, actions)?, fill).or_raise(py)?;
    serde_json::to_string(&actions).map_err(|error| usage(py, error.to_string()))
}

/// Whether actions mirror the picture.
#[pyfunction]
#[pyo3(signature = (actions))]
pub fn mirrors(py: Python<'_>, actions: &str) -> PyResult<bool> {
    Ok(annotations::mirrors(&actions_of(py, actions)?))
}

/// Whether each box of float64 numbers is kept, as a byte. `kind` is that of `move_annotations`; boxes with an angle are clamped.
#[pyfunction]
#[pyo3(signature = (kind, boxes, visible, height, width, min_size, min_area, min_visibility))]
#[allow(clippy::too_many_arguments)] // as Python passes them
pub fn kept_boxes<'py>(
    py: Python<'py>,
    kind: &str,
    boxes: &[u8],
    visible: &[u8],
    height: Number<u32>,
    width: Number<u32>,
    min_size: f64,
    min_area: f64,
    min_visibility: f64,
) -> PyResult<Bound<'py, PyByteArray>> {
    let rule = Sanitize { min_size, min_area, min_visibility };
    rule.validate().or_raise(py)?;
    let on = shape(py, height, width, Number(1))?.size;
    let boxes = numbers_of(py, boxes)?;
    let visible = numbers_of(py, visible)?;
    let mut keep = vec![false; visible.len()];
    if kind == "rotated" {
        let objects = quads_of(&boxes).into_iter().zip(&visible);
        for (keep, (quad, &visible)) in keep.iter_mut().zip(objects) {
            *keep = rule.keeps_rotated(&clamp_rotated_box(&quad, on), visible, on);
        }
    } else {
        annotations::sanitize(boxes.as_chunks::<4>().0, &visible, on, &rule, &mut keep);
    }
    let bytes: Vec<u8> = keep.into_iter().map(u8::from).collect();
    Ok(PyByteArray::new(py, &bytes))
}

/// Boxes of float64 numbers, 4 each, if there are any.
pub(super) fn boxes_of(py: Python<'_>, bytes: Option<&[u8]>) -> PyResult<Option<Vec<[f64; 4]>>> {
    let Some(bytes) = bytes else { return Ok(None) };
    Ok(Some(numbers_of(py, bytes)?.as_chunks::<4>().0.to_vec()))
}
