//! Finds the value of a JSON pointer in a JSON text (RFC 8259) in one pass.
//!
//! Validates the whole text. Builds no values and allocates nothing for skipped parts; `json_value` converts what is
//! found.

use std::ops::Range;

/// Maximum nesting. Deeper texts would exhaust the stack.
const MAX_DEPTH: u32 = 128;

/// A parsed JSON pointer (RFC 6901).
#[derive(Debug, Clone)]
pub(super) struct Pointer(Vec<Step>);

#[derive(Debug, Clone)]
struct Step {
    key: String,
    index: Option<u64>,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Pointer, String> {
        if text.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!("a pointer begins with a slash: try \"/{text}\""));
        };
        let steps = rest.split('/').map(|step| {
            let key = step.replace("~1", "/").replace("~0", "~");
            // An array index has no leading zero and no sign (RFC 6901, section 4).
            let plain = step == "0" || !step.starts_with(['0', '+']);
            Step { index: step.parse().ok().filter(|_| plain), key }
        });
        Ok(Pointer(steps.collect()))
    }
}

/// The bytes of the value at `pointer`, if it exists. If a key is repeated, the last one counts, as in
/// Python.
///
/// # Errors
/// Returns a message with the byte if the text is not valid JSON.
pub(super) fn find(bytes: &[u8], pointer: &Pointer) -> Result<Option<Range<usize>>, String> {
    if let Err(e) = std::str::from_utf8(bytes) {
        return Err(format!("not UTF-8 at byte {} of the part", e.valid_up_to()));
    }
    let mut scan = Scan { bytes, at: 0 };
    let found = scan.value(Some(&pointer.0), 0)?;
    scan.blank();
    if scan.at < bytes.len() {
        return Err(scan.fault("unexpected text after the JSON value"));
    }
    Ok(found)
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn fault(&self, what: &str) -> String {
        format!("{what}, at byte {} of the part", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Skips blanks, and `byte` if it follows. Returns whether it did.
    fn pass(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.pass(byte) {
            return Ok(());
        }
        let what = if self.at < self.bytes.len() { "" } else { "the text ends, " };
        Err(self.fault(&format!("{what}expected {:?}", char::from(byte))))
    }

    /// Skips a value and returns the bytes that `path` leads to in it. Without a path it only skips.
    fn value(&mut self, path: Option<&[Step]>, depth: u32) -> Result<Option<Range<usize>>, String> {
        self.blank();
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(self.fault("the JSON is nested too deeply"));
        }
        let mut found = None;
        match self.peek() {
            Some(b'{') => found = self.members(path.and_then(<[Step]>::split_first), depth + 1)?,
            Some(b'[') => found = self.elements(path.and_then(<[Step]>::split_first), depth + 1)?,
            Some(b'"') => self.string().map(|_| ())?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => return Err(self.fault("expected a JSON value")),
            None => return Err(self.fault("the text ends, expected a JSON value")),
        }
        let here = path.is_some_and(<[Step]>::is_empty);
        Ok(if here { Some(start..self.at) } else { found })
    }

    fn members(
        &mut self,
        step: Option<(&Step, &[Step])>,
        depth: u32,
    ) -> Result<Option<Range<usize>>, String> {
        self.expect(b'{')?;
        let mut found = None;
        if self.pass(b'}') {
            return Ok(found);
        }
        loop {
            self.blank();
            let key = self.string()?;
            self.expect(b':')?;
            // No early return after a match: a later member with the same key replaces it.
            match step.filter(|(step, _)| self.is(&key, &step.key)) {
                Some((_, rest)) => found = self.value(Some(rest), depth)?,
                None => self.value(None, depth).map(|_| ())?,
            }
            if self.pass(b'}') {
                return Ok(found);
            }
            self.expect(b',')?;
        }
    }

    fn elements(
        &mut self,
        step: Option<(&Step, &[Step])>,
        depth: u32,
    ) -> Result<Option<Range<usize>>, String> {
        self.expect(b'[')?;
        let mut found = None;
        if self.pass(b']') {
            return Ok(found);
        }
        for n in 0.. {
            match step.filter(|(step, _)| step.index == Some(n)) {
                Some((_, rest)) => found = self.value(Some(rest), depth)?,
                None => self.value(None, depth).map(|_| ())?,
            }
            if self.pass(b']') {
                break;
            }
            self.expect(b',')?;
        }
        Ok(found)
    }

    /// Skips a string. Returns its bytes, including the quotes.
    fn string(&mut self) -> Result<Range<usize>, String> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let rest = &self.bytes[self.at..];
            self.at += rest.iter().take_while(|&&b| b != b'"' && b != b'\\' && b >= 0x20).count();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault("a control character in a string")),
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = &self.bytes[self.at + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|h| h.is_ascii_hexdigit()) => 5,
            _ => return Err(self.fault("this escape is not valid in JSON")),
        };
        self.at += 1 + length;
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), String> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.fault("expected a JSON value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), String> {
        let count = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.fault("expected a digit")) } else { Ok(()) }
    }

    /// Whether the string in these bytes equals `key`.
    fn is(&self, quoted: &Range<usize>, key: &str) -> bool {
        let inner = &self.bytes[quoted.start + 1..quoted.end - 1];
        if !inner.contains(&b'\\') {
            return inner == key.as_bytes();
        }
        // The longest escape has six bytes and encodes at least one, so a longer string cannot match.
        if inner.len() > 6 * key.len() {
            return false;
        }
        // Rare, and not much longer than the pointer, so an allocation is acceptable.
        let quoted = &self.bytes[quoted.clone()];
        serde_json::from_slice::<String>(quoted).is_ok_and(|found| found == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_texts_are_json_as_for_serde() {
        let mut rng = tarflume_fixtures::SplitMix64::new(3);
        let good = br#"{"a": [1, -2.5e+3, {"b\n\u00e9": "c\"d"}], "t": true, "n": null, "e": {}, "z": [[]] }"#;
        let pointer = Pointer::parse("/a/2/x").unwrap();
        find(good, &pointer).unwrap();
        let alphabet = b"{}[]\",:\\u0123abe+-. tfn\n\xc3\x01";
        let (mut both, mut neither) = (0, 0);
        for _ in 0..20_000 {
            let mut text = good.to_vec();
            for _ in 0..rng.between(1, 2) {
                let at = rng.below(text.len() as u32) as usize;
                text[at] = alphabet[rng.below(alphabet.len() as u32) as usize];
            }
            let serde = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok()
                && std::str::from_utf8(&text).is_ok();
            let ours = find(&text, &pointer).is_ok();
            assert_eq!(ours, serde, "{}", String::from_utf8_lossy(&text));
            both += u32::from(ours);
            neither += u32::from(!ours);
        }
        assert!(both > 1000 && neither > 1000, "{both} {neither}");
    }

    #[test]
    fn a_pointer_finds_the_same_value_as_serde() {
        let text = r#"{"a": [10, {"b": [true, " x"]}], "": 1, "0": 2, "k\u0065y": {"~/": 3}, "a": [4, 5]}"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        for path in [
            "",
            "/a",
            "/a/1",
            "/a/01",
            "/a/+1",
            "/a/2",
            "/a/1/b",
            "/",
            "/0",
            "/key/~0~1",
            "/none/a",
        ] {
            let found = find(text.as_bytes(), &Pointer::parse(path).unwrap()).unwrap();
            let found =
                found.map(|at| serde_json::from_str::<serde_json::Value>(&text[at]).unwrap());
            assert_eq!(found.as_ref(), value.pointer(path), "{path}");
        }
        let deep = [vec![b'['; 1 << 20], vec![b']'; 1 << 20]].concat();
        assert!(find(&deep, &Pointer::parse("").unwrap()).unwrap_err().contains("too deeply"));
    }
}
