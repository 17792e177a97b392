//! Checks the outline of an object: polygons, or a region of COCO as run lengths.

use tarflume_formats::json::Value;

use super::super::ImageSize;
use super::read::{Fault, member, number, numbers};
use crate::problem::ProblemKind;

/// Checks `[[x, y, ..], ..]`, `[x, y, ..]`, or `{"counts": .., "size": [height, width]}`. A region must have the picture's
/// size.
pub(super) fn fault(value: &Value, size: Option<ImageSize>) -> Fault {
    match value {
        Value::Object(_) => region_fault(value, size),
        Value::Array(list) if list.first().is_some_and(|first| first.as_array().is_some()) => {
            list.iter().find_map(polygon_fault)
        }
        Value::Array(list) if list.is_empty() => None,
        Value::Array(_) => polygon_fault(value),
        _ => Some((ProblemKind::BadPolygon, "its outline is no list and no region".into())),
    }
}

fn bad_polygon(reason: String) -> Fault {
    Some((ProblemKind::BadPolygon, reason))
}

fn bad_region(reason: &str) -> Fault {
    Some((ProblemKind::BadRegion, reason.to_string()))
}

fn is_side(side: f64) -> bool {
    side >= 1.0 && side.fract() == 0.0 && side <= f64::from(u32::MAX)
}

fn polygon_fault(value: &Value) -> Fault {
    let Some(found) = numbers(value).filter(|found| found.iter().all(|number| number.is_finite()))
    else {
        return bad_polygon("a polygon is no list of numbers".into());
    };
    match found.len() {
        odd if odd % 2 == 1 => {
            bad_polygon(format!("a polygon has {odd} numbers, not x and y of each point"))
        }
        few if few < 6 => bad_polygon(format!("a polygon has {} points, not 3 or more", few / 2)),
        _ => None,
    }
}

fn region_fault(value: &Value, size: Option<ImageSize>) -> Fault {
    let sides = member(value, "size").and_then(numbers).unwrap_or_default();
    let [height, width] = sides.as_slice() else { return bad_region("its region has no size") };
    if !(is_side(*height) && is_side(*width)) {
        return bad_region("the size of its region is not two whole numbers");
    }
    let own = ImageSize::new(*width as u32, *height as u32);
    let counts = match member(value, "counts") {
        Some(Value::Array(counts)) => counts.iter().map(count).collect(),
        Some(Value::String(text)) => run_lengths(text.as_bytes()),
        _ => None,
    };
    let Some(counts) = counts else { return bad_region("the counts of its region cannot be read") };
    let pixels = u64::from(own.width) * u64::from(own.height);
    let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    if sum != Some(pixels) {
        let sum = sum.map_or("more than 64 bits".to_string(), |sum| sum.to_string());
        let reason =
            format!("the counts of its region add up to {sum}, and {own} has {pixels} pixels");
        return Some((ProblemKind::BadRegion, reason));
    }
    let other = size.filter(|size| *size != own)?;
    Some((ProblemKind::SizeMismatch, format!("the picture is {other}, its region is {own}")))
}

fn count(value: &Value) -> Option<u64> {
    let number = number(value)?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// Decodes the counts of a compressed region, as pycocotools writes them: five bits a character, differences from the
/// fourth count on. `None` for a text of another form.
pub fn run_lengths(text: &[u8]) -> Option<Vec<u64>> {
    let mut counts: Vec<i64> = Vec::new();
    let mut bytes = text.iter();
    while let Some(&first) = bytes.next() {
        let mut value = 0_i64;
        let mut shift = 0;
        let mut byte = first;
        loop {
            let bits = i64::from(byte.checked_sub(48).filter(|&bits| bits < 64)?);
            value |= (bits & 31) << shift;
            shift += 5;
            if bits & 32 == 0 {
                if bits & 16 != 0 {
                    value |= -1 << shift;
                }
                break;
            }
            if shift > 50 {
                return None;
            }
            byte = *bytes.next()?;
        }
        if counts.len() > 2 {
            value = value.checked_add(counts[counts.len() - 2])?;
        }
        counts.push(value);
    }
    counts.into_iter().map(|count| u64::try_from(count).ok()).collect()
}
