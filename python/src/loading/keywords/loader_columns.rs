//! The columns of a loader, from its keywords.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::Decode;
use tarflume::internal::Language;
use tarflume::transforms::{CopyPaste, Mix, Mosaic};

use crate::annotations::bound::{NamedAnnotations, bound, is_annotation};
use crate::arguments::labels::Numbers;
use crate::buffers::memory::KEY;
use crate::decoders::parts::{self, ColumnDecoder};
use crate::decoders::pieces::views::Views;
use crate::decoders::recipes;
use crate::faults::errors::{OrRaise, usage};
use crate::loading::keywords::loader_keywords::Keywords;

/// What `classes=` as a dict is for.
const NUMBERS: &str = "classes= as a dict numbers the texts of label=: give the pointer to them, \
                                  label=\"/label\"";

/// How views are given among columns.
const VIEWS: &str = "a Views makes a column for each of its groups: give it as views=, or its columns as columns={**views}";

/// The keywords of columns that move with a picture.
const ANNOTATIONS: [&str; 4] = ["boxes", "masks", "keypoints", "mask"];

/// Named decoders, and the names of those whose rows are texts.
type Columns = (Vec<(String, Arc<dyn Decode>)>, Vec<String>);

/// The columns of `image=`, `label=`, `views=`, `boxes=`, `masks=`, `keypoints=`, `mask=` and `columns=`. `numbers` are those of the texts of `label=`.
pub(crate) fn columns(
    py: Python<'_>,
    given: &Keywords<'_>,
    numbers: Option<Numbers>,
) -> PyResult<Columns> {
    let mut named = Vec::new();
    let mut annotations = Vec::new();
    if let Some(image) = given.object("image")? {
        named.push(("image".to_string(), parts::image(py, &image)?));
    }
    match (given.object("label")?, numbers) {
        (Some(label), numbers) => {
            named.push(("label".to_string(), label_of(py, &label, numbers)?));
        }
        (None, Some(_)) => return Err(usage(py, NUMBERS)),
        (None, None) => {}
    }
    if let Some(views) = given.object("views")? {
        named.extend(views_of(py, &views)?);
    }
    for name in ANNOTATIONS {
        let object = given.object(name)?;
        annotations
            .extend(object.map(|object| NamedAnnotations { name: name.to_string(), object }));
    }
    if let Some(more) = given.object("columns")? {
        if let Ok(dict) = more.cast::<PyDict>() {
            for (name, column) in dict.iter() {
                if column.cast::<Views>().is_ok() {
                    return Err(usage(py, VIEWS));
                }
                if is_annotation(&column) {
                    annotations.push(NamedAnnotations { name: name.extract()?, object: column });
                    continue;
                }
                named.push((name.extract()?, parts::decoder(py, &column)?));
            }
        } else {
            for name in more.extract::<Vec<String>>().map_err(|_| {
                usage(py, "columns= takes {\"name\": column} or a list of parts' names")
            })? {
                let column = pyo3::types::PyString::new(py, &name);
                named.push((name, parts::decoder(py, column.as_any())?));
            }
        }
    }
    bound(py, &annotations, &mut named)?;
    if let Some((name, _)) = named.iter().find(|(name, _)| name == KEY) {
        return Err(usage(
            py,
            format!("a column cannot have the name {name:?}, which is that of the keys"),
        ));
    }
    let texts = named.iter().filter(|(_, (_, text))| *text).map(|(name, _)| name.clone()).collect();
    Ok((named.into_iter().map(|(name, (decode, _))| (name, decode)).collect(), texts))
}

/// The value of `views=`: a column for each group.
fn views_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, ColumnDecoder)>> {
    let Ok(views) = object.cast::<Views>() else {
        let text = "views= takes a tarflume.Views, such as views=tarflume.Views(pair=(2, recipe))";
        return Err(usage(py, format!("{text}, not {}", object.repr()?)));
    };
    let mut named: Vec<(String, ColumnDecoder)> = Vec::new();
    for column in views.get().columns() {
        named.push((column.name().to_string(), (Arc::new(column.clone()), false)));
    }
    Ok(named)
}

/// The value of `mix=`, which mixes columns of these.
pub(crate) fn mix_of(object: &Bound<'_, PyAny>) -> PyResult<Mix> {
    match recipes::mix_of(object)? {
        Some(mix) => Ok(mix),
        None => Err(usage(
            object.py(),
            format!(
                "mix= takes a tarflume.Mix, not {}: tarflume.Mix(mixup_alpha=0.2, num_classes=1000), or what \
                 tarflume.Mix.from_timm and tarflume.Mix.from_torchvision make",
                object.repr()?
            ),
        )),
    }
}

/// The value of `mosaic=`, which makes mosaics of a column of these.
pub(crate) fn mosaic_of(object: &Bound<'_, PyAny>) -> PyResult<Mosaic> {
    match recipes::mosaic_of(object)? {
        Some(mosaic) => Ok(mosaic),
        None => {
            let text = format!(
                "mosaic= takes a tarflume.Mosaic, such as tarflume.Mosaic(p=0.5), not {}",
                object.repr()?
            );
            Err(usage(object.py(), text))
        }
    }
}

/// The value of `copy_paste=`, which pastes objects over the pictures of a column of these.
pub(crate) fn copy_paste_of(object: &Bound<'_, PyAny>) -> PyResult<CopyPaste> {
    match recipes::copy_paste_of(object)? {
        Some(copy_paste) => Ok(copy_paste),
        None => {
            let text = format!(
                "copy_paste= takes a tarflume.CopyPaste, such as tarflume.CopyPaste(p=0.5), not {}",
                object.repr()?
            );
            Err(usage(object.py(), text))
        }
    }
}

/// The value of `label=`: a pointer into the JSON part, the name of a part with a number, or a column. `numbers` are those
/// of the texts at the pointer.
fn label_of(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    numbers: Option<Numbers>,
) -> PyResult<ColumnDecoder> {
    let name = object.extract::<String>();
    let decode: Arc<dyn Decode> = match (name, numbers) {
        (Ok(name), Some(numbers)) if name.starts_with('/') => {
            Arc::new(json(&name).label_numbers(numbers))
        }
        (_, Some(_)) => return Err(usage(py, NUMBERS)),
        (Ok(name), None) if name.starts_with('/') => Arc::new(json(&name)),
        (Ok(name), None) => Arc::new(tarflume::Class::new(name)),
        (Err(_), None) => return parts::decoder(py, object),
    };
    decode.validate().or_raise(py)?;
    Ok((decode, false))
}

fn json(pointer: &str) -> tarflume::Json {
    tarflume::Json::new("json", pointer).language(Some(Language::Python))
}
