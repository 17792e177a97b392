//! Scores of a Unigram vocabulary, as the Python package of `tokenizers` reads them from a file.
//!
//! That package parses numbers with serde_json's default parser, which is off by a last bit for one
//! score in eight. The last bits decide between segmentations of equal probability. In a build of ours
//! the parser is another one as soon as any dependency turns on serde_json's feature `float_roundtrip`,
//! so scores are parsed here.

use std::sync::LazyLock;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token, unescaped};
use tokenizers::models::unigram::Unigram;

/// The powers of ten that serde_json has: 10^0 to 10^308.
static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| (0..=308).map(power_of_ten).collect());

fn power_of_ten(exponent: u32) -> f64 {
    format!("1e{exponent}").parse().expect("a power of ten in the range of f64")
}

/// A Unigram model with the scores of the Python package.
pub(super) struct Corrected {
    pub(super) model: Unigram,
    /// The id of what is not in the vocabulary.
    pub(super) unk_id: Option<usize>,
}

/// Returns `model`, which was read from the bytes of `tokenizer.json`, with the scores of the Python
/// package.
///
/// # Errors
/// Returns an error if the file has a vocabulary of another form, or a score that is out of range.
pub(super) fn corrected(json: &[u8], model: &Unigram) -> Result<Corrected, String> {
    let read = Vocabulary::read(json).map_err(|fault| fault.to_string())?;
    let tokens = read.tokens.iter().map(|(token, _)| token);
    if !tokens.eq(model.iter().map(|(token, _)| token)) {
        return Err("its vocabulary is read differently by tokenizers and by tarflume".into());
    }
    let corrected = Unigram::from(read.tokens, read.unk_id, model.byte_fallback());
    let model = corrected.map_err(|error| error.to_string())?;
    Ok(Corrected { model, unk_id: read.unk_id })
}

/// The vocabulary of a Unigram model.
#[derive(Debug, Default)]
struct Vocabulary {
    tokens: Vec<(String, f64)>,
    unk_id: Option<usize>,
}

impl Vocabulary {
    /// Reads the vocabulary at `/model`. Of a repeated name the last value counts.
    fn read(json: &[u8]) -> Result<Vocabulary, JsonFault> {
        let mut found = Vocabulary::default();
        let mut scan = Scan::new(json, JsonRules::Strict)?.with_repeats();
        scan.object(|scan, name| match &*unescaped(scan.piece(name)) {
            "model" => scan.object(|scan, name| match &*unescaped(scan.piece(name)) {
                "vocab" => {
                    found.tokens.clear();
                    scan.array(|scan, _| found.add(scan))
                }
                "unk_id" => {
                    found.unk_id = id(scan)?;
                    Ok(())
                }
                _ => scan.skip(),
            }),
            _ => scan.skip(),
        })?;
        Ok(found)
    }

    /// Adds a pair of token and score.
    fn add(&mut self, scan: &mut Scan<'_>) -> Result<(), JsonFault> {
        let mut token = None;
        let mut score = None;
        scan.array(|scan, number| {
            match number {
                0 => token = Some(scan.take_string()?.into_owned()),
                1 => {
                    scan.token()?;
                    let text = scan.take_number()?.text();
                    let read = fast(text);
                    score = Some(read.ok_or_else(|| scan.fault("the score is out of range"))?);
                }
                _ => scan.skip()?,
            }
            Ok::<(), JsonFault>(())
        })?;
        let pair = token.zip(score).ok_or_else(|| scan.fault("expected a token and its score"))?;
        self.tokens.push(pair);
        Ok(())
    }
}

/// Takes an id or `null`.
fn id(scan: &mut Scan<'_>) -> Result<Option<usize>, JsonFault> {
    if scan.token()? == Token::Null {
        scan.skip()?;
        return Ok(None);
    }
    let number = scan.take_number()?;
    let id = number.whole().and_then(|id| usize::try_from(id).ok());
    id.map(Some).ok_or_else(|| scan.fault("expected an id"))
}

/// Returns the value that serde_json without `float_roundtrip` reads from a number of JSON; `None` if it
/// is out of range.
///
/// The digits become a `u64`, and those that do not fit are dropped. The result is this `u64`, rounded to
/// `f64`, times or over a power of ten, which rounds again.
fn fast(text: &str) -> Option<f64> {
    let mut number = Parts { rest: text.as_bytes(), significand: 0, exponent: 0 };
    let negative = number.skip(b'-');
    number.whole();
    number.fraction();
    let value = match number.power()? {
        Power::Fits => scaled(number.significand as f64, number.exponent)?,
        Power::Vanishes => 0.0,
    };
    Some(if negative { -value } else { value })
}

/// Returns `value` times a power of ten, as serde_json computes it.
fn scaled(mut value: f64, mut exponent: i32) -> Option<f64> {
    loop {
        if let Some(&power) = POWERS.get(exponent.unsigned_abs() as usize) {
            value = if exponent >= 0 { value * power } else { value / power };
            return value.is_finite().then_some(value);
        }
        if value == 0.0 {
            return Some(value);
        }
        if exponent >= 0 {
            return None;
        }
        value /= 1e308;
        exponent += 308;
    }
}

/// What an exponent does to a number.
enum Power {
    /// It is in [`Parts::exponent`].
    Fits,
    /// It is so small, or the digits are zeros, that the number is 0.
    Vanishes,
}

/// A number while it is read.
struct Parts<'a> {
    rest: &'a [u8],
    significand: u64,
    exponent: i32,
}

