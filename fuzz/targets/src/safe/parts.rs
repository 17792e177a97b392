//! Checks of parts other than decoded pictures and JSON: an error or not, without a panic, and with memory for little more
//! than the input. The first byte chooses the kind.

use tarflume_foreign::parts::PartKind;
use tarflume_formats::json::JsonRules;

/// Checks the input as a part.
pub fn parts(input: &[u8]) {
    let Some((first, part)) = input.split_first() else { return };
    let kind = PartKind::ALL[usize::from(*first) % PartKind::ALL.len()];
    if let Err(error) = kind.check(part, JsonRules::Strict) {
        assert!(!error.text().is_empty());
    }
}
