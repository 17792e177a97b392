//! `Selection`: the samples that a table, an array or a list selects; and `weights=`, whose classes come from the
//! same.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};
use tarflume::{Dataset, KeySet, Numbers, Subset, Weights};

use crate::batches::batch::key_bytes;
use crate::batches::column::Column;
use crate::buffers::arrow::{CSchema, Incoming};
use crate::buffers::arrow_view::{View, columns, format_of, is_text, is_whole, name_of};
use crate::faults::errors::{OrRaise, usage};

/// Some samples of a data set, for `Loader(select=)`: made by `Dataset.select`. One bit for each sample of the data
/// set. It can be pickled.
#[pyclass(frozen, eq, module = "tarflume")]
#[derive(PartialEq)]
pub struct Selection {
    pub(crate) subset: Subset,
}

#[pymethods]
impl Selection {
    #[new]
    fn new(py: Python<'_>, samples: u64, bits: &[u8]) -> PyResult<Selection> {
        Ok(Selection { subset: Subset::of_bytes(samples, bits).or_raise(py)? })
    }

    /// The number of selected samples.
    fn __len__(&self) -> usize {
        self.subset.len() as usize
    }

    /// True if the sample with this number is selected.
    fn __contains__(&self, ordinal: u64) -> bool {
        self.subset.contains(ordinal)
    }

    /// The numbers of the selected samples, ascending: uint64.
    #[getter]
    fn ordinals(&self) -> Column {
        Column::numbers(self.subset.ordinals().collect())
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (u64, Bound<'py, PyBytes>) {
        (self.subset.samples(), PyBytes::new(py, &self.subset.bytes()))
    }

    fn __repr__(&self) -> String {
        format!("Selection({} of {} samples)", self.subset.len(), self.subset.samples())
    }
}

/// What a selection is made from, in errors.
const TAKES: &str = "a table with a column `ordinal` or `key`, or a list of keys or ordinals";

/// The samples that `object` selects. `what` names it in errors.
pub(crate) fn selected(
    dataset: &Dataset,
    object: &Bound<'_, PyAny>,
    what: &str,
) -> PyResult<Subset> {
    let py = object.py();
    if let Ok(selection) = object.cast::<Selection>() {
        return Ok(selection.get().subset.clone());
    }
    if let Some(incoming) = Incoming::of(object)? {
        let mut incoming = incoming.map_err(|text| usage(py, format!("{what}: {text}")))?;
        let found = py.detach(|| of_arrow(dataset, &mut incoming));
        return found.map_err(|failed| failed.raised(py, what));
    }
    refuse_unfinished(object, what)?;
    if let Some(array) = array_of(object)? {
        return of_array(dataset, &array, what);
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        let text = format!("{what} takes {TAKES}, not {}; one key is a list, too", object.repr()?);
        return Err(usage(py, text));
    }
    let Ok(items) = object.try_iter() else {
        return Err(usage(py, format!("{what} takes {TAKES}, not {}", object.repr()?)));
    };
    let mut chosen = Chosen::new(dataset).or_raise(py)?;
    for item in items {
        let item = item?;
        if item.is_instance_of::<PyString>() || item.is_instance_of::<PyBytes>() {
            chosen.key(&key_bytes(&item)?).or_raise(py)?;
            continue;
        }
        match item.extract::<u64>() {
            Ok(ordinal) if !item.is_instance_of::<PyBool>() => {
                chosen.ordinal(ordinal).or_raise(py)?
            }
            _ => {
                let text = format!("{what} takes {TAKES}, not a list with {}", item.repr()?);
                return Err(usage(py, text));
            }
        }
    }
    py.detach(|| chosen.subset(dataset)).or_raise(py)
}

/// An error of the crates below, or a text about the table.
enum Failed {
    Library(tarflume::Error),
    Table(String),
}

impl From<tarflume::Error> for Failed {
    fn from(error: tarflume::Error) -> Failed {
        Failed::Library(error)
    }
}

impl From<String> for Failed {
    fn from(text: String) -> Failed {
        Failed::Table(text)
    }
}

impl Failed {
    fn raised(self, py: Python<'_>, what: &str) -> PyErr {
        match self {
            Failed::Library(error) => crate::faults::errors::raised(py, &error),
            Failed::Table(text) => usage(py, format!("{what}: {text}")),
        }
    }
}

/// Ordinals and keys, until all are known.
struct Chosen {
    subset: Subset,
    keys: KeySet,
}

impl Chosen {
    fn new(dataset: &Dataset) -> tarflume::Result<Chosen> {
        Ok(Chosen { subset: Subset::none(dataset.len())?, keys: KeySet::default() })
    }

    fn ordinal(&mut self, ordinal: u64) -> tarflume::Result<()> {
        self.subset.insert(ordinal)
    }

