//! Floats of sources as JSON: the fewest digits that read back as the same number, and the one rule for `NaN` and
//! infinite numbers ([decision 079](../../docs/decisions/079-nan.md)). Pure.

use tarflume_base::json_rules::remedy;
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;

/// A number that JSON lacks: `NaN` or an infinite one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFinite(pub(crate) &'static str);

impl NotFinite {
    /// Returns what is wrong, and the remedy.
    pub fn message(self) -> Message {
        message!("it is {}, which JSON lacks; {remedy}", self.0; remedy = remedy())
    }
}

/// Returns a number of 64 bits as JSON. Python's rules have words for those that JSON lacks.
///
/// # Errors
/// Returns the number if JSON by these rules has none.
pub fn double(value: f64, rules: JsonRules) -> Result<Value, NotFinite> {
    match (serde_json::Number::from_f64(value), rules) {
        (Some(number), _) => Ok(Value::Number(number.to_string().into())),
        (None, JsonRules::Python) => Ok(Value::Number(word_of(value).into())),
        (None, JsonRules::Strict) => Err(NotFinite(word_of(value))),
    }
}

/// Returns a number of 32 bits as JSON: with the fewest digits that name it, if also a reader that goes through 64 bits
/// finds it by them; `7.038531e-26` names another number there.
///
/// # Errors
/// Returns the number if JSON by these rules has none.
pub fn single(value: f32, rules: JsonRules) -> Result<Value, NotFinite> {
    let wide = f64::from(value);
    let short = value.to_string().parse().unwrap_or(wide);
    double(if short as f32 == value { short } else { wide }, rules)
}

/// Returns the word of JSON for a word by which programs write `NaN` or an infinite number.
pub(crate) fn word(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix(['-', '+']).unwrap_or(text);
    match text.starts_with('-') {
        _ if name.eq_ignore_ascii_case("nan") => Some("NaN"),
        true if name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity") => {
            Some("-Infinity")
        }
        false if name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity") => {
            Some("Infinity")
        }
        _ => None,
    }
}

fn word_of(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_32_bits_reads_back_directly_and_through_64_bits() {
        let mut patterns: Vec<u32> = (0..200_000u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect(); // far apart
        // The shortest digits of these name another number through 64 bits.
        patterns.extend([0x15ae_43fd, 0x95ae_43fd]);
        patterns.extend([0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x8000_0000, 0x3dcc_cccd]);
        for bits in patterns {
            let value = f32::from_bits(bits);
            let Ok(number) = single(value, JsonRules::Strict) else {
                assert!(!value.is_finite());
                continue;
            };
            let text = number.to_string();
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits, "{text}");
            assert_eq!((text.parse::<f64>().unwrap() as f32).to_bits(), bits, "{text}");
        }
        for (value, text) in [(0.1, "0.1"), (16_777_216.0, "16777216.0")] {
            assert_eq!(single(value, JsonRules::Strict).unwrap().to_string(), text);
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_refused_or_python_s_words() {
        for (value, word) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")]
        {
            assert_eq!(double(value, JsonRules::Strict), Err(NotFinite(word)));
            assert_eq!(double(value, JsonRules::Python).unwrap().to_string(), word);
            assert_eq!(single(value as f32, JsonRules::Python).unwrap().to_string(), word);
        }
        let refused = double(f64::NAN, JsonRules::Strict).unwrap_err().message();
        assert_eq!(refused, message!("it is NaN, which JSON lacks; {remedy}"; remedy = remedy()));
    }

    #[test]
    fn the_words_of_other_programs_are_known() {
        for (text, json) in [
            ("NaN", Some("NaN")),
            ("-nan", Some("NaN")),
            ("NAN", Some("NaN")),
            ("inf", Some("Infinity")),
            ("+Inf", Some("Infinity")),
            ("-Infinity", Some("-Infinity")),
            ("NA", None),
            ("--inf", None),
            ("nancy", None),
            ("", None),
        ] {
            assert_eq!(word(text), json, "{text}");
        }
    }
}
