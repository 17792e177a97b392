//! Tokenizers of each model: ids that do not depend on the run, the build and the length of a text.

use std::fs;
use tarflume_formats::message::Message;

use serde_json::{Value, json};

use super::*;

/// Writes the files of a tokenizer and opens it.
fn opened(tokenizer: &str, config: Option<Value>, options: TokenizerOptions) -> Tokenizer {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokenizer.json");
    fs::write(&path, tokenizer).unwrap();
    if let Some(config) = config {
        fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    }
    Tokenizer::open(&path, options).unwrap()
}

fn usual(tokenizer: &str) -> Tokenizer {
    opened(tokenizer, None, TokenizerOptions::default())
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Ids::default();
    tokenizer.encode(&[text], &mut ids).unwrap();
    ids.iter().flatten().copied().collect()
}

/// Returns a `tokenizer.json` with these parts.
fn file(model: &str, normalizer: Value, pre_tokenizer: Value, added: Value) -> String {
    format!(
        "{{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": {added}, \
         \"normalizer\": {normalizer}, \"pre_tokenizer\": {pre_tokenizer}, \"post_processor\": null, \
         \"decoder\": null, \"model\": {model}}}"
    )
}

/// A model with an id for each byte and a few merges, as that of GPT-2.
fn byte_level(dropout: Value) -> String {
    let mut vocabulary = serde_json::Map::new();
    let letters = ('a'..='z').chain(['\u{120}', '\u{10a}', '.', '<', '>', '|']);
    for (id, letter) in letters.enumerate() {
        vocabulary.insert(letter.to_string(), json!(id));
    }
    let merges = [["a", "b"], ["\u{120}", "a"], ["ab", "c"], ["c", "\u{10a}"]];
    for pair in merges {
        vocabulary.insert(pair.concat(), json!(vocabulary.len()));
    }
    json!({"type": "BPE", "dropout": dropout, "unk_token": null, "continuing_subword_prefix": null,
           "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary,
           "merges": merges})
    .to_string()
}

fn added(id: u32, text: &str) -> Value {
    json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": true})
}

fn gpt2(prefix: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": true})
}

#[test]
fn ties_of_a_unigram_model_are_decided_as_in_the_python_package() {
    // With scores that are rounded correctly, the two tokens come in the other order.
    let model = r#"{"type": "Unigram", "unk_id": 0, "byte_fallback": false,
        "vocab": [["<unk>", 0], [")", -3.9068053654298485], ["))", -6.351363452580451]]}"#;
    let json = file(model, Value::Null, Value::Null, json!([]));
    let tokenizer = usual(&json);
    assert_eq!(ids(&tokenizer, "f)))"), [0, 1, 2]);
    // Ids that were cached with other scores have another name; those of other models keep theirs.
    assert_ne!(tokenizer.fingerprint(), without_rules(&json));
    let json = file(&byte_level(Value::Null), Value::Null, gpt2(false), json!([]));
    assert_eq!(usual(&json).fingerprint(), without_rules(&json));
}

/// The fingerprint of a tokenizer for which no rule beside its file counts.
fn without_rules(json: &str) -> [u8; 32] {
    *blake3::hash(format!("tokenizers 0.23\0\0{json}").as_bytes()).as_bytes()
}

#[test]
fn fingerprints_name_the_version_of_the_library() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    let version = lock.split("name = \"tokenizers\"\nversion = \"").nth(1).unwrap();
    assert!(version.starts_with(LIBRARY.strip_prefix("tokenizers ").unwrap()), "{version:.9}");
}

#[test]
fn dropout_is_off_and_named() {
    let text = "abc abc abcabc abc".repeat(20);
    let without = usual(&file(&byte_level(Value::Null), Value::Null, gpt2(false), json!([])));
    let with = usual(&file(&byte_level(json!(0.5)), Value::Null, gpt2(false), json!([])));
    assert_eq!(ids(&with, &text), ids(&without, &text));
    assert!(with.notices()[0].text().contains("its dropout of 0.5 is off"), "{:?}", with.notices());
    assert!(without.notices().is_empty());
    assert_ne!(with.fingerprint(), without.fingerprint());
}