    fn key(&mut self, key: &[u8]) -> tarflume::Result<()> {
        self.keys.insert(key)
    }

    fn subset(mut self, dataset: &Dataset) -> tarflume::Result<Subset> {
        if !self.keys.is_empty() {
            for ordinal in dataset.subset_of(&self.keys)?.ordinals() {
                self.subset.insert(ordinal)?;
            }
        }
        Ok(self.subset)
    }
}

/// The column to select by.
struct KeyColumn {
    number: usize,
    /// Whether it has ordinals; otherwise it has keys.
    is_ordinal: bool,
}

/// Returns the column to select by.
fn column_of(schema: &CSchema) -> Result<KeyColumn, String> {
    let all = columns(schema);
    if format_of(schema) != "+s" {
        let is_ordinal = is_whole(schema);
        if is_ordinal || is_text(schema) {
            return Ok(KeyColumn { number: 0, is_ordinal });
        }
        let format = format_of(schema);
        return Err(format!("a column of Arrow type {format:?} has no keys or ordinals"));
    }
    for (name, is_ordinal) in [("ordinal", true), ("key", false)] {
        if let Some(number) = all.iter().position(|column| name_of(column) == name) {
            let fits = if is_ordinal { is_whole(all[number]) } else { is_text(all[number]) };
            let format = format_of(all[number]);
            let wanted = if is_ordinal { "whole numbers" } else { "texts" };
            return if fits {
                Ok(KeyColumn { number, is_ordinal })
            } else {
                Err(format!("column {name} has Arrow type {format:?}, not {wanted}"))
            };
        }
    }
    let names: Vec<String> = all.iter().map(|column| name_of(column)).collect();
    Err(format!("the table has no column `ordinal` or `key`; it has {}", names.join(", ")))
}

fn of_arrow(dataset: &Dataset, incoming: &mut Incoming) -> Result<Subset, Failed> {
    let column = column_of(&incoming.schema)?;
    let mut chosen = Chosen::new(dataset)?;
    let mut before = 0;
    while let Some(rows) = incoming.next()? {
        let view = View::of(&incoming.schema, &rows, column.number)?;
        for row in 0..view.len() {
            if column.is_ordinal {
                let ordinal = view.whole(row).ok_or_else(|| no_value(before + row))?;
                let ordinal = u64::try_from(ordinal)
                    .map_err(|_| format!("row {} has ordinal {ordinal}", before + row))?;
                chosen.ordinal(ordinal)?;
            } else {
                chosen.key(view.text(row)?.ok_or_else(|| no_value(before + row))?)?;
            }
        }
        before += view.len();
    }
    Ok(chosen.subset(dataset)?)
}

fn no_value(row: usize) -> String {
    format!("row {row} of the table has no value there")
}

/// An error for what has rows only after a computation.
fn refuse_unfinished(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    if object.hasattr("__dask_graph__")? {
        let text = format!("{what} is not computed yet: give what its compute() returns");
        return Err(usage(object.py(), text));
    }
    if object.hasattr("collect_schema")? {
        let text = format!("{what} is not computed yet: give what its collect() returns");
        return Err(usage(object.py(), text));
    }
    Ok(())
}

/// `object` as an array of NumPy, if it is an array of any library.
fn array_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !object.hasattr("__array__")? && !object.hasattr("__array_interface__")? {
        return Ok(None);
    }
    object.py().import("numpy")?.call_method1("asarray", (object,)).map(Some)
}

fn of_array(dataset: &Dataset, array: &Bound<'_, PyAny>, what: &str) -> PyResult<Subset> {
    let py = array.py();
    let shape = array.getattr("shape")?.extract::<Vec<usize>>()?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let [rows] = shape[..] else {
        return Err(usage(py, format!("{what} takes an array of one dimension, not {shape:?}")));
    };
    let mut chosen = Chosen::new(dataset).or_raise(py)?;
    match kind.as_str() {
        "b" => {
            let samples = dataset.len();
            if rows as u64 != samples {
                let text =
                    format!("{what} has {rows} booleans for a data set of {samples} samples");
                return Err(usage(py, text));
            }
            let bytes = array.call_method0("tobytes")?.extract::<Vec<u8>>()?;
            for (ordinal, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
                chosen.ordinal(ordinal as u64).or_raise(py)?;
            }
        }
        "i" | "u" => {
            for number in whole_numbers(array)? {
                let ordinal = u64::try_from(number);
                let ordinal =
                    ordinal.map_err(|_| usage(py, format!("{what} has the ordinal {number}")))?;
                chosen.ordinal(ordinal).or_raise(py)?;
            }
        }
        _ => return selected(dataset, &array.call_method0("tolist")?, what),
    }
    py.detach(|| chosen.subset(dataset)).or_raise(py)
}

