//! Checks JSON: well-formed UTF-8, one object, nothing after it. Builds no value.

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::fault::Fault;
use crate::problem::ProblemKind;

pub(super) fn check(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(fault(0, "it begins with a byte order mark, which JSON forbids; remove it"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| fault(e.valid_up_to(), "it is not UTF-8, as JSON must be"))?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = parser.deserialize_any(Object).and_then(|()| parser.end());
    parsed.map_err(|e| {
        let reason = e.to_string();
        let reason = reason.split(" at line ").next().unwrap_or(&reason);
        fault(byte_of(text, e.line(), e.column()), reason)
    })
}

fn fault(byte: usize, reason: &str) -> Fault {
    Fault { kind: ProblemKind::BadJson, byte: byte as u64, reason: format!("bad JSON: {reason}") }
}

/// Converts serde_json's line and column, both from 1, to a byte.
fn byte_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// Accepts an object and nothing else.
struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object, as every JSON part of a sample must be")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_pass() {
        for good in ["{}", " {\"a\": [1, 2, {\"b\": null}]}\n", "{\"ä\": \"\\u00e4\"}"] {
            assert_eq!(check(good.as_bytes()), Ok(()), "{good}");
        }
    }

    #[test]
    fn other_errors_have_their_byte() {
        let cases: [(&[u8], u64, &str); 7] = [
            (b"{\"a\": 1,}", 8, "trailing comma"),
            (b"[1]", 0, "an object"),
            (b"\"x\"", 2, "an object"),
            (b"{\"a\": 1} x", 9, "trailing characters"),
            (b"{\"a\": \xff}", 6, "UTF-8"),
            (b"\xef\xbb\xbf{}", 0, "byte order mark"),
            (b"{\n\"a\": nul}", 10, "expected ident"),
        ];
        for (bad, byte, reason) in cases {
            let fault = check(bad).unwrap_err();
            assert!(fault.reason.contains(reason), "{fault:?}");
            assert!(fault.byte.abs_diff(byte) <= 1, "{fault:?}");
        }
        assert!(
            check(b"").is_err() && check(b"{\"a\": 1").is_err() && check(b"{\"a\": NaN}").is_err()
        );
    }
}
