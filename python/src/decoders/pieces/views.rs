//! `Views`: several pictures of each sample from one decoding, as a Python class.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tarflume::Decode;

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs};
use crate::decoders::parts::{self, Image};
use crate::decoders::piece_columns::views::{ViewsColumn, ViewsPlace};
use crate::decoders::recipes::column_of;
use crate::faults::errors::{OrRaise, usage};

/// The keywords of `Image` that hold for all groups.
const SETTINGS: [&str; 15] = [
    "part",
    "layout",
    "channels",
    "dtype",
    "normalize",
    "mean",
    "std",
    "filter",
    "orientation",
    "reducing_gap",
    "damaged",
    "resize_on_device",
    "device_decoder",
    "transforms_on",
    "fallback",
];

/// Several pictures of each sample from one decoding: a column for each group of views.
///
/// ```python
/// views = tarflume.Views(global_=(2, recipe), local=(8, small), dtype="float16", layout="chw", normalize="imagenet")
/// loader = tarflume.Loader("shards/", batch_size=64, shuffle="full", views=views)
/// for batch in loader.epoch(0):
///     batch["global"]                              # float16 [64, 2, 3, 224, 224]
///     batch["local"]                               # float16 [64, 8, 3, 96, 96]
/// ```
///
/// A group is `name=(number of views, recipe)`, or one of a dict: `Views({"global": (2, recipe), "local": (8, small)})`. The
/// underscore behind a word of Python (`global_`) is left out of the name. Instead of a recipe it may have a transform of
/// tarflume or an `Image`. All other keywords are those of `Image`, for all groups but those that are given as an `Image`.
///
/// Each view draws for itself, from the sample and from the name and the number of the view: another group changes no draw of
/// the others. Each picture is decoded once, as far as all views together need it. All pictures of a group have one size.
///
/// It is a mapping of the columns by name: `columns={**views, "id": tarflume.Json("/id")}` is the same as `views=`.
#[pyclass(frozen, mapping, module = "tarflume")]
pub struct Views(Vec<tarflume::ViewsColumn>, ConstructorArgs);

impl Views {
    /// The columns, in the order of the groups.
    pub(crate) fn columns(&self) -> &[tarflume::ViewsColumn] {
        &self.0
    }
}

#[pymethods]
impl Views {
    #[new]
    #[pyo3(signature = (groups = None, **words), text_signature = "(groups=None, **words)")]
    fn new(
        py: Python<'_>,
        groups: Option<&Bound<'_, PyAny>>,
        words: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = PyDict::new(py);
        let named = PyDict::new(py);
        if let Some(groups) = groups {
            named.update(as_dict(py, groups)?.as_mapping())?;
        }
        for (word, value) in words.into_iter().flatten() {
            let word = word.extract::<String>()?;
            if SETTINGS.contains(&word.as_str()) {
                settings.set_item(word, value)?;
                continue;
            }
            let name = group_name(py, &word)?;
            if named.contains(&name)? {
                return Err(usage(
                    py,
                    format!("Views has two groups {name:?}: give one another name"),
                ));
            }
            if pair(&value).is_none() {
                return Err(unknown(py, &word, &value)?);
            }
            named.set_item(name, value)?;
        }
        let mut views = tarflume::Views::new();
        for (name, group) in named.iter() {
            views = with_group(py, views, &Group { name: name.extract()?, group }, &settings)?;
        }
        let columns = views.columns();
        if columns.is_empty() {
            return Err(usage(py, "Views takes groups of views: Views(pair=(2, recipe))"));
        }
        for column in &columns {
            column.validate().map_err(|error| error.of_column(column.name())).or_raise(py)?;
        }
        let again = PyDict::new(py);
        again.set_item("groups", named)?;
        again.update(settings.as_mapping())?;
        Ok(Views(columns, ConstructorArgs::new(again)))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The names of the groups.
    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(tarflume::ViewsColumn::name).collect()
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyTuple::new(slf.py(), slf.get().keys())?.try_iter()?.into_any())
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.extract::<String>();
        name.is_ok_and(|name| self.0.iter().any(|column| column.name() == name))
    }

    fn __getitem__(slf: &Bound<'_, Self>, name: &str) -> PyResult<ViewsColumn> {
        let views = slf.get();
        let Some(column) = views.0.iter().find(|column| column.name() == name) else {
            let names = views.keys().join(", ");
            return Err(PyKeyError::new_err(format!(
                "Views has no group {name:?}; it has: {names}"
            )));
        };
        let place = ViewsPlace { views: slf.clone().into_any().unbind(), name: name.to_string() };
        Ok(ViewsColumn::new(column.clone(), place))
    }
}

