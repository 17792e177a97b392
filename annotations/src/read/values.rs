//! Values of objects beside their place: labels, areas, flags.

use std::collections::HashMap;

use tarflume_formats::json::Token;

use crate::fault::{Fault, Wrong};
use crate::field::{Field, wrong_kind};
use crate::part::Part;

/// A value of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number, `true` (1) or `false` (0), or the number of a text.
    Whole(i128),
    /// A number with a fraction or an exponent.
    Real(f64),
}

/// Appends the value of each object. `labels` numbers texts. Returns the number of objects.
///
/// # Errors
/// The text is not JSON, or an object has another value.
///
/// ```
/// use tarflume_annotations::field::Field;
/// use tarflume_annotations::read::{Part, Value, values};
///
/// let bytes = br#"{"area": [7, 2.5]}"#;
/// let part = Part { bytes, rules: Default::default(), on: tarflume_image::ImageSize::new(64, 48) };
/// let mut found = Vec::new();
/// values(&Field::parse("/area").unwrap(), part, None, &mut found)?;
/// assert_eq!(found, [Value::Whole(7), Value::Real(2.5)]);
/// # Ok::<(), tarflume_annotations::fault::Fault>(())
/// ```
pub fn values(
    field: &Field,
    part: Part<'_>,
    labels: Option<&HashMap<String, i64>>,
    to: &mut Vec<Value>,
) -> Result<u64, Fault> {
    field.each(part.bytes, part.rules, |scan, _| {
        let token = scan.token()?;
        let value = match token {
            Token::Number => {
                let number = scan.take_number()?;
                match number.whole().filter(|_| number.is_integer()) {
                    Some(whole) => Value::Whole(whole),
                    None => Value::Real(number.nearest()),
                }
            }
            Token::True | Token::False => {
                scan.word(token);
                Value::Whole(i128::from(token == Token::True))
            }
            Token::String => match labels {
                Some(labels) => {
                    let text = scan.take_string()?;
                    let found = labels.get(text.as_ref());
                    let found = found.ok_or_else(|| Wrong::Text { text: text.into_owned() })?;
                    Value::Whole(i128::from(*found))
                }
                None => return Err(wrong_kind("a number", token).into()),
            },
            other => return Err(wrong_kind("a number", other).into()),
        };
        to.push(value);
        Ok(())
    })
}
