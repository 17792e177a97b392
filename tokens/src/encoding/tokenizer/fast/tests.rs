//! The fast path beside the library: the same ids for all texts, with tokenizers of each family that are trained here.

mod families;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use self::families::{FAMILIES, Pair};
use super::*;

/// What texts are made of.
const ATOMS: [&str; 84] = [
    " ",
    "  ",
    "     ",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{1c}",
    "\u{85}",
    "\u{a0}",
    "\u{2003}",
    "\u{200b}",
    "\u{2028}",
    "\u{3000}",
    "\u{feff}",
    "\u{180e}",
    "a",
    "b",
    "Z",
    "the",
    " the",
    " The",
    "THE",
    "McDonald",
    "iPhone",
    "\u{e9}",
    "e\u{301}",
    "\u{300}",
    "\u{301}\u{327}",
    "\u{34f}",
    "\u{1e9e}",
    "\u{1c5}",
    "\u{2b0}",
    "\u{aa}",
    "\u{17f}",
    "'s",
    "'S",
    "'\u{17f}",
    "'re",
    "'RE",
    "'Ve",
    "'ll",
    "'LL",
    "'lL",
    "'d",
    "'m",
    "'t",
    "'",
    "''",
    "\u{2019}s",
    "0",
    "12",
    "1234567",
    "\u{661}\u{662}",
    "\u{bd}",
    "\u{2167}",
    "\u{4e00}",
    "\u{4e2d}\u{6587}",
    "\u{9fa6}",
    "\u{3042}\u{30ab}\u{30fc}",
    "\u{d55c}\u{ae00}",
    "\u{1112}\u{1161}\u{11ab}",
    "\u{e01}\u{e33}",
    "\u{915}\u{94d}\u{937}\u{93f}",
    "\u{645}\u{64e}\u{631}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{1f1e9}\u{1f1ea}",
    "\u{fe0f}",
    "\u{2581}",
    "\u{2581}\u{2581}",
    ".",
    "...",
    "!?",
    "/",
    "//\n",
    "<|end|>",
    "<mask>",
    "<|",
    "<0x0A>",
    "$\u{20ac}+",
    "\u{ff0c}\u{3002}",
];

/// Texts that try everything: words, white space of all kinds, marks, digits, signs, special tokens, and any character.
pub(super) fn texts() -> impl Strategy<Value = String> {
    let any = any::<char>().prop_map(String::from);
    let low = proptest::char::range('\0', '\u{2fff}').prop_map(String::from);
    let repeated = (select(&ATOMS[..]), 1usize..40).prop_map(|(atom, times)| atom.repeat(times));
    let atom = prop_oneof![8 => select(&ATOMS[..]).prop_map(String::from), 1 => any, 2 => low, 1 => repeated];
    vec(atom, 0..24).prop_map(|atoms| atoms.concat())
}

/// Returns the ids of the fast path. Texts share what is kept.
fn ids(fast: &Fast, work: &mut Work, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    fast.encode(text, usize::MAX, work, &mut ids).unwrap();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn ids_of_all_texts_are_those_of_the_library(text in texts()) {
        for family in FAMILIES {
            let pair = Pair::of(family);
            let mut work = pair.work.lock().unwrap();
            let theirs = pair.library.encode_fast(text.as_str(), false).unwrap();
            prop_assert_eq!(ids(&pair.fast, &mut work, &text), theirs.get_ids(), "{}: {:?}", family, text);
        }
    }
}

#[test]
fn each_family_merges_words_and_meets_what_it_has_not_learned() {
    for family in FAMILIES {
        let pair = Pair::of(family);
        let mut work = Work::new();
        let learned = ids(&pair.fast, &mut work, " the other one");
        assert!(learned.len() < 12, "{family}: {learned:?}");
        let rare = ids(&pair.fast, &mut work, "\u{10fffd}\u{1}");
        assert!(rare.len() >= 5, "{family}: {rare:?}");
    }
}

#[test]
fn long_pieces_are_merged_as_by_the_library() {
    let letters: Vec<char> = "theandofa\u{e9}\u{4e2d}".chars().collect();
    let mut seed = 1u32;
    let mut text = String::new();
    for _ in 0..40_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push(letters[(seed >> 16) as usize % letters.len()]);
    }
    text += &"a".repeat(5000);
    text += &"=".repeat(5000);
    for family in FAMILIES {
        let pair = Pair::of(family);
        let theirs = pair.library.encode_fast(text.as_str(), false).unwrap();
        assert!(ids(&pair.fast, &mut Work::new(), &text) == theirs.get_ids(), "{family}");
    }
}

#[test]
fn a_piece_above_the_limit_is_named() {
    let pair = Pair::of("gpt2");
    let mut found = Vec::new();
    let mut work = Work::new();
    let text = format!("{} {}", "a".repeat(100), "a".repeat(300));
    assert_eq!(pair.fast.encode(&text, 200, &mut work, &mut found), Err(LongPiece(301)));
}

#[test]
fn what_is_not_covered_is_named() {
    for (change, expected) in [
        ("/model/end_of_word_suffix=\"</w>\"", Uncovered::PartsOfWords),
        ("/model/unk_token=\"a\"", Uncovered::UnknownCharacters),
        ("/added_tokens/0/single_word=true", Uncovered::SingleWord("<|end|>".into())),
        ("/normalizer={\"type\":\"Lowercase\"}", Uncovered::Normalizer("Lowercase".into())),
        ("/pre_tokenizer={\"type\":\"Whitespace\"}", Uncovered::PreTokenizer("Whitespace".into())),
    ] {
        let (place, value) = change.split_once('=').unwrap();
        let mut json = families::untrained();
        *json.pointer_mut(place).unwrap() = serde_json::from_str(value).unwrap();
        assert_eq!(families::fast(&families::library(&json)).unwrap_err(), expected, "{change}");
    }
    let mut json = families::untrained();
    json["model"]["vocab"]["q"] = json["model"]["vocab"]["z"].clone();
    assert_eq!(families::fast(&families::library(&json)).unwrap_err(), Uncovered::RepeatedIds);
}