/// A group as it is given.
struct Group<'py> {
    name: String,
    group: Bound<'py, PyAny>,
}

fn as_dict<'py>(py: Python<'py>, groups: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    match groups.cast::<PyDict>() {
        Ok(groups) => Ok(groups.clone()),
        Err(_) => {
            let text = format!(
                "Views takes a dict of groups, {{\"pair\": (2, recipe)}}, or keywords, pair=(2, recipe), not {}",
                groups.repr()?
            );
            Err(usage(py, text))
        }
    }
}

/// The name of a group that is given as a keyword: a word of Python has an underscore more.
fn group_name(py: Python<'_>, word: &str) -> PyResult<String> {
    if let Some(name) = word.strip_suffix('_')
        && py.import("keyword")?.call_method1("iskeyword", (name,))?.is_truthy()?
    {
        return Ok(name.to_string());
    }
    Ok(word.to_string())
}

/// The error of a keyword that is no setting and has no group.
fn unknown(py: Python<'_>, word: &str, value: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let near = py.import("difflib")?.getattr("get_close_matches")?;
    let near: Vec<String> = near.call1((word, SETTINGS, 1))?.extract()?;
    let meant = near.first().map(|near| format!("did you mean {near}=? ")).unwrap_or_default();
    Ok(usage(
        py,
        format!(
            "{word}={} is no group of views: {meant}A group is {word}=(number of views, recipe); other keywords are those of \
             tarflume.Image",
            value.repr()?
        ),
    ))
}

/// The two items of a tuple or a list.
fn pair<'py>(value: &Bound<'py, PyAny>) -> Option<[Bound<'py, PyAny>; 2]> {
    if !value.is_instance_of::<PyTuple>() && !value.is_instance_of::<PyList>() {
        return None;
    }
    value.extract::<Vec<Bound<'py, PyAny>>>().ok()?.try_into().ok()
}

/// Adds a group: the number of its views, and a recipe, a transform or an `Image`.
fn with_group(
    py: Python<'_>,
    views: tarflume::Views,
    group: &Group<'_>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<tarflume::Views> {
    let Group { name, group } = group;
    let Some([count, what]) = pair(group) else { return Err(not_a_group(py, name, group)?) };
    let Ok(count) = count.extract::<usize>() else { return Err(not_a_group(py, name, group)?) };
    let image = if what.cast::<Image>().is_ok() {
        what
    } else if column_of(&what)?.is_some() {
        what.call_method("image", (), Some(settings))?
    } else {
        py.get_type::<Image>().call((what,), Some(settings))?
    };
    let (decode, _) = parts::decoder(py, &image)?;
    match views.group_of(name, count, &*decode) {
        Some(views) => Ok(views),
        // Every other column is an `Image`.
        None => Err(usage(
            py,
            format!(
                "the group {name:?} of Views: FiveCrop and TenCrop make several pictures already; give the recipe as a \
                 column outside of Views: columns={{**views, {name:?}: recipe}}"
            ),
        )),
    }
}

fn not_a_group(py: Python<'_>, name: &str, given: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let text = format!(
        "the group {name:?} of Views is (number of views, recipe), such as (2, recipe), not {}",
        given.repr()?
    );
    Ok(usage(py, text))
}
