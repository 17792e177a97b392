//! Recipes of the Python package `tarflume.transforms`: from their JSON, for columns and over single pictures.

pub(crate) mod annotations;
mod checks;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use serde::de::DeserializeOwned;
use tarflume::ImageSize;
use tarflume::transforms::actions::Action;
use tarflume::transforms::{CopyPaste, Frame, Mix, Mosaic, Recipe, Shape, apply};

use crate::arguments::numbers::Number;
use crate::faults::errors::{OrRaise, usage};

use self::annotations::{actions_of, boxes_of};
use self::checks::{check, shape};

/// The Python package.
const PACKAGE: &str = "tarflume.transforms";

/// Its modules of `tarflume.Mix`, `tarflume.Mosaic` and `tarflume.CopyPaste`.
const MIX: &str = "tarflume.transforms.mix";
const MOSAIC: &str = "tarflume.transforms.mosaic";
const COPY_PASTE: &str = "tarflume.transforms.copy_paste";

/// Whether an object is of a class of a module.
fn is_a(object: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    // A module that was not imported has made no objects.
    let Ok(package) = modules.get_item(module) else { return Ok(false) };
    object.is_instance(&package.getattr(class)?)
}

/// The recipe of an operation of the package, if the object is one.
pub(crate) fn recipe_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Recipe>> {
    if !is_a(object, PACKAGE, "Operation")? {
        return Ok(None);
    }
    let text: String = object.call_method0("to_json")?.extract()?;
    parsed(object.py(), &text).map(Some)
}

/// The `tarflume.Image` of a recipe that was converted from another library's, if the object is one.
pub(crate) fn column_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if is_a(object, PACKAGE, "Converted")? {
        object.call_method0("image").map(Some)
    } else {
        Ok(None)
    }
}

/// The settings of a `tarflume.Mix`, if the object is one.
pub(crate) fn mix_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Mix>> {
    settings_of(object, MIX, "Mix")
}

/// The settings of a `tarflume.Mosaic`, if the object is one.
pub(crate) fn mosaic_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Mosaic>> {
    settings_of(object, MOSAIC, "Mosaic")
}

/// The settings of a `tarflume.CopyPaste`, if the object is one.
pub(crate) fn copy_paste_of(object: &Bound<'_, PyAny>) -> PyResult<Option<CopyPaste>> {
    settings_of(object, COPY_PASTE, "CopyPaste")
}

/// The settings that an object of a class of a module has as JSON; `None` if it is of another class.
fn settings_of<T: DeserializeOwned>(
    object: &Bound<'_, PyAny>,
    module: &str,
    class: &str,
) -> PyResult<Option<T>> {
    if !is_a(object, module, class)? {
        return Ok(None);
    }
    let text: String = object.call_method0("to_json")?.extract()?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        usage(object.py(), format!("a {class} is not as the reader expects it: {error}"))
    })
}

fn parsed(py: Python<'_>, text: &str) -> PyResult<Recipe> {
    let recipe: Recipe = serde_json::from_str(text)
        .map_err(|error| usage(py, format!("a recipe is not as the reader expects it: {error}")))?;
    recipe.validate().or_raise(py)?;
    Ok(recipe)
}

/// The actions of a recipe for a picture of this size, as JSON. `boxes` are numbers of float64, 4 for each box.
#[pyfunction]
#[pyo3(signature = (recipe, seed, height, width, channels, boxes=None))]
pub fn draw_actions(
    py: Python<'_>,
    recipe: &str,
    seed: Number<u64>,
    height: Number<u32>,
    width: Number<u32>,
    channels: Number<u32>,
    boxes: Option<&[u8]>,
) -> PyResult<String> {
    let recipe = parsed(py, recipe)?;
    let boxes = boxes_of(py, boxes)?;
    let on = shape(py, height, width, channels)?;
    let actions = drawn(py, &recipe, seed.0, on, boxes.as_deref())?;
    serde_json::to_string(&actions).map_err(|error| usage(py, error.to_string()))
}

