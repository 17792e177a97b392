//! `Cutter`: where a long text may be cut so that its pieces have the ids of the whole.
//!
//! The library needs about 120 bytes of memory for each byte of a text, so long ones are tokenized in
//! pieces. A text is cut before a space between two small letters of ASCII (`one two`), and only if each
//! part of the tokenizer leaves the two sides alone:
//!
//! - added tokens contain no white space, and those that also match beside themselves do not begin or end with a
//!   letter;
//! - the normalizer changes characters without looking at their neighbors, and leaves letters and spaces;
//! - the pre-tokenizer always separates the space from the word before, and what follows the cut does not
//!   depend on what is before it. Regular expressions are compared with known ones, for which this holds: a
//!   word ends at the space, and matching goes on there.
//!
//! The model sees the words that the pre-tokenizer makes one at a time.

use serde_json::Value;
use tokenizers::AddedToken;
use tokenizers::tokenizer::{NormalizedString, Normalizer};

use super::expression::PATTERNS;
use super::guarded::GuardedTokenizer;

/// Bytes of a piece, if it can be cut there.
const PIECE: usize = 512 * 1024;

/// Parts of normalizers that change each character by itself.
const NORMALIZERS: [&str; 9] = [
    "BertNormalizer",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Lowercase",
    "StripAccents",
    "Nmt",
    "Precompiled",
];

/// Pre-tokenizers that separate words at spaces.
const WORDS: [&str; 3] = ["Whitespace", "WhitespaceSplit", "BertPreTokenizer"];

/// Finds the places of a text.
#[derive(Debug)]
pub(super) struct Cutter(());

impl Cutter {
    /// Returns the cutter of a tokenizer whose texts may be cut.
    pub(super) fn of(inner: &GuardedTokenizer) -> Option<Cutter> {
        let normalizer = serde_json::to_value(inner.get_normalizer()).ok()?;
        let pre_tokenizer = serde_json::to_value(inner.get_pre_tokenizer()).ok()?;
        let separated = steps(&pre_tokenizer, "pretokenizers").try_fold(false, separates)?;
        let mut words = NormalizedString::from("x y");
        if let Some(normalizer) = inner.get_normalizer() {
            normalizer.normalize(&mut words).ok()?;
        }
        let fits = separated
            && words.get() == "x y"
            && steps(&normalizer, "normalizers").all(is_local)
            && inner.get_added_tokens_decoder().values().all(is_alone);
        fits.then_some(Cutter(()))
    }

    /// Returns where the pieces of a text end, but the last one; none for a short text.
    pub(super) fn ends(&self, text: &str) -> Vec<usize> {
        let bytes = text.as_bytes();
        let mut ends = Vec::new();
        let mut at = PIECE;
        while at + 1 < bytes.len() {
            let place = memchr::memchr_iter(b' ', &bytes[at..bytes.len() - 1]).find(|found| {
                let place = at + found;
                bytes[place - 1].is_ascii_lowercase() && bytes[place + 1].is_ascii_lowercase()
            });
            let Some(place) = place else { break };
            ends.push(at + place);
            at += place + PIECE;
        }
        ends
    }
}

/// Returns the parts of a sequence, or the only part.
fn steps<'a>(part: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    let inner: Vec<&Value> = match part[list].as_array() {
        Some(steps) => steps.iter().collect(),
        None if part.is_null() => Vec::new(),
        None => vec![part],
    };
    inner.into_iter()
}

/// Returns true if a normalizer changes each character by itself.
fn is_local(normalizer: &Value) -> bool {
    normalizer["type"].as_str().is_some_and(|kind| NORMALIZERS.contains(&kind))
}

/// Returns true if an added token is found at the same places in a text that is cut.
fn is_alone(token: &AddedToken) -> bool {
    let beside = token.lstrip || token.rstrip || token.single_word;
    let ends = [token.content.chars().next(), token.content.chars().next_back()];
    let has_letter = ends.into_iter().any(|end| end.is_none_or(char::is_alphabetic));
    let has_space = token.content.contains(char::is_whitespace);
    !has_space && (!beside || !has_letter)
}

/// Returns whether words are separated from a space behind them after this pre-tokenizer, if they are
/// `before` it; `None` if it may do something else with texts that are cut there.
fn separates(before: bool, pre_tokenizer: &Value) -> Option<bool> {
    match pre_tokenizer["type"].as_str()? {
        // Without its own expression it makes a letter of the space, so words must be separated already.
        "ByteLevel" => (before || pre_tokenizer["use_regex"].as_bool()?).then_some(true),
        "Metaspace" => (before || pre_tokenizer["split"].as_bool()?).then_some(true),
        "Digits" | "Punctuation" => Some(before),
        "Split" => {
            let behavior = pre_tokenizer["behavior"].as_str()?;
            let kept =
                behavior == "Isolated" || behavior == "Removed" && pre_tokenizer["invert"] == true;
            let known = PATTERNS.contains(&pre_tokenizer["pattern"]["Regex"].as_str()?);
            (known && kept).then_some(true)
        }
        kind => WORDS.contains(&kind).then_some(true),
    }
}
