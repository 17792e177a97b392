//! The CSV files of Open Images: a row for each object, `ImageID,..,LabelName,..,XMin,XMax,YMin,YMax,..`, with coordinates
//! relative to the picture. Files with labels of whole pictures have no coordinates.

use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::BoxForm;
use tarflume_formats::json::{JsonRules, Number};
use tarflume_table::{TableOptions, TableRow, bad_row};

use super::collected::{Collected, Object};
use super::form::Form;
use super::names::text;

/// The columns of a box: left, top, right, bottom.
const CORNERS: [[&str; 2]; 4] =
    [["XMin", "BoxXMin"], ["YMin", "BoxYMin"], ["XMax", "BoxXMax"], ["YMax", "BoxYMax"]];

/// The columns of a file.
struct Columns {
    image: usize,
    label: usize,
    corners: Option<[usize; 4]>,
    /// The others, with their names.
    fields: Vec<(usize, String)>,
}

/// Reads a file.
///
/// # Errors
/// Returns an error for a table without the columns, for a row without a value, and for a failure of the machine.
pub(super) fn read(
    path: &Path,
    options: &TableOptions,
    into: &mut Collected<'_>,
    stop: &Stop,
) -> Result<Form, Failure> {
    let mut reader = tarflume_table::open(path, options)?;
    let columns = Columns::of(reader.columns()).map_err(|why| Failure::usage(why).in_file(path))?;
    let Some(columns) = columns else {
        let why = "this is no file of annotations of Open Images: it needs the columns ImageID and LabelName";
        return Err(Failure::usage(why).in_file(path));
    };
    let mut row = TableRow::default();
    while reader.next(&mut row)? {
        if row.number.is_multiple_of(1024) && stop.requested() {
            return Err(Failure::interrupted());
        }
        let Some(name) = text(&row, columns.image) else {
            return Err(bad_row(path, row.number, row.byte, "it has no ImageID"));
        };
        let object = columns.object(&row);
        let object = object.map_err(|why| bad_row(path, row.number, row.byte, why))?;
        into.object(name, row.number, object)?;
    }
    Ok(Form { boxes: BoxForm::Corners, is_relative: true, omits_empty: true })
}

impl Columns {
    /// Finds the columns; `None` if these are not those of Open Images.
    ///
    /// # Errors
    /// Returns an error for a table with a part of a box.
    fn of(names: &[String]) -> Result<Option<Columns>, String> {
        let [Some(image), Some(label)] = [find(names, "ImageID"), find(names, "LabelName")] else {
            return Ok(None);
        };
        let corners = CORNERS.map(|words| words.into_iter().find_map(|word| find(names, word)));
        let corners = match corners {
            [Some(a), Some(b), Some(c), Some(d)] => Some([a, b, c, d]),
            [None, None, None, None] => None,
            _ => return Err("it has only some of the columns XMin, YMin, XMax and YMax".into()),
        };
        let mut own = vec![image];
        own.extend(corners.into_iter().flatten());
        let fields =
            names.iter().cloned().enumerate().filter(|(at, _)| !own.contains(at)).collect();
        Ok(Some(Columns { image, label, corners, fields }))
    }

    /// Returns the object of a row, or why it has none.
    fn object(&self, row: &TableRow) -> Result<Object, String> {
        let class = text(row, self.label).ok_or("it has no LabelName")?.to_string();
        let rectangle = self.corners.map(|corners| rectangle(row, corners)).transpose()?;
        let fields = self
            .fields
            .iter()
            .filter_map(|(at, name)| text(row, *at).map(|text| (name.clone(), text.to_string())));
        Ok(Object { class, rectangle, fields: fields.collect(), ..Object::default() })
    }
}

fn find(names: &[String], wanted: &str) -> Option<usize> {
    names.iter().position(|name| name == wanted)
}

fn rectangle(row: &TableRow, columns: [usize; 4]) -> Result<[f64; 4], String> {
    let mut rectangle = [0.0; 4];
    for (place, (column, names)) in rectangle.iter_mut().zip(columns.into_iter().zip(CORNERS)) {
        let number = text(row, column).and_then(|text| Number::lenient(text, JsonRules::Strict));
        let number = number.and_then(Number::real);
        *place = number.ok_or_else(|| format!("{} is no number", names[0]))?;
    }
    Ok(rectangle)
}
