//! `Plan`: what the normalizer and the pre-tokenizer of a `tokenizer.json` do, as far as the fast path has it itself.
//!
//! Parts are known by the values that the library writes for them, so defaults that a file leaves out are there.

use serde_json::Value;

use super::model::Alphabet;
use super::normal::Step;
use super::split::{GPT2, Splitter};
use super::uncovered::Uncovered;

/// Limit on the bytes that a normalizer of the fast path adds at one place; the library has one on all of them.
const ADDED: usize = 4;

/// How a text becomes pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) words: Words,
}

/// How a normalized text becomes pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Words {
    /// Cut by one splitter after the other; symbols are bytes.
    Bytes {
        /// Puts a space before a text that does not begin with one.
        space: bool,
        splitters: Vec<Splitter>,
    },
    /// Not cut; symbols are characters.
    Whole,
    /// Spaces become `mark`; symbols are characters.
    Marked {
        mark: char,
        prepend: Prepend,
        /// Each mark begins a piece.
        split: bool,
    },
}

/// Which texts get a mark before them, unless they begin with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepend {
    Never,
    /// The text at the beginning of a document.
    First,
    Always,
}

impl Words {
    /// Returns what the symbols of words are.
    pub(super) fn alphabet(&self) -> Alphabet {
        match self {
            Words::Bytes { .. } => Alphabet::Bytes,
            Words::Whole | Words::Marked { .. } => Alphabet::Characters,
        }
    }
}

impl Plan {
    /// Reads the parts of a tokenizer; null if there is none.
    ///
    /// # Errors
    /// Returns the first part that is not covered.
    pub(super) fn of(normalizer: &Value, pre_tokenizer: &Value) -> Result<Plan, Uncovered> {
        let mut steps = Vec::new();
        for part in parts(normalizer, "normalizers") {
            steps.push(step(part)?);
        }
        let parts = parts(pre_tokenizer, "pretokenizers");
        let words = match &parts[..] {
            [] => Words::Whole,
            [part] if part["type"] == "Metaspace" => marked(part, &steps)?,
            [part] if is_idle(part, &steps) => Words::Whole,
            [before @ .., last] if last["type"] == "ByteLevel" => bytes(before, last)?,
            [first, ..] => return Err(Uncovered::PreTokenizer(kind(first))),
        };
        Ok(Plan { steps, words })
    }
}

/// Returns the parts of a sequence, or the only part; those in inner sequences in their place.
fn parts<'a>(part: &'a Value, list: &str) -> Vec<&'a Value> {
    match part[list].as_array() {
        Some(inner) => inner.iter().flat_map(|part| parts(part, list)).collect(),
        None if part.is_null() => Vec::new(),
        None => vec![part],
    }
}

fn kind(part: &Value) -> String {
    part["type"].as_str().unwrap_or("of an unknown type").into()
}

fn step(part: &Value) -> Result<Step, Uncovered> {
    let step = match part["type"].as_str() {
        Some("NFC") => Some(Step::Nfc),
        Some("NFKC") => Some(Step::Nfkc),
        Some("Prepend") => {
            let before = part["prepend"].as_str().filter(|text| text.len() <= ADDED);
            before.map(|text| Step::Prepend(text.into()))
        }
        Some("Replace") => {
            let from = part["pattern"]["String"].as_str().filter(|text| !text.is_empty());
            let to = part["content"].as_str();
            from.zip(to)
                .filter(|(from, to)| to.len() <= from.len().saturating_add(ADDED))
                .map(|(from, to)| Step::Replace { from: from.into(), to: to.into() })
        }
        _ => None,
    };
    step.ok_or_else(|| Uncovered::Normalizer(kind(part)))
}

/// Returns true if a pre-tokenizer cuts at a text that the last step of the normalizer has removed.
fn is_idle(part: &Value, steps: &[Step]) -> bool {
    let Some(Step::Replace { from, to }) = steps.last() else { return false };
    // What replaces a single character is beside others that are not the character.
    let is_gone = from.chars().count() == 1 && !to.contains(from.as_str());
    is_gone && part["type"] == "Split" && part["pattern"]["String"] == from.as_str()
}

/// Returns why a pre-tokenizer is not covered.
fn unknown(part: &Value) -> Uncovered {
    Uncovered::PreTokenizer(kind(part))
}