#[test]
fn special_tokens_in_a_text_are_one_id_or_text() {
    let end = "<|end|>";
    let json = file(&byte_level(Value::Null), Value::Null, gpt2(false), json!([added(36, end)]));
    let special = usual(&json);
    assert_eq!(ids(&special, "a<|end|>b"), [0, 36, 1]);
    assert_eq!(special.specials().texts, [(36, end.to_string())].into());
    let split = TokenizerOptions { split_special_tokens: true, ..TokenizerOptions::default() };
    let text = opened(&json, None, split);
    assert_eq!(ids(&text, "a<|end|>b").len(), 9);
    assert!(text.specials().texts.is_empty());
    assert_ne!(special.fingerprint(), text.fingerprint());
}

#[test]
fn pieces_of_a_long_text_have_the_ids_of_the_whole() {
    // Words, lines, special tokens and two spaces, without any regular distance.
    let words = ["abc", "ab", "a  b", "c\nab", "x<|end|>y", "...", "zab"];
    let mut text = String::new();
    let mut seed = 1u32;
    while text.len() < 1_100_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text += words[(seed >> 16) as usize % words.len()];
        text += if seed >> 28 == 0 { "\n" } else { " " };
    }
    let special = json!([added(36, "<|end|>")]);
    let llama = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": expression::PATTERNS[1]}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]});
    let metaspace = json!({"type": "Metaspace", "replacement": "\u{120}", "prepend_scheme": "first", "split": true});
    for pre_tokenizer in [gpt2(false), gpt2(true), llama, metaspace] {
        let json = file(
            &byte_level(Value::Null),
            json!({"type": "NFC"}),
            pre_tokenizer.clone(),
            special.clone(),
        );
        let tokenizer = usual(&json);
        let ends = tokenizer.cutter.as_ref().unwrap().ends(&text);
        assert!(ends.len() == 2, "{ends:?}");
        let whole = tokenizer.inner.encode_fast(text.as_str(), false).unwrap();
        assert!(tokenizer.ids(&text).unwrap() == whole.get_ids(), "{pre_tokenizer}");
        assert!(ids(&tokenizer, &text) == whole.get_ids(), "{pre_tokenizer}");
    }
}

#[test]
fn texts_of_tokenizers_that_look_across_words_are_not_cut() {
    let pattern = json!({"type": "Split", "pattern": {"Regex": "[a-z]+ [a-z]+"}, "behavior": "Isolated",
                         "invert": false});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let late = json!({"type": "Sequence", "pretokenizers": [bytes, {"type": "Split", "behavior": "Isolated",
                      "pattern": {"Regex": expression::PATTERNS[0]}, "invert": false}]});
    let prepend = json!({"type": "Prepend", "prepend": "_"});
    let words = json!({"type": "WhitespaceSplit"});
    let greedy = json!([{"id": 36, "content": "end", "single_word": false, "lstrip": true, "rstrip": false,
                         "normalized": false, "special": true}]);
    for (normalizer, pre_tokenizer, added) in [
        (Value::Null, pattern, json!([])),
        (Value::Null, late, json!([])),
        (Value::Null, Value::Null, json!([])),
        (prepend, words.clone(), json!([])),
        (Value::Null, words.clone(), greedy),
        (Value::Null, words, json!([added(36, "a b")])),
    ] {
        let json = file(&byte_level(Value::Null), normalizer, pre_tokenizer, added);
        assert!(usual(&json).cutter.is_none(), "{json}");
    }
}

#[test]
fn the_path_is_named_with_its_reason() {
    fn path(pre_tokenizer: Value) -> String {
        let tokenizer =
            usual(&file(&byte_level(Value::Null), Value::Null, pre_tokenizer, json!([])));
        tokenizer.path().unwrap().text()
    }

    assert_eq!(path(gpt2(true)), "the fast path");
    let library = "the library `tokenizers`, because its pre-tokenizer is BertPreTokenizer";
    assert_eq!(path(json!({"type": "BertPreTokenizer"})), library);
}

