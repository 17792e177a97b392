//! Keypoints: `x, y, visibility` of each point of each object.

use tarflume_formats::json::Token;

use crate::fault::{Fault, Wrong};
use crate::field::{Field, wrong_kind};
use crate::part::{Part, list, number};

/// How keypoints are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points {
    /// Points of an object.
    pub count: usize,
    /// Whether coordinates are fractions of the picture's sides.
    pub relative: bool,
}

/// Appends the points of each object: x and y in pixels, and the visibility: 0 for a point that is not labelled, 1 for one
/// that is hidden, 2 for one that is seen. An object is a list of three numbers for each point, `null`, or an empty list,
/// which labels none of its points. Returns the number of objects.
///
/// # Errors
/// The text is not JSON, or an object has another number of points, a coordinate that is not finite, or another visibility.
///
/// ```
/// use tarflume_annotations::field::Field;
/// use tarflume_annotations::read::{Part, Points, points};
///
/// let bytes = br#"{"keypoints": [[5, 6, 2, 0, 0, 0], []]}"#;
/// let part = Part { bytes, rules: Default::default(), on: tarflume_image::ImageSize::new(64, 48) };
/// let mut found = Vec::new();
/// points(&Field::parse("/keypoints").unwrap(), part, Points { count: 2, relative: false }, &mut found)?;
/// assert_eq!(found, [[5.0, 6.0, 2.0], [0.0; 3], [0.0; 3], [0.0; 3]]);
/// # Ok::<(), tarflume_annotations::fault::Fault>(())
/// ```
pub fn points(
    field: &Field,
    part: Part<'_>,
    form: Points,
    to: &mut Vec<[f64; 3]>,
) -> Result<u64, Fault> {
    field.each(part.bytes, part.rules, |scan, _| {
        let first = to.len();
        match scan.token()? {
            Token::Null => scan.word(Token::Null),
            Token::Array => object(scan, part, form, to)?,
            other => return Err(wrong_kind("a list of numbers", other).into()),
        }
        if to.len() == first {
            to.resize(first + form.count, [0.0; 3]);
        }
        Ok(())
    })
}

/// The points of one object: triples in one list, or a list of triples.
fn object(
    scan: &mut tarflume_formats::json::Scan<'_>,
    part: Part<'_>,
    form: Points,
    to: &mut Vec<[f64; 3]>,
) -> Result<(), Fault> {
    let first = to.len();
    let wanted = 3 * form.count as u64;
    let mut count = 0;
    let mut point = [0.0; 3];
    list(scan, "a list of numbers", |scan| {
        let mut take = |number: f64| {
            point[(count % 3) as usize] = number;
            count += 1;
            // What is too much is counted, and not kept.
            if count % 3 == 0 && count <= wanted {
                to.push(in_pixels(point, part, form)?);
            }
            Ok::<(), Fault>(())
        };
        if scan.token()? == Token::Array {
            return list(scan, "a list of three numbers", |scan| take(number(scan)?));
        }
        take(number(scan)?)
    })?;
    if count == wanted || count == 0 {
        return Ok(());
    }
    to.truncate(first);
    let expected = format!("{wanted} numbers, three for each of {} points", form.count);
    Err(Wrong::Length { expected, found: count }.into())
}

fn in_pixels(point: [f64; 3], part: Part<'_>, form: Points) -> Result<[f64; 3], Wrong> {
    let [mut x, mut y, visibility] = point;
    if form.relative {
        x *= f64::from(part.on.width);
        y *= f64::from(part.on.height);
    }
    if !x.is_finite() || !y.is_finite() {
        return Err(Wrong::NotFinite);
    }
    if visibility != 0.0 && visibility != 1.0 && visibility != 2.0 {
        return Err(Wrong::Visibility { number: visibility });
    }
    Ok([x, y, visibility])
}