fn marked(part: &Value, steps: &[Step]) -> Result<Words, Uncovered> {
    // Behind a normalizer, the library computes another place of a text in its document.
    if !steps.is_empty() {
        return Err(unknown(part));
    }
    let mut mark = part["replacement"].as_str().ok_or_else(|| unknown(part))?.chars();
    let first = mark.next().filter(|_| mark.next().is_none());
    let mark = first.ok_or_else(|| unknown(part))?;
    let prepend = match part["prepend_scheme"].as_str() {
        Some("never") => Prepend::Never,
        Some("first") => Prepend::First,
        Some("always") => Prepend::Always,
        _ => return Err(unknown(part)),
    };
    let split = part["split"].as_bool().ok_or_else(|| unknown(part))?;
    Ok(Words::Marked { mark, prepend, split })
}

fn bytes(before: &[&Value], last: &Value) -> Result<Words, Uncovered> {
    let space = last["add_prefix_space"].as_bool().ok_or_else(|| unknown(last))?;
    let own = last["use_regex"].as_bool().ok_or_else(|| unknown(last))?;
    if space && !before.is_empty() {
        return Err(unknown(last));
    }
    let mut splitters = Vec::new();
    for part in before {
        splitters.push(splitter(part)?);
    }
    if own {
        splitters.extend(Splitter::of_expression(GPT2));
    }
    Ok(Words::Bytes { space, splitters })
}

fn splitter(part: &Value) -> Result<Splitter, Uncovered> {
    if part["type"] == "Digits" && part["individual_digits"] == true {
        return Ok(Splitter::Digits);
    }
    if part["type"] != "Split" {
        return Err(unknown(part));
    }
    let text = part["pattern"]["Regex"].as_str().ok_or_else(|| unknown(part))?;
    let splitter =
        Splitter::of_expression(text).ok_or_else(|| Uncovered::Expression(text.into()))?;
    let inverted = part["invert"].as_bool().ok_or_else(|| unknown(part))?;
    let kept = match (part["behavior"].as_str(), inverted) {
        (Some("Isolated"), _) => true,
        // What is removed lies between matches, where these expressions leave nothing.
        (Some("Removed"), true) => splitter.covers_texts(),
        _ => false,
    };
    if kept { Ok(splitter) } else { Err(unknown(part)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn split(text: &str, behavior: &str, invert: bool) -> Value {
        json!({"type": "Split", "pattern": {"Regex": text}, "behavior": behavior, "invert": invert})
    }

    #[test]
    fn known_parts_are_recognized() {
        let level = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
        let sequence =
            json!({"type": "Sequence", "pretokenizers": [split(GPT2, "Removed", true), level]});
        let plan = Plan::of(&json!({"type": "NFC"}), &sequence).unwrap();
        let words = Words::Bytes { space: false, splitters: vec![Splitter::Gpt2] };
        assert_eq!(plan, Plan { steps: vec![Step::Nfc], words });

        let gemma = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
        let idle = json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
                          "invert": false});
        assert_eq!(Plan::of(&gemma, &idle).unwrap().words, Words::Whole);
        assert_eq!(Plan::of(&Value::Null, &idle), Err(Uncovered::PreTokenizer("Split".into())));
    }

    #[test]
    fn the_first_part_that_is_not_covered_is_named() {
        fn refused(normalizer: &Value, pre_tokenizer: &Value) -> Uncovered {
            Plan::of(normalizer, pre_tokenizer).unwrap_err()
        }

        for (part, space, expected) in [
            (split("[a-z]+", "Isolated", false), false, Uncovered::Expression("[a-z]+".into())),
            (split(GPT2, "Removed", false), false, Uncovered::PreTokenizer("Split".into())),
            (split(r"\p{N}{1,3}", "Removed", true), false, Uncovered::PreTokenizer("Split".into())),
            (split(GPT2, "Isolated", false), true, Uncovered::PreTokenizer("ByteLevel".into())),
        ] {
            let level = json!({"type": "ByteLevel", "add_prefix_space": space, "use_regex": false});
            let both = json!({"type": "Sequence", "pretokenizers": [part, level]});
            assert_eq!(refused(&Value::Null, &both), expected);
        }
        let lower = json!({"type": "Lowercase"});
        assert_eq!(refused(&lower, &Value::Null), Uncovered::Normalizer("Lowercase".into()));
        let words = json!({"type": "WhitespaceSplit"});
        assert_eq!(
            refused(&Value::Null, &words),
            Uncovered::PreTokenizer("WhitespaceSplit".into())
        );
        let long = json!({"type": "Replace", "pattern": {"String": " "}, "content": "123456"});
        assert_eq!(refused(&long, &Value::Null), Uncovered::Normalizer("Replace".into()));
    }
}
