//! Writes the rows of the objects that are kept, and bounds their bytes.

use tarflume_annotations::boxes::AnyBoxFormat;
use tarflume_annotations::read::Value;
use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result, Row};

use super::fields::{Boxes, FieldKind, Keypoints, ObjectValues};
use super::group::{Group, JSON};
use super::kept::{Kept, Lists};
use crate::decode::values::number::Number;
use crate::decode::values::rotated::{numbers_of, scaled};

/// The shortest texts of an object of each kind in a list, with a comma: `1,`, `[],`; of a box a number for each of its
/// numbers, and a bracket more, as in `[0,0,0,0],`.
const NUMBER: u64 = 2;
const LIST: u64 = 3;
/// Bytes of memory that a list takes for each byte of JSON: a number of two bytes is a value of 32, and lists grow by doubling.
/// A box with an angle of 12 bytes is three lists of 160 bytes together.
pub(super) const READ: u64 = 32;
/// Bytes of memory of a keypoint: three numbers and a place, in lists that grow by doubling.
const POINT: u64 = 2 * 40;
/// Bytes of a number in rows of boxes and points.
const SINGLE: usize = size_of::<f32>();

impl Group {
    /// The most bytes of a row, from the lengths of the parts. `pixels` are those of the stored picture, if they are known.
    pub(super) fn room(&self, kind: &FieldKind, lengths: &[u64], pixels: Option<u64>) -> u64 {
        let json = lengths.get(JSON).copied().unwrap_or(0);
        match kind {
            FieldKind::Boxes(of) => of.most(json) * (of.out.count() * SINGLE) as u64,
            FieldKind::Values(of) => (json / NUMBER + 1) * of.dtype.size() as u64,
            FieldKind::Points(of) => {
                (json / LIST + 1).saturating_mul(3 * (of.form.count * SINGLE) as u64)
            }
            FieldKind::Masks(of) => {
                let objects = (json / LIST + 1).min(of.most as u64);
                objects.saturating_mul(self.bytes_of_mask(of, pixels))
            }
        }
    }

    /// The most boxes in a JSON part of this length.
    pub(super) fn most_boxes(&self, length: u64) -> u64 {
        match self.boxes_at().map(|at| &self.columns[at].kind) {
            Some(FieldKind::Boxes(of)) => of.most(length),
            _ => 0,
        }
    }

    /// Bytes of memory for the lists of all columns, from the length of the JSON part.
    pub(super) fn memory_of_lists(&self, json: u64) -> u64 {
        let each = self.columns.iter().map(|column| match &column.kind {
            FieldKind::Points(of) => READ.max(POINT * of.form.count as u64 / LIST),
            _ => READ,
        });
        each.fold(0, u64::saturating_add).saturating_mul(json)
    }

    /// Writes the row of column `at`.
    ///
    /// # Errors
    /// A number does not fit the type of the column, or memory is short.
    pub(super) fn write(&self, at: usize, kept: &mut Kept, mut row: Row<'_>) -> Result<()> {
        let lists = &kept.lists[at];
        let written = match &self.columns[at].kind {
            FieldKind::Boxes(of) => boxes(of, lists, kept, row.bytes()),
            FieldKind::Values(of) => values(of, lists, kept, row.bytes())?,
            FieldKind::Points(of) => points(of, lists, kept, row.bytes()),
            FieldKind::Masks(_) => return self.write_masks(at, kept, row),
        };
        let room = row.bytes().len();
        let written = written.ok_or_else(|| {
            Error::new(ErrorKind::Decode, format!("objects do not fit a row of {room} bytes"))
        })?;
        row.set_used(written);
        Ok(())
    }
}

/// Writes numbers from the begin of a row on. Returns the bytes that were written; `None` if the row is too short.
fn put(row: &mut [u8], numbers: impl Iterator<Item = f32>) -> Option<usize> {
    let mut at = 0;
    for number in numbers {
        row.get_mut(at..at + SINGLE)?.copy_from_slice(&number.to_ne_bytes());
        at += SINGLE;
    }
    Some(at)
}

/// What coordinates are divided by.
fn sides(size: ImageSize, normalize: bool) -> [f64; 2] {
    if normalize { [f64::from(size.width), f64::from(size.height)] } else { [1.0, 1.0] }
}

impl Boxes {
    /// The most boxes in a JSON part of this length.
    fn most(&self, length: u64) -> u64 {
        length / (NUMBER * (self.format.count() as u64 + 1)) + 1
    }
}

fn boxes(of: &Boxes, lists: &Lists, kept: &Kept, row: &mut [u8]) -> Option<usize> {
    let [width, height] = sides(kept.size, of.normalize);
    let format = match of.out {
        AnyBoxFormat::Plain(format) => format,
        AnyBoxFormat::Rotated(format) => {
            let by = [1.0 / width, 1.0 / height];
            let numbers = kept.chosen.iter().flat_map(|&object| {
                let numbers = numbers_of(format, &lists.quads[object]);
                scaled(format, numbers, by).into_iter().take(format.count())
            });
            return put(row, numbers.map(|number| number as f32));
        }
    };
    let numbers = kept.chosen.iter().flat_map(|&object| {
        let [a, b, c, d] = format.of_corners(lists.boxes[object]);
        [a / width, b / height, c / width, d / height]
    });
    put(row, numbers.map(|number| number as f32))
}

fn points(of: &Keypoints, lists: &Lists, kept: &Kept, row: &mut [u8]) -> Option<usize> {
    let [width, height] = sides(kept.size, of.normalize);
    let count = of.form.count;
    let points = kept.chosen.iter().flat_map(|&object| &lists.points[object * count..][..count]);
    let numbers = points.flat_map(|&[x, y, visibility]| [x / width, y / height, visibility]);
    put(row, numbers.map(|number| number as f32))
}

fn values(of: &ObjectValues, lists: &Lists, kept: &Kept, row: &mut [u8]) -> Result<Option<usize>> {
    let mut at = 0;
    for &object in &kept.chosen {
        let number = match lists.values[object] {
            Value::Whole(whole) => Number::Whole(whole),
            Value::Real(real) => Number::Real(real),
        };
        let Some((bytes, size)) = number.encode(of.dtype) else {
            let pointer = of.field.as_ref().map(|field| field.text()).unwrap_or_default();
            let what = number.misfit(of.dtype);
            let text = format!("JSON pointer {pointer:?}, object {object}: {what}");
            return Err(Error::new(ErrorKind::Decode, text));
        };
        let Some(to) = row.get_mut(at..at + size) else { return Ok(None) };
        to.copy_from_slice(&bytes[..size]);
        at += size;
    }
    Ok(Some(at))
}
