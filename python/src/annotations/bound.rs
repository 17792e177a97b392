//! The columns of a loader that `Boxes`, `Masks` and `Keypoints` become: bound to the column of their picture.

use std::sync::Arc;

use pyo3::prelude::*;
use tarflume::{Annotations, Decode, MaskPicture};

use super::boxes::Boxes;
use super::mask::{Mask, PlaneSettings};
use super::points::Keypoints;
use super::segments::Masks;
use super::settings::{NamedValues, Source};
use crate::decoders::parts::ColumnDecoder;
use crate::faults::errors::{OrRaise, usage};

/// A column of annotations, and its name.
pub(crate) struct NamedAnnotations<'py> {
    pub(crate) name: String,
    pub(crate) object: Bound<'py, PyAny>,
}

/// Columns with one source.
struct Bundle {
    source: Source,
    annotations: Annotations,
}

/// Whether an object is one of the classes of annotations.
pub(crate) fn is_annotation(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<Boxes>().is_ok()
        || object.cast::<Masks>().is_ok()
        || object.cast::<Keypoints>().is_ok()
        || object.cast::<Mask>().is_ok()
}

/// Adds the columns of all annotations to `named`, which has those of the pictures. A picture whose recipe draws with boxes
/// gets them.
pub(crate) fn bound(
    py: Python<'_>,
    given: &[NamedAnnotations<'_>],
    named: &mut Vec<(String, ColumnDecoder)>,
) -> PyResult<()> {
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut columns = Vec::new();
    for NamedAnnotations { name, object } in given {
        if let Ok(mask) = object.cast::<Mask>() {
            columns.push((name.clone(), (plane(py, name, &mask.get().0, named)?, false)));
            continue;
        }
        let source = source_of(py, name, object)?;
        check_source(py, name, &source, &bundles)?;
        let at = match bundles.iter().position(|bundle| bundle.source == source) {
            Some(at) => at,
            None => {
                let annotations = begun(py, name, &source, named)?;
                bundles.push(Bundle { source, annotations });
                bundles.len() - 1
            }
        };
        let annotations = bundles[at].annotations.clone();
        bundles[at].annotations = with(annotations, name, object);
    }
    for Bundle { annotations, source } in &bundles {
        if annotations.draws_with_boxes() {
            let groups = bundles.iter().filter(|other| other.source.of == source.of).count();
            if groups > 1 {
                let text = format!(
                    "the recipe of column {:?} draws with the boxes of one part: give all annotations of it the same part=",
                    source.of
                );
                return Err(usage(py, text));
            }
            let picture = annotations.picture();
            picture.validate().map_err(|error| error.of_column(&source.of)).or_raise(py)?;
            let picture: Arc<dyn Decode> = Arc::new(picture);
            for (_, column) in named.iter_mut().filter(|(name, _)| *name == source.of) {
                *column = (picture.clone(), false);
            }
        }
        for column in annotations.columns() {
            column.validate().map_err(|error| error.of_column(column.name())).or_raise(py)?;
            let decode: Arc<dyn Decode> = Arc::new(column.clone());
            columns.push((column.name().to_string(), (decode, false)));
        }
    }
    named.extend(columns);
    Ok(())
}

fn source_of(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(of) = object.cast::<Boxes>() {
        return Ok(of.get().0.source.clone());
    }
    if let Ok(of) = object.cast::<Masks>() {
        return Ok(of.get().0.source.clone());
    }
    if let Ok(of) = object.cast::<Keypoints>() {
        return Ok(of.get().0.source.clone());
    }
    let class = match name {
        "mask" => "Mask(\"mask.png\")",
        "boxes" => "Boxes(\"/boxes\", format=\"xywh\")",
        "masks" => "Masks(\"/segmentation\")",
        _ => "Keypoints(\"/keypoints\")",
    };
    Err(usage(py, format!("{name}= takes a tarflume.{class}, not {}", object.repr()?)))
}

/// Checks that objects of one part and picture are read alike: otherwise some columns would keep objects that others leave out.
fn check_source(py: Python<'_>, name: &str, source: &Source, bundles: &[Bundle]) -> PyResult<()> {
    let Source { part, of, .. } = source;
    let differs = bundles.iter().any(|bundle| {
        let other = &bundle.source;
        other.part == *part && other.of == *of && other != source
    });
    if !differs {
        return Ok(());
    }
    let text = format!(
        "{name} has other rules= or upright= than another column of the same objects, in part {part:?} and on the picture {of:?}: \
         give all of them the same"
    );
    Err(usage(py, text))
}

/// No column yet, for the picture of a source.
fn begun(
    py: Python<'_>,
    name: &str,
    source: &Source,
    named: &[(String, ColumnDecoder)],
) -> PyResult<Annotations> {
    let picture = picture_of(py, name, &source.of, named)?;
    let Some(annotations) = Annotations::of_column(picture) else {
        return Err(not_followable(py, name, &source.of));
    };
    Ok(annotations.part(&source.part).rules(source.rules).upright(source.upright))
}

/// The column of the picture that annotations follow.
fn picture_of<'a>(
    py: Python<'_>,
    name: &str,
    of: &str,
    named: &'a [(String, ColumnDecoder)],
) -> PyResult<&'a dyn Decode> {
    match named.iter().find(|(column, _)| column == of) {
        Some((_, (picture, _))) => Ok(&**picture),
        None => Err(usage(
            py,
            format!(
                "{name} follows the picture of a column, and the loader has no column {of:?}: give \
                 image=tarflume.Image(recipe), or the name of another column as of="
            ),
        )),
    }
}

/// The error of a column that annotations cannot follow.
fn not_followable(py: Python<'_>, name: &str, of: &str) -> PyErr {
    usage(
        py,
        format!(
            "{name} follows one picture in a row of a tarflume.Image, and column {of:?} is another one: Views, FiveCrop, \
             TenCrop and Apply make what annotations cannot follow"
        ),
    )
}

/// The column of a mask of the whole picture.
fn plane(
    py: Python<'_>,
    name: &str,
    of: &PlaneSettings,
    named: &[(String, ColumnDecoder)],
) -> PyResult<Arc<dyn Decode>> {
    let picture = picture_of(py, name, &of.of, named)?;
    let Some(mask) = MaskPicture::of_column(picture, &of.part, of.kind) else {
        return Err(not_followable(py, name, &of.of));
    };
    let mask = mask.dtype(of.dtype).upright(of.upright);
    mask.validate().map_err(|error| error.of_column(name)).or_raise(py)?;
    Ok(Arc::new(mask))
}

/// Adds the columns of an object.
fn with(annotations: Annotations, name: &str, object: &Bound<'_, PyAny>) -> Annotations {
    if let Ok(of) = object.cast::<Boxes>() {
        let of = &of.get().0;
        return with_values(
            annotations.boxes(name, of.boxes.clone()).sanitize(of.keep),
            &of.values,
        );
    }
    if let Ok(of) = object.cast::<Masks>() {
        let of = &of.get().0;
        return with_values(annotations.masks(name, of.masks.clone()), &of.values);
    }
    if let Ok(of) = object.cast::<Keypoints>() {
        let of = &of.get().0;
        return with_values(annotations.keypoints(name, of.points.clone()), &of.values);
    }
    annotations
}

fn with_values(annotations: Annotations, values: &[NamedValues]) -> Annotations {
    values.iter().fold(annotations, |annotations, NamedValues { name, values }| {
        annotations.values_of(name, values.clone())
    })
}
