//! The bounds of fields in a policy with the values of today, and in a comment how each was chosen.

use tarflume_formats::json::Value;
use tarflume_formats::shown;
use tarflume_inspect::field_values::{FieldTally, FieldValues, ValueKind};

/// More different texts are no list of words.
const WORDS: usize = 20;
/// Whole numbers below it are floats of 64 bits, too.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What a policy demands of a field.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    /// How it was chosen.
    why: String,
    lines: Vec<String>,
}

/// Returns a table for each field; `prefix` is that of the data set.
pub(super) fn tables(values: &FieldValues, prefix: &str, tolerance: f64) -> String {
    let mut text = String::new();
    for ext in &values.many {
        text.push_str(&format!("\n# {ext}: more fields than are looked at; none has bounds\n"));
    }
    for (field, tally) in &values.fields {
        let Chosen { why, lines } = chosen(tally, values.samples, tolerance);
        let name = shown::json(&field.strip_prefix("json:").unwrap_or(field));
        text.push_str(&format!("\n# {why}\n[{prefix}fields.{name}]\n{}\n", lines.join("\n")));
    }
    text
}

fn chosen(tally: &FieldTally, samples: u64, tolerance: f64) -> Chosen {
    let kinds: Vec<ValueKind> = tally.kinds.iter().copied().collect();
    let mut chosen = match kinds.as_slice() {
        [ValueKind::Flag] => of_type("boolean", "true or false"),
        [ValueKind::List] => of_type("array", "lists, whose values have no bounds"),
        [ValueKind::Text] => texts(tally),
        [ValueKind::Whole] => whole(tally, tolerance),
        [ValueKind::Fraction] | [ValueKind::Whole, ValueKind::Fraction] => {
            fractions(tally, tolerance)
        }
        _ => Chosen {
            why: "values of several types, or no finite numbers".into(),
            lines: Vec::new(),
        },
    };
    chosen.lines.push(format!("required = \"{}%\"", share(tally.samples, samples, tolerance)));
    chosen
}

/// Returns the share of the samples that have something, in percent: all, or less than today.
pub(super) fn share(count: u64, samples: u64, tolerance: f64) -> f64 {
    if count >= samples {
        return 100.0;
    }
    let share = count as f64 * 100.0 / samples as f64;
    (share * (1.0 - tolerance / 100.0) * 10.0).floor() / 10.0
}

fn of_type(word: &str, why: impl Into<String>) -> Chosen {
    Chosen { why: why.into(), lines: vec![format!("type = \"{word}\"")] }
}

/// Few texts that repeat are words of a list.
fn texts(tally: &FieldTally) -> Chosen {
    let different = tally.different().filter(|different| !different.is_empty());
    let words = different.filter(|different| {
        let repeat = tally.samples >= 2 * different.len() as u64;
        different.len() <= WORDS && repeat && !tally.has_long_texts
    });
    let Some(words) = words else { return of_type("string", "texts") };
    let mut words: Vec<String> =
        words.into_iter().filter_map(Value::as_str).map(|word| shown::json(&word)).collect();
    words.sort_unstable();
    let mut chosen = of_type("string", format!("the {} different texts of today", words.len()));
    chosen.lines.push(format!("enum = [{}]", words.join(", ")));
    chosen
}

/// Whole numbers: exact if few differ, as labels and counts; no range if nearly all differ, as identifiers.
fn whole(tally: &FieldTally, tolerance: f64) -> Chosen {
    let [Some(min), Some(max)] = [&tally.min, &tally.max].map(whole_of) else {
        return of_type("integer", "whole numbers of more than 64 bits: no range");
    };
    if let Some(different) = tally.different() {
        let count = different.len();
        let why = format!("{count} different whole numbers: exactly the range of today");
        return ranged("integer", why, min.to_string(), max.to_string());
    }
    if tally.are_identifiers() {
        return of_type(
            "integer",
            "whole numbers that nearly all differ, as identifiers: no range",
        );
    }
    let range = widened(min as f64, max as f64, tolerance);
    let [low, high] = [range[0].floor(), range[1].ceil()];
    if low.abs().max(high.abs()) > EXACT {
        return of_type("integer", "whole numbers of more than 53 bits: no range");
    }
    let why = format!("many different whole numbers: the range of today and {tolerance}% of room");
    ranged("integer", why, format!("{low}"), format!("{high}"))
}

