//! `Size`: a number of bytes as people write and read it: `2GiB`, `512 MB`, `1073741824`.
//!
//! Accepts the units of `pack --shard-size`, and fractions. `K`, `M`, `G`, `T` alone are decimal, like
//! `KB`, `MB`, `GB`, `TB`. Case is ignored.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
];

/// A number of bytes, written with a unit. Serde writes the text, and reads the text or a number of bytes.
///
/// ```
/// use tarflume::Size;
///
/// # fn main() -> tarflume::Result<()> {
/// let limit: Size = "1.5 GiB".parse()?;
/// assert_eq!(limit.bytes(), 3 << 29);
/// assert_eq!(limit.to_string(), "1536MiB");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

impl Size {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Size {
        Size(bytes)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Approximate, for people: in the largest binary unit, rounded to a tenth: `1.3GiB`.
    pub fn about(self) -> String {
        match self.unit() {
            Some((word, unit)) => {
                let tenths = (u128::from(self.0) * 10 + u128::from(unit) / 2) / u128::from(unit);
                match tenths % 10 {
                    0 => format!("{}{word}", tenths / 10),
                    part => format!("{}.{part}{word}", tenths / 10),
                }
            }
            None => self.to_string(),
        }
    }

    /// Rounded up to a size that is easy to type: a quarter of the largest binary unit, or a whole unit from ten up.
    pub fn at_least(self) -> String {
        let Some((word, unit)) = self.unit() else { return self.to_string() };
        let step = if self.0 / unit < 10 { unit / 4 } else { unit };
        let quarters = self.0.div_ceil(step) * (step / (unit / 4));
        let part = ["", ".25", ".5", ".75"][(quarters % 4) as usize];
        format!("{}{part}{word}", quarters / 4)
    }

    /// The largest binary unit that is not larger than the size.
    fn unit(self) -> Option<(&'static str, u64)> {
        UNITS.iter().copied().find(|(word, unit)| word.ends_with("iB") && self.0 >= *unit)
    }
}

impl From<u64> for Size {
    fn from(bytes: u64) -> Size {
        Size(bytes)
    }
}

impl From<Size> for u64 {
    fn from(size: Size) -> u64 {
        size.0
    }
}

/// Exact, and parses back to the same number: the unit in which the number is whole and shortest.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().filter(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit));
        match whole.min_by_key(|(_, unit)| self.0 / unit) {
            Some((word, unit)) => write!(f, "{}{word}", self.0 / unit),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Size, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// Reads a size as people write it.
struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size, such as \"2GiB\", or a number of bytes")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> std::result::Result<Size, E> {
        Ok(Size(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> std::result::Result<Size, E> {
        let unexpected = Unexpected::Signed(bytes);
        u64::try_from(bytes).map(Size).map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Size, E> {
        text.parse().map_err(|error: Error| E::custom(error.text()))
    }
}

impl FromStr for Size {
    type Err = Error;

    /// # Errors
    /// [`crate::ErrorKind::Usage`]: not a number, an unknown unit, a fraction of a byte, or more than
    /// `u64::MAX`. The message shows valid sizes.
    fn from_str(text: &str) -> Result<Size> {
        let trimmed = text.trim();
        let split =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, word) = trimmed.split_at(split);
        let Some(unit) = unit(word.trim()) else {
            return Err(refused(text, "the unit is unknown"));
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(refused(text, "it does not begin with a number"));
        }
        let bytes = parsed(whole).and_then(|n| n.checked_mul(unit));
        let bytes = bytes.ok_or_else(|| refused(text, "it is too large"))?;
        let part = match fraction.trim_end_matches('0') {
            "" => 0,
            digits => part_of(digits, unit)
                .ok_or_else(|| refused(text, "it is not a whole number of bytes"))?,
        };
        bytes.checked_add(part).map(Size).ok_or_else(|| refused(text, "it is too large"))
    }
}

/// `0.digits` of a unit in bytes; `None` if that is not a whole number.
fn part_of(digits: &str, unit: u64) -> Option<u64> {
    let scale = 10u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let product = u128::from(parsed(digits)?).checked_mul(u128::from(unit))?;
    product.is_multiple_of(scale).then_some((product / scale) as u64)
}

fn parsed(digits: &str) -> Option<u64> {
    digits.parse().ok()
}

fn unit(word: &str) -> Option<u64> {
    let short = match word.to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => return Some(1),
        "k" => "kb".to_string(),
        "m" => "mb".to_string(),
        "g" => "gb".to_string(),
        "t" => "tb".to_string(),
        other => other.to_string(),
    };
    UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&short)).map(|(_, unit)| *unit)
}

