//! A tokenizer of each family, trained on a text of this repository, as the library and as the fast path.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Model, ModelWrapper, Tokenizer};

use super::super::split::GPT2;
use super::super::{Fast, Given, Uncovered, Work};

/// Names of families.
pub(super) const FAMILIES: [&str; 14] = [
    "gpt2",
    "gpt2 with a space",
    "neox",
    "claude",
    "digits",
    "llama3",
    "qwen2",
    "qwen3.5",
    "gpt-4o",
    "tekken",
    "deepseek",
    "llama2",
    "mistral",
    "gemma",
];

const CONTRACTIONS: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const LLAMA3: &str =
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const UPPER: &str = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]";
const LOWER: &str = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]";
const CASED: &str = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK: &str = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

/// A tokenizer both ways.
pub(super) struct Pair {
    pub(super) library: Tokenizer,
    pub(super) fast: Fast,
    pub(super) work: Mutex<Work>,
}

static PAIRS: LazyLock<BTreeMap<&str, Pair>> =
    LazyLock::new(|| FAMILIES.iter().map(|&family| (family, made(family))).collect());

impl Pair {
    pub(super) fn of(family: &str) -> &'static Pair {
        &PAIRS[family]
    }
}

fn made(family: &str) -> Pair {
    let library = library(&trained(family));
    let fast = fast(&library).unwrap_or_else(|why| panic!("{family}: {why:?}"));
    Pair { library, fast, work: Mutex::new(Work::new()) }
}

pub(super) fn library(json: &Value) -> Tokenizer {
    Tokenizer::from_bytes(json.to_string()).unwrap()
}

pub(super) fn fast(library: &Tokenizer) -> Result<Fast, Uncovered> {
    let given = Given {
        normalizer: library.get_normalizer(),
        normalizer_value: json!(library.get_normalizer()),
        pre_tokenizer: json!(library.get_pre_tokenizer()),
        added: library.get_added_tokens_decoder().into_iter().collect(),
        split_special_tokens: false,
    };
    let ModelWrapper::BPE(bpe) = library.get_model() else { panic!("BPE") };
    Fast::new(&given, bpe)
}

/// The tokenizer of GPT-2 without any merge.
pub(super) fn untrained() -> Value {
    let mut letters: Vec<char> = ByteLevel::alphabet().into_iter().filter(|&c| c != 'q').collect();
    letters.sort_unstable();
    let vocab: Value =
        letters.iter().enumerate().map(|(id, c)| (c.to_string(), json!(id))).collect();
    let model = json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        "vocab": vocab, "merges": []});
    file(model, Value::Null, level(false, true), false)
}

fn file(model: Value, normalizer: Value, pre_tokenizer: Value, marked: bool) -> Value {
    let first = model["vocab"].as_object().map_or(0, serde_json::Map::len);
    let mut added = Vec::new();
    let space = if marked { "\u{2581}\u{2581}\u{2581}" } else { "   " };
    for (number, (content, special)) in
        [("<|end|>", true), ("<mask>", true), (space, false), ("\n\n\n", false), ("\u{e9}t", false)]
            .into_iter()
            .enumerate()
    {
        added.push(json!({"id": first + number, "content": content, "special": special, "normalized": !special,
            "single_word": false, "lstrip": content == "<mask>", "rstrip": content == "\u{e9}t"}));
    }
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null, "model": model})
}

fn level(space: bool, own: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": true, "use_regex": own})
}

fn split(text: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": false})
}

fn sequence(parts: &[Value]) -> Value {
    json!({"type": "Sequence", "pretokenizers": parts})
}

fn by(text: &str) -> Value {
    sequence(&[split(text), level(false, false)])
}

fn cased(digits: &str, contractions: &str) -> String {
    let prefix = r"[^\r\n\p{L}\p{N}]?";
    format!(
        "{prefix}{UPPER}*{LOWER}+{contractions}|{prefix}{UPPER}+{LOWER}*{contractions}|{digits}{CASED}"
    )
}

