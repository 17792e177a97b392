//! Splitters beside the library `onig`, which `tokenizers` calls: all texts are cut at the same places.

use onig::Regex;
use proptest::prelude::*;

use super::super::tests::texts;
use super::*;

/// The pieces of a text by an expression: its matches, and what lies between them.
fn pieces_of(regex: &Regex, text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (start, end) in regex.find_iter(text) {
        if ends.last().map_or(0, |&last| last) < start {
            ends.push(start);
        }
        ends.push(end);
    }
    if ends.last().map_or(0, |&last| last) < text.len() {
        ends.push(text.len());
    }
    ends
}

fn pieces(splitter: Splitter, text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < text.len() {
        at = splitter.end(text, at);
        ends.push(at);
    }
    ends
}

/// The known expressions, compiled.
fn compiled() -> Vec<(Regex, Splitter)> {
    KNOWN.iter().map(|&(text, splitter)| (Regex::new(text).unwrap(), splitter)).collect()
}

/// All characters with `TARFLUME_SWEEPS=whole`. Otherwise those of planes in which Unicode has assigned any, and each 61st of
/// the others, whose characters all have the same properties.
fn characters() -> impl Iterator<Item = char> {
    let is_whole = std::env::var_os("TARFLUME_SWEEPS").is_some_and(|word| word == "whole");
    ('\0'..=char::MAX).filter(move |&c| {
        let plane = c as u32 >> 16;
        is_whole || matches!(plane, 0..=3 | 14) || (c as u32).is_multiple_of(61) || c == char::MAX
    })
}

#[test]
fn every_character_is_cut_as_by_the_expressions() {
    for (regex, splitter) in compiled() {
        // Each character beside a letter, a digit, a sign, a space and the end of a line, and in contractions.
        let mut text = String::new();
        for (number, c) in characters().enumerate() {
            let around =
                ["a", "1", ".", " ", "\n", "A", "\u{301}", "'", "'r", "'l", "'V", "\u{4e2d}", "\t"];
            text += around[number % around.len()];
            text.push(c);
            text += around[(number / around.len() + number) % around.len()];
            if number % 64 == 63 {
                assert_eq!(
                    pieces(splitter, &text),
                    pieces_of(&regex, &text),
                    "{splitter:?}: {text:?}"
                );
                text.clear();
            }
        }
    }
}

#[test]
fn contractions_end_with_the_characters_that_the_expressions_know() {
    let mut texts = vec![String::new()];
    for (number, c) in characters().enumerate() {
        if number % 256 == 255 {
            texts.push(String::new());
        }
        let text = texts.last_mut().unwrap();
        for before in ["x'", " x'r", " x'V", " x'l"] {
            *text += before;
            text.push(c);
        }
    }
    // GPT-2, Llama 3, GPT-4 and GPT-4o: the others have their functions.
    for number in [0, 1, 2, 6] {
        let (regex, splitter) = &compiled()[number];
        for text in &texts {
            assert_eq!(pieces(*splitter, text), pieces_of(regex, text), "{splitter:?}: {text:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn all_texts_are_cut_as_by_the_expressions(text in texts()) {
        for (regex, splitter) in compiled() {
            prop_assert_eq!(pieces(splitter, &text), pieces_of(&regex, &text), "{:?}: {:?}", splitter, text);
        }
    }

    #[test]
    fn digits_are_cut_as_by_the_library(text in texts()) {
        use tokenizers::pre_tokenizers::digits::Digits;
        use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

        let mut theirs = PreTokenizedString::from(text.as_str());
        Digits::new(true).pre_tokenize(&mut theirs).unwrap();
        let splits = theirs.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let ends: Vec<usize> = splits.iter().map(|(_, (_, end), _)| *end).collect();
        prop_assert_eq!(pieces(Splitter::Digits, &text), ends);
    }
}

#[test]
fn expressions_are_known_with_the_ends_of_lines_as_characters() {
    for (text, splitter) in KNOWN {
        assert_eq!(Splitter::of_expression(text), Some(splitter));
        let raw = text.replace(r"\r", "\r").replace(r"\n", "\n");
        assert_eq!(Splitter::of_expression(&raw), Some(splitter));
        assert_eq!(Splitter::of_expression(&format!("{text}|x")), None);
    }
}