/// The numbers of an array of whole numbers.
fn whole_numbers(array: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let bytes = array.call_method1("astype", ("<i8",))?.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let chunks = bytes.as_chunks::<8>().0;
    Ok(chunks.iter().map(|chunk| i64::from_le_bytes(*chunk)).collect())
}

/// A number for each sample, in the order of ordinals: of an array, a list, or a table with a column `name`.
fn numbers(object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<Vec<i64>> {
    let py = object.py();
    if let Some(incoming) = Incoming::of(object)? {
        let mut incoming = incoming.map_err(|text| usage(py, format!("{what}: {text}")))?;
        let found = py.detach(|| numbers_of_arrow(&mut incoming, name));
        return found.map_err(|text| usage(py, format!("{what}: {text}")));
    }
    refuse_unfinished(object, what)?;
    let array = py.import("numpy")?.call_method1("asarray", (object,))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if shape.len() != 1 || !matches!(kind.as_str(), "i" | "u" | "b") {
        let text = format!("{what} takes one whole number for each sample, not {}", object.repr()?);
        return Err(usage(py, text));
    }
    whole_numbers(&array)
}

/// The numbers of samples: text is a pointer or a part, other objects have a number for each sample.
pub(crate) fn numbers_of(object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<Numbers> {
    match object.extract::<String>() {
        Ok(part) => Ok(Numbers::from(part.as_str())),
        Err(_) => numbers(object, name, what).map(Numbers::from),
    }
}

fn numbers_of_arrow(incoming: &mut Incoming, name: &str) -> Result<Vec<i64>, String> {
    let all = columns(&incoming.schema);
    let column = match all.len() {
        1 => Some(0),
        _ => all.iter().position(|column| name_of(column) == name),
    };
    let Some(column) = column.filter(|&column| is_whole(all[column])) else {
        let names: Vec<String> = all.iter().map(|column| name_of(column)).collect();
        let text = format!("the table has no column `{name}` of whole numbers; it has ");
        return Err(text + &names.join(", "));
    };
    let mut numbers = Vec::new();
    while let Some(rows) = incoming.next()? {
        let view = View::of(&incoming.schema, &rows, column)?;
        for row in 0..view.len() {
            let number = view.whole(row).and_then(|number| i64::try_from(number).ok());
            let at = numbers.len();
            numbers.push(number.ok_or_else(|| format!("row {at} has no number of 64 bits"))?);
        }
    }
    Ok(numbers)
}

/// The pairs of a dict of classes and weights; `None` if it is no dict.
fn weights_of_classes(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Vec<(i64, u64)>>> {
    let Ok(dict) = object.cast::<pyo3::types::PyDict>() else { return Ok(None) };
    let mut weights = Vec::new();
    for (class, weight) in dict.iter() {
        let whole = class.is_instance_of::<PyInt>() || class.hasattr("__index__")?;
        if whole
            && let Ok(class) = class.extract::<i64>()
            && let Ok(weight) = weight.extract::<u64>()
        {
            weights.push((class, weight));
            continue;
        }
        let text = format!(
            "{what} takes whole numbers: {{class: weight}}, not {{{}: {}}}",
            class.repr()?,
            weight.repr()?
        );
        return Err(usage(object.py(), text));
    }
    Ok(Some(weights))
}

/// `weights=` and `classes=`.
pub(crate) fn weights(
    py: Python<'_>,
    weights: Option<Bound<'_, PyAny>>,
    classes: Option<Bound<'_, PyAny>>,
) -> PyResult<Option<Weights>> {
    let Some(weights) = weights else {
        let text = "classes= needs weights=: \"balanced\", or {class: weight}";
        return classes.map_or(Ok(None), |_| Err(usage(py, text)));
    };
    let classes = classes.map(|classes| numbers_of(&classes, "class", "classes=")).transpose()?;
    if let Ok(word) = weights.extract::<String>() {
        return match classes {
            Some(classes) if word == "balanced" => Ok(Some(Weights::balanced(classes))),
            None if word != "balanced" => Ok(Some(Weights::balanced(word.as_str()))),
            None => Err(usage(
                py,
                "weights=\"balanced\" needs classes=; weights=\"/class\" balances the classes in \
                 the JSON parts",
            )),
            Some(_) => {
                let text = "with classes=, weights= takes \"balanced\" or {class: weight}";
                Err(usage(py, text))
            }
        };
    }
    if let Some(pairs) = weights_of_classes(&weights, "weights=")? {
        return Ok(Some(Weights::of_classes(classes.unwrap_or_else(|| "/class".into()), pairs)));
    }
    if classes.is_some() {
        let text = "with classes=, weights= takes \"balanced\" or {class: weight}";
        return Err(usage(py, text));
    }
    let weights = numbers(&weights, "weight", "weights=")?;
    Ok(Some(Weights::of_samples(weights)))
}