#[test]
fn tokens_around_a_text_are_those_of_the_post_processor_on_both_paths() {
    let end = json!([added(36, "<|end|>")]);
    let around = json!({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [36], "tokens": ["<|end|>"]}}});
    for pre_tokenizer in [gpt2(false), json!({"type": "WhitespaceSplit"})] {
        let json = file(&byte_level(Value::Null), Value::Null, pre_tokenizer, end.clone());
        let json =
            json.replace("\"post_processor\": null", &format!("\"post_processor\": {around}"));
        let options = TokenizerOptions { add_special_tokens: true, ..TokenizerOptions::default() };
        let tokenizer = opened(&json, None, options);
        for text in ["", "abc", "a<|end|>b zab"] {
            let theirs = tokenizer.inner.encode_fast(text, true).unwrap();
            assert_eq!(ids(&tokenizer, text), theirs.get_ids(), "{text:?}");
        }
    }
}

#[test]
fn settings_beside_the_file_that_change_ids_are_named() {
    fn notices(config: Value, options: TokenizerOptions) -> String {
        let tokens = json!([added(36, "<|end|>")]);
        let json = file(&byte_level(Value::Null), Value::Null, gpt2(false), tokens);
        let tokenizer = opened(&json, Some(config), options);
        tokenizer.notices().iter().map(Message::text).collect::<Vec<_>>().join("\n")
    }

    let usual = TokenizerOptions::default();
    let adding = TokenizerOptions { add_special_tokens: true, ..usual };
    let same = json!({"tokenizer_class": "GPT2TokenizerFast", "eos_token": "<|end|>", "model_max_length": 8,
                      "add_bos_token": true, "bos_token": "<|end|>"});
    assert_eq!(notices(same.clone(), usual), "");
    let found = notices(same, adding);
    assert!(found.contains("add_bos_token is true, and the post processor"), "{found}");
    for (config, expected) in [
        (
            json!({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true}),
            "add_prefix_space is true",
        ),
        (json!({"tokenizer_class": "BertTokenizer"}), "do_lower_case is true"),
        (json!({"split_special_tokens": true}), "give --split-special-tokens"),
        (json!({"pad_token": {"content": "<pad>"}}), "1 added tokens differ ('<pad>')"),
        (
            json!({"added_tokens_decoder": {"36": {"content": "<|end|>", "lstrip": true}}}),
            "1 added tokens differ ('<|end|>')",
        ),
    ] {
        let found = notices(config, usual);
        assert!(found.contains(expected), "{found}");
    }
    let split = TokenizerOptions { split_special_tokens: true, ..usual };
    assert_eq!(notices(json!({"split_special_tokens": true}), split), "");
}

#[test]
fn guarded_parts_give_the_ids_of_the_library() {
    fn split(pattern: Value, behavior: &str, invert: bool) -> Value {
        json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert})
    }

    fn regex(text: &str) -> Value {
        json!({"Regex": text})
    }

    fn replace(pattern: Value, content: &str) -> Value {
        json!({"type": "Replace", "pattern": pattern, "content": content})
    }

    let levels = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let normalizers = [
        Value::Null,
        replace(regex("[a-c]+"), "cab"),
        json!({"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": " "}, replace(json!({"String": "b"}), "abc"), replace(regex("z*"), ""),
        ]}),
    ];
    let mut pre_tokenizers = Vec::new();
    for behavior in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"] {
        for (pattern, invert) in [(r"\s?[a-z]+|.", false), (r"[^ab]+", true), (r" |(?=\n)", false)]
        {
            let steps = [split(regex(pattern), behavior, invert), levels.clone()];
            pre_tokenizers.push(json!({"type": "Sequence", "pretokenizers": steps}));
        }
    }
    let text = "abc abcab ca\n\nb  zzz.abc<|x|>cab ".repeat(20);
    for normalizer in &normalizers {
        for pre_tokenizer in &pre_tokenizers {
            let tokens = json!([added(99, "<|x|>")]);
            let file =
                file(&byte_level(Value::Null), normalizer.clone(), pre_tokenizer.clone(), tokens);
            let theirs = tokenizers::Tokenizer::from_bytes(&file).unwrap();
            let expected = theirs.encode_fast(text.as_str(), false).unwrap();
            assert_eq!(
                ids(&usual(&file), &text),
                expected.get_ids(),
                "{normalizer} {pre_tokenizer}"
            );
        }
    }
}
