//! `Number`: a number with all its digits, and conversions that do not round.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::rules::JsonRules;

/// Digits that name every float of 64 bits.
const NAMING: usize = 17;
/// Digits up to which a float of 64 bits has every whole number.
const EXACT: i64 = 15;
/// Floats below it are in the range of `i128`.
const WIDE: f64 = 1e38;
/// Digits of the float of 64 bits whose expansion is the longest.
const LONGEST: usize = 767;

/// A number as it is written.
///
/// A float stands for the text `0.1`, although no float equals it: every program writes the float nearest to 0.1 so. The
/// rule, for texts that are converted to floats of 64 bits:
///
/// - A whole number must be equal to the float: `9007199254740993` and `9007199254740993.0` are not.
/// - A number with a fraction or an exponent, of up to 17 digits, stands for the nearest float: 17 digits tell all
///   floats apart. It must be in their range: `1e400` is not.
/// - A longer one must have the digits that the float has at this length: `0.1000000000000000055` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a>(&'a str);

impl<'a> Number<'a> {
    /// Takes the text of a part that is one number: also with a sign `+`, leading zeros, and no digit before or after the
    /// point. Python's words for numbers are left to the rules.
    pub fn lenient(text: &'a str, rules: JsonRules) -> Option<Number<'a>> {
        let is_number = match text {
            "NaN" | "Infinity" | "-Infinity" => rules == JsonRules::Python,
            _ => text.parse::<f64>().is_ok() && Decimal::of(text).is_some(),
        };
        is_number.then_some(Number(text))
    }

    /// Takes a text that `Scan` has accepted.
    pub(super) fn scanned(text: &'a str) -> Number<'a> {
        Number(text)
    }

    /// Returns its text.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// Returns true if it is written without fraction and exponent.
    pub fn is_integer(self) -> bool {
        self.0.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    }

    /// Returns its value if it is whole and has at most 128 bits: of `3`, `3.0` and `0.3e1`.
    pub fn whole(self) -> Option<i128> {
        if self.is_integer() {
            return self.0.parse().ok();
        }
        Decimal::of(self.0)?.whole()
    }

    /// Returns the float of 64 bits that it stands for; `None` if it would be rounded or is out of range.
    pub fn real(self) -> Option<f64> {
        if self.is_special() {
            return Some(self.nearest());
        }
        exact(self.0)
    }

    /// Returns the nearest float of 64 bits; of `1e400` the infinite one.
    pub fn nearest(self) -> f64 {
        match self.0 {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the nearest float of 32 bits, rounded once; of `1e39` the infinite one.
    pub fn nearest_single(self) -> f32 {
        if self.is_special() { self.nearest() as f32 } else { self.0.parse().unwrap_or(f32::NAN) }
    }

    /// Returns true for `NaN`, `Infinity` and `-Infinity`.
    pub fn is_special(self) -> bool {
        self.0.ends_with(['N', 'y'])
    }

    /// Returns the shortest text of the same number: of a number of 64 bits as serde writes it, of another as it is.
    pub fn shortest(self) -> Cow<'a, str> {
        if self.is_special() || (self.is_integer() && self.0 != "-0") {
            return Cow::Borrowed(self.0);
        }
        match self.real().and_then(serde_json::Number::from_f64) {
            Some(number) => Cow::Owned(number.to_string()),
            None => Cow::Borrowed(self.0),
        }
    }

    /// Compares two numbers, digit by digit. `NaN` has no order.
    pub fn order(self, other: Number<'_>) -> Option<Ordering> {
        match (Decimal::of(self.0), Decimal::of(other.0)) {
            (Some(a), Some(b)) => Some(a.order(&b)),
            // Only one that is infinite or no number is no decimal.
            _ => self.bound().partial_cmp(&other.bound()),
        }
    }

    /// Returns a float that compares with infinite ones as the number does.
    fn bound(self) -> f64 {
        if self.is_special() { self.nearest() } else { 0.0 }
    }
}

/// Returns the float of 64 bits that a decimal number stands for, by the rule of [`Number`]; `None` if the text is no
/// decimal number, too. A sign `+` and a missing digit before or after the point are accepted.
fn exact(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let decimal = Decimal::of(text)?;
    let is_whole = !text.contains(['e', 'E']) && decimal.exponent >= 0;
    if is_whole {
        let is_exact = decimal.size() <= EXACT
            || match decimal.whole() {
                Some(whole) if value.abs() < WIDE => value as i128 == whole,
                _ => Decimal::of(&format!("{value:.0}"))?.equals(&decimal),
            };
        return is_exact.then_some(value);
    }
    let is_named = decimal.count <= NAMING && (value.is_normal() || decimal.count == 0);
    (is_named || (decimal.count <= LONGEST && has_same_digits(value, &decimal))).then_some(value)
}

/// Returns true if the float, written with as many digits as the decimal has, has the same digits.
fn has_same_digits(value: f64, decimal: &Decimal) -> bool {
    let text = format!("{value:.*e}", decimal.count.saturating_sub(1));
    Decimal::of(&text).is_some_and(|same| same.equals(decimal))
}

/// A decimal number: its digits without zeros at both ends, and the power of ten of the last. Allocates nothing.
#[derive(Debug, Clone, Copy)]
struct Decimal<'a> {
    is_negative: bool,
    mantissa: &'a str,
    /// Number of digits.
    count: usize,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn of(text: &'a str) -> Option<Decimal<'a>> {
        let is_negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let at = rest.find(['e', 'E']);
        let mantissa = &rest[..at.unwrap_or(rest.len())];
        // An exponent of more digits than a number has is as good as the largest.
        let exponent = at.map_or(0, |at| {
            let text = &rest[at + 1..];
            let limit = if text.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
            text.parse::<i64>().unwrap_or(limit).clamp(i64::MIN / 4, i64::MAX / 4)
        });
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_decimal = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_decimal {
            return None;
        }
        let mut count = 0;
        let mut zeros = 0;
        for digit in mantissa.bytes().filter(|&b| b != b'.') {
            zeros = if digit == b'0' { zeros + 1 } else { 0 };
            count += usize::from(count > 0 || digit != b'0');
        }
        let exponent = match count {
            0 => 0,
            _ => exponent - fraction.len() as i64 + zeros as i64,
        };
        Some(Decimal { is_negative, mantissa, count: count.saturating_sub(zeros), exponent })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        let all = self.mantissa.bytes().filter(|&b| b != b'.');
        all.skip_while(|&b| b == b'0').take(self.count)
    }

    /// Returns the number of digits before the point.
    fn size(&self) -> i64 {
        self.count as i64 + self.exponent
    }

    fn whole(&self) -> Option<i128> {
        if self.exponent < 0 || self.size() > 39 {
            return None;
        }
        let zeros = std::iter::repeat_n(b'0', self.exponent as usize);
        let mut digits = self.digits().chain(zeros);
        let value = digits.try_fold(0, |all: i128, digit| {
            all.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
        })?;
        Some(if self.is_negative { -value } else { value })
    }

    fn equals(&self, other: &Decimal<'_>) -> bool {
        self.is_negative == other.is_negative
            && self.exponent == other.exponent
            && self.digits().eq(other.digits())
    }

    fn order(&self, other: &Decimal<'_>) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            1 => self.size_order(other),
            -1 => self.size_order(other).reverse(),
            _ => Ordering::Equal,
        })
    }

    /// Returns 1, 0 or -1.
    fn sign(&self) -> i32 {
        match self.count {
            0 => 0,
            _ if self.is_negative => -1,
            _ => 1,
        }
    }

    /// Compares without the signs.
    fn size_order(&self, other: &Decimal<'_>) -> Ordering {
        self.size().cmp(&other.size()).then_with(|| self.digits().cmp(other.digits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number<'_> {
        Number::parse(text).unwrap()
    }

    #[test]
    fn a_whole_number_is_converted_only_if_it_stays_the_same() {
        for (text, whole) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("18446744073709551616", Some(1 << 64)),
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("1e3", Some(1000)),
            ("-12.50e1", Some(-125)),
            ("0e99999999999999999999", Some(0)),
            ("1e38", Some(10i128.pow(38))),
            ("1e39", None),
            ("1e99999999999999999999", None),
            ("0.5", None),
            ("1e-1", None),
            ("170141183460469231731687303715884105728", None),
        ] {
            assert_eq!(number(text).whole(), whole, "{text}");
        }
    }

    #[test]
    fn a_float_is_equal_or_the_one_that_the_text_names() {
        for (text, real) in [
            ("0.1", Some(0.1)),
            ("0.10000000000000000000000", Some(0.1)),
            ("0.1000000000000000055511151231257827", Some(0.1)),
            ("0.1000000000000000055", None),
            ("3.14159265358979323846", None),
            ("3.141592653589793116", Some(std::f64::consts::PI)),
            ("9007199254740992", Some(9_007_199_254_740_992.0)),
            ("9007199254740993", None),
            ("9007199254740993.0", None),
            ("18446744073709551616", Some(18_446_744_073_709_551_616.0)),
            ("18446744073709551617", None),
            ("1e23", Some(1e23)),
            ("99999999999999991611392", Some(1e23)),
            ("100000000000000000000000", None),
            ("1e308", Some(1e308)),
            ("1e400", None),
            ("1e-400", None),
            ("0.0e-400", Some(0.0)),
            ("4.9e-324", Some(5e-324)),
            ("5e-324", Some(5e-324)),
            ("1.2345678901234567e-320", None),
            ("31.245270191439438", Some(31.245_270_191_439_438)),
            ("127605887595351923798765477786913079296", Some(1.5 * 2f64.powi(126))),
            ("-127605887595351923798765477786913079296.0", Some(-1.5 * 2f64.powi(126))),
            ("127605887595351923798765477786913079297", None),
        ] {
            assert_eq!(number(text).real().map(f64::to_bits), real.map(f64::to_bits), "{text}");
        }
        assert_eq!(number("-0.0").real().map(f64::to_bits), Some((-0.0f64).to_bits()));
    }

    #[test]
    fn the_nearest_float_of_32_bits_is_rounded_once() {
        for (text, bits) in [
            ("7.038531e-26", 0x15ae_43fd), // 0x15ae43fe through 64 bits
            ("0.1", 0x3dcc_cccd),
            ("1e39", 0x7f80_0000),
            ("-1e39", 0xff80_0000),
            ("1e-50", 0),
            ("16777217.0", 0x4b80_0000),
        ] {
            assert_eq!(number(text).nearest_single().to_bits(), bits, "{text}");
        }
        assert!(Number::scanned("NaN").nearest_single().is_nan());
        assert_eq!(Number::scanned("-Infinity").nearest_single(), f32::NEG_INFINITY);
    }

    #[test]
    fn a_number_may_have_any_number_of_digits() {
        let longest = f64::from_bits((1 << 53) - 1);
        let digits = format!("{longest:.800e}");
        assert_eq!(Decimal::of(&digits).map(|decimal| decimal.count), Some(LONGEST));
        assert_eq!(number(&digits).real(), Some(longest));
        let zeros = "0".repeat(100_000);
        assert_eq!(number(&format!("0.5{zeros}")).real(), Some(0.5));
        for text in [format!("0.5{zeros}1"), format!("5{zeros}1e-100002")] {
            assert_eq!((number(&text).real(), number(&text).nearest()), (None, 0.5));
        }
    }

    #[test]
    fn every_float_is_what_its_texts_stand_for() {
        for n in 0..20_000u64 {
            let value = f64::from_bits(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)); // far apart
            if !value.is_finite() {
                continue;
            }
            for text in [format!("{value:e}"), format!("{value:.16e}"), format!("{value:.30e}")] {
                let real = exact(&text);
                assert_eq!(real.map(f64::to_bits), Some(value.to_bits()), "{text}");
            }
        }
    }

    #[test]
    fn a_part_that_is_a_number_has_some_freedom() {
        fn lenient(text: &str, rules: JsonRules) -> Option<f64> {
            Number::lenient(text, rules).and_then(Number::real)
        }
        for (text, real) in [("+1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("007", 7.0)] {
            assert_eq!(lenient(text, JsonRules::Strict), Some(real), "{text}");
        }
        for text in ["inf", "nan", "infinity", "", ".", "1_000", "0x1f", "1e", "Infinity"] {
            assert_eq!(lenient(text, JsonRules::Strict), None, "{text}");
        }
        assert_eq!(lenient("Infinity", JsonRules::Python), Some(f64::INFINITY));
        assert_eq!(lenient("inf", JsonRules::Python), None);
    }

    #[test]
    fn the_shortest_text_is_that_of_the_same_number() {
        for (text, shortest) in [
            ("1.50", "1.5"),
            ("1e3", "1000.0"),
            ("-0", "-0.0"),
            ("18446744073709551616", "18446744073709551616"),
            ("0.1000000000000000055", "0.1000000000000000055"),
            ("1E400", "1E400"),
        ] {
            assert_eq!(number(text).shortest(), shortest);
        }
    }

    #[test]
    fn numbers_are_ordered_by_all_their_digits() {
        fn order(a: &str, b: &str) -> Ordering {
            number(a).order(number(b)).unwrap()
        }
        for (less, more) in [
            ("9007199254740992", "9007199254740993.0"),
            ("0.1", "0.1000000000000000055"),
            ("-2", "-1.5"),
            ("-1e-400", "0"),
            ("9", "10"),
            ("1e399", "1e400"),
        ] {
            assert_eq!((order(less, more), order(more, less)), (Ordering::Less, Ordering::Greater));
        }
        assert_eq!(order("1e3", "1000.0"), Ordering::Equal);
        assert_eq!(order("-0.0", "0"), Ordering::Equal);
        assert_eq!(Number::scanned("NaN").order(number("1")), None);
        assert_eq!(Number::scanned("-Infinity").order(number("-1e400")), Some(Ordering::Less));
        assert_eq!(number("1e400").order(Number::scanned("Infinity")), Some(Ordering::Less));
    }
}