impl Parts<'_> {
    /// Takes the digits before the point.
    fn whole(&mut self) {
        while let Some(digit) = self.digit() {
            if !self.push(digit) {
                self.exponent = 1;
                while self.digit().is_some() {
                    self.exponent = self.exponent.saturating_add(1);
                }
            }
        }
    }

    /// Takes the point and the digits behind it, if they are there.
    fn fraction(&mut self) {
        if !self.skip(b'.') {
            return;
        }
        while let Some(digit) = self.digit() {
            if !self.push(digit) {
                while self.digit().is_some() {}
                return;
            }
            self.exponent = self.exponent.saturating_sub(1);
        }
    }

    /// Takes the exponent, if it is there; returns `None` if the number is out of range.
    fn power(&mut self) -> Option<Power> {
        if !(self.skip(b'e') || self.skip(b'E')) {
            return Some(Power::Fits);
        }
        let falls = self.skip(b'-');
        self.skip(b'+');
        let mut given = 0i32;
        while let Some(digit) = self.digit() {
            let more = given.checked_mul(10).and_then(|ten| ten.checked_add(i32::from(digit)));
            let Some(more) = more else {
                return (self.significand == 0 || falls).then_some(Power::Vanishes);
            };
            given = more;
        }
        self.exponent = if falls {
            self.exponent.saturating_sub(given)
        } else {
            self.exponent.saturating_add(given)
        };
        Some(Power::Fits)
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    /// Takes the next digit.
    fn digit(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        self.rest = rest;
        Some(digit)
    }

    /// Appends a digit to the significand; returns false if it does not fit.
    fn push(&mut self, digit: u8) -> bool {
        let ten = self.significand.checked_mul(10);
        let more = ten.and_then(|ten| ten.checked_add(u64::from(digit)));
        self.significand = more.unwrap_or(self.significand);
        more.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tokenizers` 0.23.3 for Python has read from each text.
    const READ: &[(&str, u64)] = &[
        ("0", 0x0000000000000000),
        ("-0", 0x8000000000000000),
        ("-0.0", 0x8000000000000000),
        ("7", 0x401c000000000000),
        ("-7", 0xc01c000000000000),
        ("18446744073709551615", 0x43f0000000000000),
        ("18446744073709551616", 0x43f0000000000000),
        ("-9223372036854775808", 0xc3e0000000000000),
        ("-9223372036854775809", 0xc3e0000000000000),
        ("-3.9068053654298485", 0xc00f41232be2de45),
        ("-6.351363452580451", 0xc01967cbd2275ee9),
        ("-18446744073709551619.3", 0xc3f0000000000000),
        ("-1844674407370955161.93", 0xc3b999999999999a),
        ("1844674407370955161900000.3e-20", 0x40d203af9ee75616),
        ("123456789012345678901234567890", 0x45f8ee90ff6c373e),
        ("-1.2345678901234567890123456789e-5", 0xbee9e409302678ba),
        ("1e308", 0x7fe1ccf385ebc8a0),
        ("1.7e308", 0x7fee42d130773b76),
        ("-1e-308", 0x800730d67819e8d2),
        ("5e-324", 0x0000000000000001),
        ("-2.2250738585072011e-308", 0x8010000000000000),
        ("1e-400", 0x0000000000000000),
        ("-0.000000000000000000000000000000123456789", 0xb9840831c2fcae11),
        ("1E5", 0x40f86a0000000000),
        ("1e+5", 0x40f86a0000000000),
        ("-1.5E-07", 0xbe8421f5f40d8376),
        ("0e999999999999", 0x0000000000000000),
        ("1e-99999999999999", 0x0000000000000000),
        ("-0.30000000000000004", 0xbfd3333333333334),
        ("9007199254740993", 0x4340000000000000),
        ("9007199254740993.0", 0x4340000000000001),
        ("-12.345678901234567e+2", 0xc0934a4584fd0fe0),
        ("-12.458033897794039", 0xc028ea836b46f839),
        ("-15.903871311313933", 0xc02fcec83873c59e),
        ("-14.797971494798613", 0xc02d988fb84299bd),
        ("-9.312453087562107", 0xc0229ff9d9e13a1a),
        ("-18.867134339966274", 0xc032ddfc841f64c8),
        ("-9.381380955643275", 0xc022c3445d579c36),
        ("-13.556609545011845", 0xc02b1cfbed20ef43),
    ];

    #[test]
    fn scores_have_the_bits_that_the_python_package_reads() {
        let mut inexact = 0;
        for &(text, bits) in READ {
            assert_eq!(fast(text).unwrap().to_bits(), bits, "{text}");
            inexact += usize::from(text.parse::<f64>().unwrap().to_bits() != bits);
        }
        assert!(inexact >= 10, "the table has few scores that other parsers read differently");
        for text in ["1e309", "1e400", "-123456e305", "1e99999999999"] {
            assert_eq!(fast(text), None, "{text}");
        }
    }

    #[test]
    fn of_repeated_names_the_last_value_counts() {
        let json =
            br#"{"model": {"vocab": [["x", 1]], "unk_id": 5, "vocab": [["a", 0], ["\u00e9", -1.5]],
                       "unk_id": null}, "other": [{}]}"#;
        let read = Vocabulary::read(json).unwrap();
        assert_eq!(read.tokens, [("a".to_string(), 0.0), ("\u{e9}".into(), -1.5)]);
        assert_eq!(read.unk_id, None);
        for json in [r#"{"model": {"vocab": [["x"]]}}"#, r#"{"model": {"vocab": [["x", 1e999]]}}"#]
        {
            assert!(Vocabulary::read(json.as_bytes()).is_err(), "{json}");
        }
    }
}
