//! What a `tokenizer.json` may ask for before the library reads it: the library trusts it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Limit on the steps of normalizers, pre-tokenizers, post processors and decoders together.
const STEPS: usize = 64;
/// Limit on how deep they contain each other, which doubles the work of the library for each.
const DEPTH: usize = 8;
/// Limit on pre-tokenizers that make letters of bytes: each can double a text.
const BYTE_LEVELS: usize = 2;
/// Limit on the tokens that are added around a text, and on the ids of each.
const AROUND: usize = 64;
/// Limit on the letters of a word of WordPiece, whose work grows with their cube.
const LETTERS: u64 = 1000;
/// Limit on the bytes that a map of characters makes of one.
const MAPPED: usize = 64;
/// Limit on the bytes of a token of Unigram, which is compared with each place of a text. The library keeps them in a tree
/// with a level for each byte, and drops a level by a call in the one above.
const TOKEN: usize = 4096;

/// The parts of a file that decide the work.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    max_input_chars_per_word: Option<u64>,
    #[serde(default)]
    vocab: Longest,
}

/// The bytes of the longest text of a list of lists: the vocabulary of Unigram. Those of other models are objects.
#[derive(Default)]
struct Longest(usize);

impl<'de> Deserialize<'de> for Longest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Longest, D::Error> {
        deserializer.deserialize_any(LongestVisitor)
    }
}

struct LongestVisitor;

impl<'de> Visitor<'de> for LongestVisitor {
    type Value = Longest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vocabulary")
    }

    fn visit_str<E>(self, text: &str) -> Result<Longest, E> {
        Ok(Longest(text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Longest, A::Error> {
        let mut longest = 0;
        while let Some(Longest(length)) = list.next_element()? {
            longest = longest.max(length);
        }
        Ok(Longest(longest))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Longest, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Longest(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Longest, E> {
        Ok(Longest(0))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Longest, E> {
        Ok(Longest(0))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Longest, E> {
        Ok(Longest(0))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Longest, E> {
        Ok(Longest(0))
    }

    fn visit_unit<E>(self) -> Result<Longest, E> {
        Ok(Longest(0))
    }
}

/// Refuses a file that asks for more than a tokenizer needs.
///
/// # Errors
/// Returns what it asks for.
pub(super) fn check(json: &[u8]) -> Result<(), String> {
    let parts: Parts = serde_json::from_slice(json).map_err(|e| e.to_string())?;
    let mut steps = Vec::new();
    for part in [&parts.normalizer, &parts.pre_tokenizer, &parts.post_processor, &parts.decoder] {
        collect(part, 0, &mut steps)?;
    }
    if steps.len() > STEPS {
        return Err(format!("it has {} steps, and {STEPS} are the limit", steps.len()));
    }
    let mut inner = Vec::new();
    collect(&parts.pre_tokenizer, 0, &mut inner)?;
    if inner.iter().filter(|step| step["type"] == "ByteLevel").count() > BYTE_LEVELS {
        return Err(format!("more than {BYTE_LEVELS} of its pre-tokenizers are ByteLevel"));
    }
    if let Some(letters) = parts.model.max_input_chars_per_word.filter(|&n| n > LETTERS) {
        let text = format!("max_input_chars_per_word is {letters}, and {LETTERS} is the limit");
        return Err(text);
    }
    if parts.model.vocab.0 > TOKEN {
        return Err(format!("a token has more than {TOKEN} bytes"));
    }
    for step in steps {
        check_around(step)?;
        if let Some(map) = step["precompiled_charsmap"].as_str() {
            check_map(map)?;
        }
    }
    Ok(())
}

/// Adds a part and the parts in it.
fn collect<'a>(part: &'a Value, depth: usize, steps: &mut Vec<&'a Value>) -> Result<(), String> {
    if depth > DEPTH {
        return Err(format!("its parts contain each other more than {DEPTH} times"));
    }
    if !part.is_object() {
        return Ok(());
    }
    steps.push(part);
    for name in ["normalizers", "pretokenizers", "processors", "decoders"] {
        for inner in part[name].as_array().into_iter().flatten() {
            collect(inner, depth + 1, steps)?;
        }
    }
    Ok(())
}

/// Refuses a post processor that adds many tokens to each text.
fn check_around(step: &Value) -> Result<(), String> {
    let tokens = step["special_tokens"].as_object();
    let ids = tokens.into_iter().flat_map(|tokens| tokens.values()).map(|token| &token["ids"]);
    if [&step["single"], &step["pair"]].into_iter().chain(ids).any(has_too_many) {
        return Err(format!("its post processor adds more than {AROUND} tokens to each text"));
    }
    Ok(())
}

fn has_too_many(list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.len() > AROUND)
}

/// Refuses a map of characters that is cut, or makes a long text of one character. It is the length of a table, the
/// table, and texts that end with zeros.
fn check_map(map: &str) -> Result<(), String> {
    let bytes = STANDARD.decode(map).map_err(|e| format!("its precompiled_charsmap: {e}"))?;
    const CUT: &str = "its precompiled_charsmap ends too early";
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(CUT)?;
    let texts = rest.get(u32::from_le_bytes(*length) as usize..).ok_or(CUT)?;
    let longest = texts.split(|&byte| byte == 0).map(<[u8]>::len).max().unwrap_or(0);
    if longest > MAPPED {
        let text = format!("its precompiled_charsmap makes {longest} bytes of one character");
        return Err(text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(parts: &Value) -> String {
        let mut file = json!({"model": {"type": "WordLevel"}});
        for (name, part) in parts.as_object().unwrap() {
            file[name] = part.clone();
        }
        check(file.to_string().as_bytes()).unwrap_err()
    }

    #[test]
    fn what_no_tokenizer_needs_is_refused() {
        let mut nested = json!({"type": "NFC"});
        for _ in 0..20 {
            nested = json!({"type": "Sequence", "normalizers": [nested]});
        }
        let many = vec![json!({"type": "NFC"}); 100];
        let levels = vec![json!({"type": "ByteLevel"}); 3];
        let long = [&[0; 4][..], &[b'x'; 65]].concat();
        let [short, long] = [&u32::MAX.to_le_bytes()[..], &long].map(
            |bytes| json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(bytes)}),
        );
        for (parts, why) in [
            (json!({"normalizer": nested}), "contain each other"),
            (json!({"decoder": {"type": "Sequence", "decoders": many}}), "it has 101 steps"),
            (json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": levels}}), "ByteLevel"),
            (
                json!({"post_processor": {"type": "TemplateProcessing", "single": vec![0; 65]}}),
                "adds more than 64",
            ),
            (
                json!({"post_processor": {"special_tokens": {"a": {"ids": vec![0; 65]}}}}),
                "adds more than 64",
            ),
            (json!({"model": {"max_input_chars_per_word": 1001}}), "1000 is the limit"),
            (
                json!({"model": {"vocab": [["x", 0], ["y".repeat(4097), -1.5]]}}),
                "more than 4096 bytes",
            ),
            (json!({"normalizer": short}), "ends too early"),
            (json!({"normalizer": long}), "makes 65 bytes"),
        ] {
            let refused = refused(&parts);
            assert!(refused.contains(why), "{why}: {refused}");
        }
        assert_eq!(
            check(br#"{"model": {"max_input_chars_per_word": 100}, "normalizer": null}"#),
            Ok(())
        );
        for vocab in [json!([["y".repeat(4096), -1, true, null, {}]]), json!({"y".repeat(5000): 7})]
        {
            let file = json!({"model": {"vocab": vocab}}).to_string();
            assert_eq!(check(file.as_bytes()), Ok(()));
        }
    }
}