fn refused(text: &str, why: &str) -> Error {
    let text = format!("invalid size '{text}': {why}; use 2GiB, 512MB or a number of bytes");
    Error::usage(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use proptest::prelude::*;

    use super::Size;

    fn bytes(text: &str) -> u64 {
        text.parse::<Size>().unwrap_or_else(|e| panic!("{e}")).bytes()
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, want) in [
            ("2GiB", 2 << 30),
            ("512 MB", 512_000_000),
            ("1073741824", 1 << 30),
            ("0", 0),
            (" 7 bytes ", 7),
            ("1 byte", 1),
            ("64k", 64_000),
            ("64KiB", 65_536),
            ("1.5 gib", 3 << 29),
            ("0.25MB", 250_000),
            ("2.50T", 2_500_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes(text), want, "{text}");
        }
    }

    #[test]
    fn an_invalid_size_is_an_error_with_an_example() {
        for (text, why) in [
            ("", "not begin with a number"),
            ("GiB", "not begin with a number"),
            ("-1", "unknown"),
            (".5GB", "not begin with a number"),
            ("5.GB", "not begin with a number"),
            ("1.2.3GB", "not begin with a number"),
            ("10 furlongs", "unknown"),
            ("1GiB 2", "unknown"),
            ("1.5", "whole"),
            ("0.1KiB", "whole"),
            ("99999999TB", "too large"),
            ("18446744073709551616", "too large"),
            ("0.00000000000000000000000000000000000000001GB", "whole"),
        ] {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("use 2GiB"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_written_in_the_shortest_whole_unit() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1000, "1kB"),
            (1024, "1KiB"),
            (512_000_000, "512MB"),
            (2 << 30, "2GiB"),
            ((1 << 30) + 1, "1073741825B"),
        ] {
            assert_eq!(Size::new(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_for_people_are_short() {
        for (bytes, about, at_least) in [
            (0, "0B", "0B"),
            (1023, "1023B", "1023B"),
            (1024, "1KiB", "1KiB"),
            (1536, "1.5KiB", "1.5KiB"),
            (64 << 20, "64MiB", "64MiB"),
            ((64 << 20) + 1, "64MiB", "65MiB"),
            ((1 << 30) + 1, "1GiB", "1.25GiB"),
            (88_486_405 << 10, "84.4GiB", "85GiB"),
            (u64::MAX, "16777216TiB", "16777216TiB"),
        ] {
            assert_eq!(
                (&Size::new(bytes).about()[..], &Size::new(bytes).at_least()[..]),
                (about, at_least)
            );
        }
    }

    proptest! {
        #[test]
        fn a_rounded_up_size_is_enough_and_parses(bytes in 0..u64::MAX / 2) {
            let size = super::tests::bytes(&Size::new(bytes).at_least());
            prop_assert!(size >= bytes && size - bytes <= bytes / 4);
        }

        #[test]
        fn written_data_are_read_back(bytes: u64, shift in 0u32..60) {
            let size = Size::new(bytes >> shift << (shift / 2));
            prop_assert_eq!(size.to_string().parse::<Size>().unwrap(), size);
        }

        #[test]
        fn no_text_causes_a_panic(text in "[0-9.]{0,30}[ a-zA-Z]{0,5}|\\PC{0,10}") {
            let _ = text.parse::<Size>();
        }
    }
}