fn fractions(tally: &FieldTally, tolerance: f64) -> Chosen {
    let ends = [&tally.min, &tally.max].map(|value| Some(value.as_ref()?.as_number()?.nearest()));
    let [Some(min), Some(max)] = ends else { return of_type("number", "numbers: no range") };
    let range = widened(min, max, tolerance);
    if !range.iter().all(|end| end.is_finite()) {
        return of_type("number", "numbers beyond 64 bits: no range");
    }
    let why = format!("numbers: the range of today and {tolerance}% of room");
    let room = (max - min) * tolerance / 100.0;
    let [low, high] = [outward(range[0], room, f64::floor), outward(range[1], room, f64::ceil)];
    ranged("number", why, low, high)
}

/// Returns the end of a range with two digits of its room, rounded by `round`. Its form has a point or an exponent, as
/// floats of TOML.
fn outward(end: f64, room: f64, round: fn(f64) -> f64) -> String {
    if room == 0.0 || end.abs() >= 1e15 {
        return format!("{end:?}");
    }
    let digits = (1.0 - room.log10().floor()).clamp(0.0, 15.0) as i32;
    let scale = 10f64.powi(digits);
    format!("{:?}", round(end * scale) / scale)
}

fn ranged(word: &str, why: String, min: String, max: String) -> Chosen {
    let mut chosen = of_type(word, why);
    chosen.lines.push(format!("min = {min}"));
    chosen.lines.push(format!("max = {max}"));
    chosen
}

/// Returns the range with room at both ends. Where nothing is negative, nothing may become so, and a share stays one.
fn widened(min: f64, max: f64, tolerance: f64) -> [f64; 2] {
    let room = (max - min) * tolerance / 100.0;
    let low = if min >= 0.0 { (min - room).max(0.0) } else { min - room };
    let is_share = min >= 0.0 && max <= 1.0;
    [low, if is_share { (max + room).min(1.0) } else { max + room }]
}

fn whole_of(value: &Option<Value>) -> Option<i64> {
    value.as_ref()?.as_number()?.whole().and_then(|whole| i64::try_from(whole).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_room_but_neither_below_zero_nor_above_a_whole() {
        assert_eq!(widened(-10.0, 10.0, 5.0), [-11.0, 11.0]);
        assert_eq!(widened(2.0, 102.0, 5.0), [0.0, 107.0]);
        assert_eq!(widened(0.1, 1.0, 5.0), [0.1 - 0.045, 1.0]);
        assert_eq!(widened(7.5, 7.5, 5.0), [7.5, 7.5]);
    }

    #[test]
    fn the_ends_of_a_range_are_rounded_outward_to_two_digits_of_the_room() {
        assert_eq!(outward(0.629475, 0.029975, f64::ceil), "0.63");
        assert_eq!(outward(-0.029975, 0.029975, f64::floor), "-0.03");
        assert_eq!(outward(123.456, 12.0, f64::ceil), "124.0");
        assert_eq!(outward(7.5, 0.0, f64::ceil), "7.5");
        assert_eq!(outward(1e300, 1e299, f64::ceil), "1e300");
        assert_eq!(outward(1.0, 0.045, f64::ceil), "1.0");
    }

    #[test]
    fn a_share_is_all_or_less_than_today() {
        assert_eq!(share(12, 12, 5.0), 100.0);
        assert_eq!(share(6, 12, 5.0), 47.5);
        assert_eq!(share(0, 12, 5.0), 0.0);
    }
}
