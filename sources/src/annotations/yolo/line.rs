//! One line of a label file.

use tarflume_formats::json::{JsonRules, Number};

use super::names::Names;

/// An object of an image.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object {
    /// The number of its class.
    pub(super) class: i64,
    /// Center, width and height.
    pub(super) rectangle: [f64; 4],
    /// What the line has beside the box.
    pub(super) points: Points,
}

/// The points of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Points {
    /// None.
    Nothing,
    /// The corners of its outline: x, y, x, y and so on.
    Polygon(Vec<f64>),
    /// Keypoints, as many numbers as the data set declares.
    Keypoints(Vec<f64>),
}

impl Points {
    pub(super) fn polygon(&self) -> Option<&Vec<f64>> {
        match self {
            Points::Polygon(numbers) => Some(numbers),
            _ => None,
        }
    }

    pub(super) fn keypoints(&self) -> Option<&Vec<f64>> {
        match self {
            Points::Keypoints(numbers) => Some(numbers),
            _ => None,
        }
    }
}

impl Object {
    /// Parses a line.
    ///
    /// # Errors
    /// Returns the reason for a line that is none of an object.
    pub(super) fn parse(line: &str, names: &Names) -> Result<Object, String> {
        let mut words = line.split_ascii_whitespace();
        let class = words.next().unwrap_or_default();
        let known = names.classes.len() as i64;
        let class = match class.parse::<i64>() {
            Ok(class) if class >= 0 && (known == 0 || class < known) => class,
            Ok(class) if class >= 0 => {
                return Err(format!("class {class}, but there are {known} names of classes"));
            }
            _ => return Err(format!("'{}' is no number of a class", class.escape_debug())),
        };
        let numbers = words.map(number).collect::<Result<Vec<f64>, String>>()?;
        let keypoints =
            names.keypoints.as_ref().map(|table| (table.points * table.values) as usize);
        let keypoints = keypoints.filter(|points| numbers.len() == 4 + points);
        let (rectangle, points) = match numbers.as_slice() {
            [x, y, w, h] => ([*x, *y, *w, *h], Points::Nothing),
            [x, y, w, h, rest @ ..] if keypoints.is_some() => {
                ([*x, *y, *w, *h], Points::Keypoints(rest.to_vec()))
            }
            polygon if polygon.len() >= 6 && polygon.len() % 2 == 0 => {
                (around(polygon), Points::Polygon(polygon.to_vec()))
            }
            other => {
                return Err(format!(
                    "{} numbers after the class; a box has 4, a polygon 6, 8 or more",
                    other.len()
                ));
            }
        };
        Ok(Object { class, rectangle, points })
    }
}

fn number(word: &str) -> Result<f64, String> {
    let number = Number::lenient(word, JsonRules::Strict)
        .ok_or_else(|| format!("'{}' is no number", word.escape_debug()))?;
    number
        .real()
        .ok_or_else(|| format!("{word:.60} has more digits than a float, or is out of its range"))
}

/// Returns the box around a polygon.
fn around(polygon: &[f64]) -> [f64; 4] {
    let (x, w) = span(0, polygon);
    let (y, h) = span(1, polygon);
    [x, y, w, h]
}

fn span(first: usize, polygon: &[f64]) -> (f64, f64) {
    let values = polygon.iter().skip(first).step_by(2);
    let mut least = f64::INFINITY;
    let mut most = f64::NEG_INFINITY;
    values.for_each(|&value| (least, most) = (least.min(value), most.max(value)));
    ((least + most) / 2.0, most - least)
}
