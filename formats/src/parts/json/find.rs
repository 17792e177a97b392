//! Finds the value of a JSON pointer in a JSON text in one pass.
//!
//! Validates the whole text. Builds no values and allocates nothing for skipped parts.

use std::ops::Range;

use super::escapes::unescaped;
use super::rules::{JsonFault, JsonRules};
use super::scan::{Scan, Token};

/// A parsed JSON pointer (RFC 6901).
#[derive(Debug, Clone)]
pub struct Pointer(Vec<Step>);

/// One step of a pointer.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) key: String,
    /// The key as the number of an element.
    pub(super) index: Option<u64>,
}

impl Pointer {
    /// Parses `/boxes/0`; the empty text leads to the whole value.
    ///
    /// # Errors
    /// Returns a sentence that shows the form.
    pub fn parse(text: &str) -> Result<Pointer, String> {
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

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }
}

/// The bytes of the value at `pointer`, if it exists. If a name is repeated, the last one counts, as in
/// Python, by both rules.
///
/// # Errors
/// Returns a fault with the byte if the text is not valid JSON.
pub fn find(
    bytes: &[u8],
    pointer: &Pointer,
    rules: JsonRules,
) -> Result<Option<Range<usize>>, JsonFault> {
    let mut scan = Scan::new(bytes, rules)?.with_repeats();
    let found = value(&mut scan, pointer.steps())?;
    scan.end()?;
    Ok(found)
}

/// Skips a value and returns the bytes that `path` leads to in it.
fn value(scan: &mut Scan<'_>, path: &[Step]) -> Result<Option<Range<usize>>, JsonFault> {
    let token = scan.token()?;
    let start = scan.at();
    let Some((step, rest)) = path.split_first() else {
        scan.skip()?;
        return Ok(Some(start..scan.at()));
    };
    let mut found = None;
    match token {
        Token::Object => scan.object(|scan, name| {
            // No early return after a match: a later member with the same key replaces it.
            if is(scan.piece(name), &step.key) {
                found = value(scan, rest)?
            } else {
                scan.skip()?
            }
            Ok::<(), JsonFault>(())
        })?,
        Token::Array => scan.array(|scan, number| {
            if step.index == Some(number) {
                found = value(scan, rest)?
            } else {
                scan.skip()?
            }
            Ok::<(), JsonFault>(())
        })?,
        _ => scan.skip()?,
    }
    Ok(found)
}

/// Whether a string, quotes included, equals `key`.
fn is(quoted: &str, key: &str) -> bool {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return inner == key;
    }
    // The longest escape has six bytes and encodes at least one, so a longer string cannot match. Escapes are rare, and
    // the string is not much longer than the pointer, so an allocation is acceptable.
    inner.len() <= 6 * key.len() && unescaped(quoted) == key
}
