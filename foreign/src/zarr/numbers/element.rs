//! `Element`: the type of an array's numbers, and the bytes of its fill value. Pure.

use half::{bf16, f16};
use serde_json::Value;
use tarflume_formats::number_kind::{NumberClass, NumberKind};

use crate::zarr::faults::ArrayFault;

/// The type of the numbers of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element(NumberKind);

impl Element {
    /// Returns the type with this name.
    pub(in crate::zarr) fn of_name(name: &str) -> Option<Element> {
        NumberKind::of_name(name).map(Element)
    }

    /// Returns the type of an array of version 2, `<f4` or `|b1`, and true if its numbers are big-endian.
    pub(in crate::zarr) fn of_v2(text: &str) -> Option<(Element, bool)> {
        let mut letters = text.chars();
        let order = letters.next()?;
        let class = match letters.next()? {
            'b' => NumberClass::Bool,
            'i' => NumberClass::Int,
            'u' => NumberClass::Uint,
            'f' => NumberClass::Float,
            _ => return None,
        };
        let size: usize = letters.as_str().parse().ok()?;
        let is_big = match order {
            '<' => false,
            '>' => true,
            '|' if size == 1 => false,
            _ => return None,
        };
        NumberKind::new(class, size).map(|kind| (Element(kind), is_big))
    }

    /// Returns the bytes of a number.
    pub fn size(self) -> usize {
        self.0.size()
    }

    /// Returns what a number is.
    pub(in crate::zarr) fn class(self) -> NumberClass {
        self.0.class()
    }

    /// Returns numpy's name of the type, or `bfloat16`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the little-endian bytes of a fill value.
    ///
    /// # Errors
    /// Returns an error for a value of another type.
    pub(in crate::zarr) fn fill(self, value: &Value) -> Result<Vec<u8>, ArrayFault> {
        let bits = match self.class() {
            NumberClass::Bool => match value {
                Value::Bool(is_true) => Some(u64::from(*is_true)),
                // Version 2 has numbers, too.
                other => whole(other).filter(|n| matches!(n, 0 | 1)).map(|n| n as u64),
            },
            NumberClass::Int => whole(value).filter(|&n| self.holds(n)).map(|n| n as u64),
            NumberClass::Uint => {
                whole(value).filter(|&n| n >= 0 && n >> (8 * self.size()) == 0).map(|n| n as u64)
            }
            NumberClass::Float | NumberClass::Brain => self.float(value),
        };
        let bits = bits.ok_or_else(|| {
            ArrayFault::metadata(format!(
                "the fill value {value} is none of the type {}",
                self.name()
            ))
        })?;
        Ok(bits.to_le_bytes()[..self.size()].to_vec())
    }

    fn holds(self, number: i128) -> bool {
        let most = 1i128 << (8 * self.size() - 1);
        (-most..most).contains(&number)
    }

    /// Returns the bits of a float: of a number, a word, or hex digits.
    fn float(self, value: &Value) -> Option<u64> {
        let number = match value {
            Value::Number(number) => number.as_f64()?,
            Value::String(word) => match word.as_str() {
                "NaN" => return Some(self.quiet_nan()),
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                hex => {
                    let digits =
                        hex.strip_prefix("0x").filter(|digits| digits.len() == 2 * self.size())?;
                    // `from_str_radix` takes a sign.
                    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                    return u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
                }
            },
            _ => return None,
        };
        Some(match (self.class(), self.size()) {
            (NumberClass::Brain, _) => bf16::from_f64(number).to_bits().into(),
            (_, 2) => f16::from_f64(number).to_bits().into(),
            (_, 4) => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        })
    }

    /// Returns the bits of the NaN that `"NaN"` stands for: without a sign, the first bit of the mantissa alone.
    fn quiet_nan(self) -> u64 {
        match (self.class(), self.size()) {
            (NumberClass::Brain, _) => 0x7fc0,
            (_, 2) => 0x7e00,
            (_, 4) => 0x7fc0_0000,
            _ => 0x7ff8_0000_0000_0000,
        }
    }
}

/// Returns a whole number, also one that is written as a float.
fn whole(value: &Value) -> Option<i128> {
    let Value::Number(number) = value else { return None };
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let number = number.as_f64()?;
    let is_whole = number.fract() == 0.0 && number.abs() < 9.1e15;
    is_whole.then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(name: &str, value: &Value) -> Option<Vec<u8>> {
        Element::of_name(name).unwrap().fill(value).ok()
    }

    #[test]
    fn fill_values_are_numbers_words_and_bits() {
        for (name, value, bytes) in [
            ("bool", json!(true), vec![1]),
            ("int8", json!(-128), vec![0x80]),
            ("uint64", json!(u64::MAX), vec![0xff; 8]),
            ("int64", json!(i64::MIN), i64::MIN.to_le_bytes().to_vec()),
            ("int32", json!(3.0), 3i32.to_le_bytes().to_vec()),
            ("float16", json!(-1.5), vec![0, 0xbe]),
            ("float32", json!("NaN"), f32::NAN.to_le_bytes().to_vec()),
            ("float32", json!("0x7fc00001"), vec![1, 0, 0xc0, 0x7f]),
            ("float64", json!("-Infinity"), f64::NEG_INFINITY.to_le_bytes().to_vec()),
            ("float64", json!(0.1), 0.1f64.to_le_bytes().to_vec()),
            ("bfloat16", json!(1), vec![0x80, 0x3f]),
        ] {
            assert_eq!(fill(name, &value), Some(bytes), "{name} {value}");
        }
    }

    #[test]
    fn a_fill_value_of_another_type_is_refused() {
        for (name, value) in [
            ("bool", json!(2)),
            ("int8", json!(128)),
            ("uint8", json!(-1)),
            ("uint8", json!(256)),
            ("uint64", json!(1e300)),
            ("int32", json!(0.5)),
            ("int32", json!("NaN")),
            ("float32", json!("0x7fc0")),
            ("float32", json!("0x+fc00000")),
            ("float32", json!([0])),
            ("float64", json!(null)),
        ] {
            assert_eq!(fill(name, &value), None, "{name} {value}");
        }
    }

    #[test]
    fn types_of_version_2_have_an_order() {
        for (text, found) in [
            ("<f4", Some(("float32", false))),
            (">i2", Some(("int16", true))),
            ("|b1", Some(("bool", false))),
            ("|u1", Some(("uint8", false))),
            ("<c8", None),
            ("<f3", None),
            ("|f4", None),
            ("<U4", None),
            ("", None),
        ] {
            let is = Element::of_v2(text);
            assert_eq!(is.map(|(element, is_big)| (element.name(), is_big)), found, "{text}");
        }
    }
}
