//! `Digits`: watches a JSON text that is read as a stream for numbers that would be rounded.

use std::io::{self, Read};

use tarflume_formats::json::Number;

/// Characters up to which a number is kept by its type of 64 bits, or refused by the parser.
const SHORT: usize = 15;
/// Characters of a number that are kept.
const LONGEST: usize = 4096;

/// Where the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    String,
    Escape,
    Number,
}

/// Passes a text on, and notes the first number that a type of 64 bits does not hold.
pub(super) struct Digits<R> {
    text: R,
    place: Place,
    number: Vec<u8>,
    at: u64,
    found: Option<(String, u64)>,
}

impl<R: Read> Digits<R> {
    pub(super) fn new(text: R) -> Digits<R> {
        Digits { text, place: Place::Outside, number: Vec::new(), at: 0, found: None }
    }

    /// Returns the first number that would be rounded, and its byte.
    pub(super) fn rounded(self) -> Option<(String, u64)> {
        self.found
    }

    fn see(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::String, b'\\') => Place::Escape,
            (Place::String, b'"') => Place::Outside,
            (Place::String | Place::Escape, _) => Place::String,
            (Place::Number, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') => {
                if self.number.len() < LONGEST {
                    self.number.push(byte);
                }
                Place::Number
            }
            (place, _) => {
                if place == Place::Number {
                    self.end();
                }
                match byte {
                    b'"' => Place::String,
                    b'-' | b'0'..=b'9' => {
                        self.number.clear();
                        self.number.push(byte);
                        Place::Number
                    }
                    _ => Place::Outside,
                }
            }
        };
        self.at += 1;
    }

    fn end(&mut self) {
        if self.number.len() <= SHORT || self.found.is_some() {
            return;
        }
        let text = String::from_utf8_lossy(&self.number);
        let Some(number) = Number::parse(&text) else { return }; // the parser refuses it
        let is_held = if number.is_integer() {
            text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        } else {
            number.real().is_some()
        };
        if !is_held {
            self.found =
                Some((text.chars().take(60).collect(), self.at - self.number.len() as u64));
        }
    }
}

impl<R: Read> Read for Digits<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(into)?;
        into[..read].iter().for_each(|&byte| self.see(byte));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(text: &str) -> Option<(String, u64)> {
        let mut digits = Digits::new(text.as_bytes());
        // In small pieces, as a stream delivers them.
        let mut piece = [0; 3];
        while digits.read(&mut piece).unwrap() > 0 {}
        digits.rounded()
    }

    #[test]
    fn a_number_that_would_be_rounded_is_noted_with_its_byte() {
        for (text, number, byte) in [
            (r#"{"id": 18446744073709551616}"#, "18446744073709551616", 7),
            (r#"[1, 0.1000000000000000055, 2]"#, "0.1000000000000000055", 4),
        ] {
            assert_eq!(rounded(text), Some((number.to_string(), byte)));
        }
        for text in [
            r#"{"a": 18446744073709551615, "b": -9223372036854775808, "c": 702.1057499999998}"#,
            r#"{"18446744073709551616": "\"0.1000000000000000055", "x": "\\"}"#,
            "[0.100000000000000000000000]",
        ] {
            assert_eq!(rounded(text), None, "{text}");
        }
    }
}
