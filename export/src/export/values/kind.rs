//! `Kind`: the type of a field's column, and whether the numbers of a value fit it without a change.

use tarflume_formats::json::{Number, Value};

/// The floats of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floats {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Only nulls.
    Null,
    /// Booleans.
    Bool,
    /// Integers of 64 bits.
    Int,
    /// Floats of 64 bits, or floats and integers.
    Float,
    /// Text.
    Text,
    /// Lists of values of one type.
    List(Item),
    /// Lists of lists, of objects, or of several types, as JSON text.
    Json,
}

/// The type of the values in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// All lists are empty.
    None,
    /// Booleans.
    Bool,
    /// Integers of 64 bits.
    Int,
    /// Floats of 64 bits, or floats and integers.
    Float,
    /// Text.
    Text,
}

/// Whether the numbers of a value fit a column. The texts are the first numbers that do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit<'v> {
    /// They fit.
    Yes,
    /// They fit a column of integers, and not one of floats.
    Wide(&'v str),
    /// They fit no column of numbers, and have a nearest float.
    No(&'v str),
    /// They fit no column of numbers, and the nearest float is infinite.
    Beyond(&'v str),
}

impl<'v> Fit<'v> {
    fn of(number: Number<'v>, floats: Floats) -> Fit<'v> {
        let text = number.text();
        let near = match floats {
            Floats::Single => number.nearest_single().into(),
            Floats::Double => number.nearest(),
        };
        if near.is_infinite() && !number.is_special() {
            return Fit::Beyond(text);
        }
        if number.is_integer() {
            let Ok(whole) = text.parse::<i64>() else { return Fit::No(text) };
            return if near as i128 == i128::from(whole) { Fit::Yes } else { Fit::Wide(text) };
        }
        let fits = number.real().is_some_and(|real| match floats {
            Floats::Single => is_single(near as f32, real),
            Floats::Double => true,
        });
        if fits { Fit::Yes } else { Fit::No(text) }
    }

    /// Returns what holds for two values of a list.
    fn and(self, other: Fit<'v>) -> Fit<'v> {
        match (self, other) {
            (Fit::Beyond(_), _)
            | (Fit::No(_), Fit::Yes | Fit::Wide(_) | Fit::No(_))
            | (Fit::Wide(_), Fit::Yes | Fit::Wide(_)) => self,
            _ => other,
        }
    }
}

/// Returns true if a float of 64 bits is equal to one of 32 bits, or has its digits: 0.1 is written with both.
fn is_single(single: f32, real: f64) -> bool {
    real.is_nan() || f64::from(single) == real || single.to_string().parse() == Ok(real)
}

impl FieldKind {
    /// Returns the type of a value, and whether its numbers fit a column of this type.
    pub(crate) fn of(value: &Value, floats: Floats) -> (FieldKind, Fit<'_>) {
        let kind = match value {
            Value::Null => FieldKind::Null,
            Value::Bool(_) => FieldKind::Bool,
            Value::String(_) => FieldKind::Text,
            Value::Object(_) => FieldKind::Json,
            Value::Array(items) => return FieldKind::of_list(items, floats),
            Value::Number(text) => {
                let is_int = text.parse::<i64>().is_ok();
                let fit = value.as_number().map_or(Fit::Yes, |number| Fit::of(number, floats));
                return (if is_int { FieldKind::Int } else { FieldKind::Float }, fit);
            }
        };
        (kind, Fit::Yes)
    }

    fn of_list(items: &[Value], floats: Floats) -> (FieldKind, Fit<'_>) {
        let mut all = Item::None;
        let mut fit = Fit::Yes;
        for item in items {
            let (kind, fits) = FieldKind::of(item, floats);
            let item = match kind {
                FieldKind::Bool => Item::Bool,
                FieldKind::Int => Item::Int,
                FieldKind::Float => Item::Float,
                FieldKind::Text => Item::Text,
                // Written as JSON, which holds every number.
                FieldKind::Null | FieldKind::List(_) | FieldKind::Json => {
                    return (FieldKind::Json, Fit::Yes);
                }
            };
            let Some(both) = all.with(item) else { return (FieldKind::Json, Fit::Yes) };
            (all, fit) = (both, fit.and(fits));
        }
        let fit = match fit {
            Fit::Wide(text) if all == Item::Float => Fit::No(text),
            fit => fit,
        };
        (FieldKind::List(all), fit)
    }

    /// Returns true for floats and lists of them.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, FieldKind::Float | FieldKind::List(Item::Float))
    }

    /// Returns the type with texts in place of numbers.
    pub(crate) fn as_text(self) -> FieldKind {
        match self {
            FieldKind::Int | FieldKind::Float => FieldKind::Text,
            FieldKind::List(Item::Int | Item::Float) => FieldKind::List(Item::Text),
            other => other,
        }
    }

    /// Returns the type that holds the values of both, if there is one.
    pub(crate) fn with(self, other: FieldKind) -> Option<FieldKind> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (FieldKind::Null, kind) | (kind, FieldKind::Null) => Some(kind),
            (FieldKind::Int, FieldKind::Float) | (FieldKind::Float, FieldKind::Int) => {
                Some(FieldKind::Float)
            }
            (FieldKind::List(a), FieldKind::List(b)) => a.with(b).map(FieldKind::List),
            (FieldKind::List(_), FieldKind::Json) | (FieldKind::Json, FieldKind::List(_)) => {
                Some(FieldKind::Json)
            }
            _ => None,
        }
    }

    /// Returns the type in words, with its article.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FieldKind::Null => "null",
            FieldKind::Bool => "a boolean",
            FieldKind::Int => "an integer",
            FieldKind::Float => "a fraction",
            FieldKind::Text => "a string",
            FieldKind::List(Item::None) => "an empty list",
            FieldKind::List(Item::Bool) => "a list of booleans",
            FieldKind::List(Item::Int) => "a list of integers",
            FieldKind::List(Item::Float) => "a list of fractions",
            FieldKind::List(Item::Text) => "a list of strings",
            FieldKind::Json => "a list of several types",
        }
    }
}

impl Item {
    fn with(self, other: Item) -> Option<Item> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Item::None, item) | (item, Item::None) => Some(item),
            (Item::Int, Item::Float) | (Item::Float, Item::Int) => Some(Item::Float),
            _ => None,
        }
    }
}