/// The actions of a recipe for many pictures of this size, of the seeds `first` to `first + count`: a list of lists, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (recipe, first, count, height, width, channels, boxes=None))]
#[allow(clippy::too_many_arguments)] // as Python passes them
pub fn draw_many(
    py: Python<'_>,
    recipe: &str,
    first: Number<u64>,
    count: Number<u64>,
    height: Number<u32>,
    width: Number<u32>,
    channels: Number<u32>,
    boxes: Option<&[u8]>,
) -> PyResult<String> {
    let recipe = parsed(py, recipe)?;
    let boxes = boxes_of(py, boxes)?;
    let on = shape(py, height, width, channels)?;
    let seeds = (0..count.0).map(|at| first.0.wrapping_add(at));
    py.detach(|| many_drawn(&recipe, seeds, on, boxes.as_deref())).or_raise(py)
}

#[allow(clippy::expect_used)] // an action is serialized by its derived code
fn many_drawn(
    recipe: &Recipe,
    seeds: impl Iterator<Item = u64>,
    on: Shape,
    boxes: Option<&[[f64; 4]]>,
) -> tarflume::Result<String> {
    let mut text = String::from("[");
    let mut actions = Vec::new();
    for seed in seeds {
        actions.clear();
        recipe.draw_with(seed, 0, on, boxes, &mut actions)?;
        if text.len() > 1 {
            text.push(',');
        }
        text += &serde_json::to_string(&actions).expect("an action has names and numbers");
    }
    text.push(']');
    Ok(text)
}

fn drawn(
    py: Python<'_>,
    recipe: &Recipe,
    seed: u64,
    on: Shape,
    boxes: Option<&[[f64; 4]]>,
) -> PyResult<Vec<Action>> {
    let mut actions = Vec::new();
    recipe.draw_with(seed, 0, on, boxes, &mut actions).or_raise(py)?;
    Ok(actions)
}

/// A picture's height and width, and its bytes.
type Changed<'py> = ((u32, u32), Bound<'py, PyByteArray>);

/// The bytes `[height, width, channels]` after actions, which are given as JSON.
#[pyfunction]
#[pyo3(signature = (actions, pixels, height, width, channels))]
pub fn apply_actions<'py>(
    py: Python<'py>,
    actions: &str,
    pixels: &[u8],
    height: u32,
    width: u32,
    channels: usize,
) -> PyResult<Changed<'py>> {
    let actions = actions_of(py, actions)?;
    let on = Shape { size: ImageSize::new(width, height), channels };
    check(py, &actions, on.size)?;
    changed(py, &actions, pixels, on)
}

/// The bytes `[height, width, channels]` after a recipe with this seed.
#[pyfunction]
#[pyo3(signature = (recipe, seed, pixels, height, width, channels))]
pub fn apply_recipe<'py>(
    py: Python<'py>,
    recipe: &str,
    seed: Number<u64>,
    pixels: &[u8],
    height: u32,
    width: u32,
    channels: usize,
) -> PyResult<Changed<'py>> {
    let on = Shape { size: ImageSize::new(width, height), channels };
    let actions = drawn(py, &parsed(py, recipe)?, seed.0, on, None)?;
    check(py, &actions, on.size)?;
    changed(py, &actions, pixels, on)
}

fn changed<'py>(
    py: Python<'py>,
    actions: &[Action],
    pixels: &[u8],
    on: Shape,
) -> PyResult<Changed<'py>> {
    let mut frame = Frame::default();
    let done = py.detach(|| {
        frame.begin(on.size, on.channels)?.copy_from_slice(pixels);
        // Actions that a user wrote may have numbers that none of ours has.
        catch_unwind(AssertUnwindSafe(|| apply(actions, &mut frame))).unwrap_or_else(|_| {
            Err(tarflume::Error::usage("an action has a number that no operation draws"))
        })
    });
    done.or_raise(py)?;
    let ImageSize { width, height } = frame.size();
    Ok(((height, width), PyByteArray::new(py, frame.pixels())))
}