fn trained(family: &str) -> Value {
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
    let nfc = json!({"type": "NFC"});
    let none = Value::Null;
    let contractions = format!("{CONTRACTIONS}?");
    let (normalizer, pre_tokenizer) = match family {
        "gpt2" => (none, level(false, true)),
        "gpt2 with a space" => (none, level(true, true)),
        "neox" => (nfc, by(GPT2)),
        "claude" => (json!({"type": "NFKC"}), level(false, true)),
        "digits" => (
            none,
            sequence(&[json!({"type": "Digits", "individual_digits": true}), level(false, true)]),
        ),
        "llama3" => (none, by(&format!("{CONTRACTIONS}{LLAMA3}"))),
        "qwen2" => (nfc, by(&format!("{CONTRACTIONS}{}", LLAMA3.replace("{1,3}", "")))),
        "qwen3.5" => (nfc, by(&format!("{CONTRACTIONS}{QWEN35}"))),
        "gpt-4o" => (none, by(&cased(r"\p{N}{1,3}", &contractions))),
        "tekken" => (none, by(&cased(r"\p{N}", ""))),
        "deepseek" => {
            let ideographs = "[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+";
            let parts =
                [split(r"\p{N}{1,3}"), split(ideographs), split(DEEPSEEK), level(false, false)];
            (none, sequence(&parts))
        }
        "llama2" => {
            let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
            (json!({"type": "Sequence", "normalizers": [prepend, replace]}), none)
        }
        "mistral" => (
            none,
            json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "first", "split": false}),
        ),
        "gemma" => (
            replace,
            json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
        ),
        other => panic!("{other} is no family"),
    };
    let marked = ["llama2", "mistral", "gemma"].contains(&family);
    let model = model(marked, ["llama3", "gpt-4o", "tekken"].contains(&family));
    file(model, normalizer, pre_tokenizer, marked)
}

/// Trains a model on the pages of this repository.
fn model(marked: bool, ignore_merges: bool) -> Value {
    let text = concat!(
        include_str!("../../../../../../docs/TOKENS.md"),
        include_str!("../../../../../../ARCHITECTURE.md"),
        "  \n\n the \u{e9}t\u{e9} \u{4e2d}\u{6587} \u{4e2d}\u{56fd} 2026 12 123 \u{301} McDonald's THE 'LL 'll \t\t \r\n",
    );
    let mut trainer = BpeTrainer::builder().vocab_size(1500).show_progress(false).build();
    let words: Vec<String> = text
        .replace(' ', if marked { "\u{2581}" } else { "\u{120}" })
        .replace('\n', if marked { "\n" } else { "\u{10a}" })
        .split_inclusive(['.', ',', ')', '`'])
        .flat_map(|part| cut(part, if marked { '\u{2581}' } else { '\u{120}' }))
        .collect();
    tokenizers::Trainer::feed(&mut trainer, words.iter(), |word| Ok(vec![word.to_string()]))
        .unwrap();
    let mut bpe = BPE::default();
    let _: Vec<AddedToken> = tokenizers::Trainer::train(&trainer, &mut bpe).unwrap();
    let mut json = serde_json::to_value(&bpe).unwrap();
    let mut more: Vec<String> = ByteLevel::alphabet().iter().map(char::to_string).collect();
    if marked {
        more = (0..=u8::MAX).map(|byte| format!("<{byte:#04X}>")).collect();
        more.push("<unk>".into());
        json["unk_token"] = json!("<unk>");
        json["byte_fallback"] = json!(true);
        json["fuse_unk"] = json!(true);
    }
    more.sort_unstable();
    json["ignore_merges"] = json!(ignore_merges);
    let mut next = bpe.get_vocab_size();
    for name in more {
        if json["vocab"].get(&name).is_none() {
            json["vocab"][name] = json!(next);
            next += 1;
        }
    }
    json
}

/// Returns the words of a text, each with the spaces before it.
fn cut(text: &str, space: char) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = space;
    for c in text.chars() {
        if c == space && last != space {
            words.push(String::new());
        }
        words.last_mut().unwrap().push(c);
        last = c;
    }
    words
}
