//! What can be wrong with annotations: which field, which object, and why.

use std::error::Error;
use std::fmt;

use tarflume_formats::json::JsonFault;
use tarflume_image::ImageSize;

use crate::boxes::AnyBoxFormat;

/// A field that cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The pointer of the field.
    pub pointer: String,
    /// The number of the object, from 0, if it concerns one.
    pub object: Option<u64>,
    /// The byte of the part, if it concerns one.
    pub byte: Option<usize>,
    /// Why.
    pub wrong: Wrong,
}

/// Why a field cannot be read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Wrong {
    /// The text is not JSON.
    Json(String),
    /// The pointer leads nowhere; the names that the outermost object has.
    Missing {
        /// Some names.
        names: Vec<String>,
    },
    /// Another kind of value is expected.
    Kind {
        /// What is expected.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A list has another length.
    Length {
        /// What is expected, in words.
        expected: String,
        /// The length.
        found: u64,
    },
    /// A number is not finite, or is not after its conversion into pixels.
    NotFinite,
    /// A width or a height is negative.
    Negative {
        /// The format of the box.
        format: AnyBoxFormat,
        /// As it is written; of a box with an angle, without the angle.
        numbers: [f64; 4],
    },
    /// A field has more or fewer objects than another one.
    Count {
        /// Objects of this field.
        found: u64,
        /// The pointer of the other one.
        other: String,
        /// Its objects.
        expected: u64,
    },
    /// More objects than a column takes.
    Most {
        /// The limit.
        most: u64,
    },
    /// A polygon has fewer than three points, or a number without a partner.
    Polygon {
        /// Its numbers.
        numbers: u64,
    },
    /// Run lengths without their counts or the size of their mask.
    Runs,
    /// Run lengths of a mask of another size than the picture.
    MaskSize {
        /// Of the mask.
        mask: ImageSize,
        /// Of the picture.
        picture: ImageSize,
    },
    /// Run lengths that do not add up to the pixels of their mask.
    Sum {
        /// The pixels.
        expected: u64,
    },
    /// Compressed run lengths with an impossible character, or an end inside a number.
    Compressed {
        /// The number of the character.
        character: usize,
    },
    /// A text that is not among the labels.
    Text {
        /// The text.
        text: String,
    },
    /// A visibility other than 0, 1 and 2.
    Visibility {
        /// As it is written.
        number: f64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON pointer {:?}", self.pointer)?;
        if let Some(object) = self.object {
            write!(f, ", object {object}")?;
        }
        write!(f, ": {}", self.wrong)?;
        match self.byte {
            Some(byte) => write!(f, ", at byte {byte} of the part"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Json(what) => f.write_str(what),
            Wrong::Missing { names } if names.is_empty() => f.write_str("there is no value"),
            Wrong::Missing { names } => {
                write!(f, "there is no value; the part has {}", names.join(", "))
            }
            Wrong::Kind { expected, found } => write!(f, "expected {expected}, found {found}"),
            Wrong::Length { expected, found } => write!(f, "expected {expected}, found {found}"),
            Wrong::NotFinite => f.write_str("a number is not finite, or would not be in pixels"),
            Wrong::Negative { format, numbers: [a, b, c, d] } => {
                write!(f, "the {format} box [{a}, {b}, {c}, {d}] has a negative width or height")
            }
            Wrong::Count { found, other, expected } => {
                write!(f, "it has {found} objects, and {other:?} has {expected}")
            }
            Wrong::Most { most } => write!(f, "it has more than {most} objects"),
            Wrong::Polygon { numbers } => write!(
                f,
                "a polygon has {numbers} numbers; it has two for each of at least three points"
            ),
            Wrong::Runs => f.write_str("run lengths have \"size\" and \"counts\""),
            Wrong::MaskSize { mask, picture } => {
                write!(f, "the mask is {mask}, and the picture is {picture}")
            }
            Wrong::Sum { expected } => {
                write!(f, "the counts do not add up to the {expected} pixels of the mask")
            }
            Wrong::Compressed { character } => {
                write!(f, "character {character} of the counts is no part of a number")
            }
            Wrong::Text { text } => write!(f, "{text:?} is none of the given labels"),
            Wrong::Visibility { number } => {
                write!(f, "the visibility of a point is {number}; it is 0, 1 or 2")
            }
        }
    }
}

impl Error for Fault {}

impl From<JsonFault> for Fault {
    fn from(fault: JsonFault) -> Fault {
        Fault {
            pointer: String::new(),
            object: None,
            byte: Some(fault.byte),
            wrong: Wrong::Json(fault.what),
        }
    }
}

impl From<Wrong> for Fault {
    fn from(wrong: Wrong) -> Fault {
        Fault { pointer: String::new(), object: None, byte: None, wrong }
    }
}
