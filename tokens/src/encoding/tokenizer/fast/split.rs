//! `Splitter`: a well-known regular expression of pre-tokenizers as a function, without going back.
//!
//! An expression is known by its text. Each function returns where the piece ends that begins at a place: a match, or what
//! lies before the next match.

mod cased;
mod deepseek;
mod gpt2;
mod runs;
mod words;

#[cfg(test)]
mod tests;

use super::classes::{LETTER, MARK, NUMBER, run_outside};

/// A way to cut a text into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitter {
    /// GPT-2.
    Gpt2,
    /// Llama 3, Qwen 2, Qwen 3.5, GPT-4: contractions, words with one character before them, numbers of so many digits.
    Words { letters: u8, digits: usize },
    /// GPT-4o, Llama 4 and Mistral's Tekken: as `Words`, and words end where capital letters begin.
    Cased { digits: usize, contractions: bool },
    /// The first expression of DeepSeek V3: numbers of three digits.
    Numbers,
    /// The second one: Chinese and Japanese characters.
    Ideographs,
    /// The third one: words and signs.
    DeepSeek,
    /// Each digit is a piece: no expression, but the pre-tokenizer `Digits`.
    Digits,
}

/// The expression of GPT-2, which `ByteLevel` has itself.
pub(super) const GPT2: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

const LLAMA: Splitter = Splitter::Words { letters: LETTER, digits: 3 };
const QWEN: Splitter = Splitter::Words { letters: LETTER, digits: 1 };
const MARKS: Splitter = Splitter::Words { letters: LETTER | MARK, digits: 1 };
const O200K: Splitter = Splitter::Cased { digits: 3, contractions: true };
const TEKKEN: Splitter = Splitter::Cased { digits: 1, contractions: false };

/// The known expressions. `\r` and `\n` may be the characters themselves.
const KNOWN: [(&str, Splitter); 11] = [
    (GPT2, Splitter::Gpt2),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        LLAMA,
    ),
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        LLAMA,
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        QWEN,
    ),
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        QWEN,
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        MARKS,
    ),
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        O200K,
    ),
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        TEKKEN,
    ),
    (r"\p{N}{1,3}", Splitter::Numbers),
    ("[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+", Splitter::Ideographs),
    (
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
        Splitter::DeepSeek,
    ),
];

impl Splitter {
    /// Returns the splitter of a known expression.
    pub(super) fn of_expression(text: &str) -> Option<Splitter> {
        let text = text.replace('\r', r"\r").replace('\n', r"\n");
        KNOWN.iter().find(|(known, _)| *known == text).map(|&(_, splitter)| splitter)
    }

    /// Returns true if each character is part of a match, so that nothing lies between matches.
    pub(super) fn covers_texts(self) -> bool {
        matches!(self, Splitter::Gpt2 | Splitter::Words { .. } | Splitter::Cased { .. })
    }

    /// Returns where the piece ends that begins at byte `at`, which is not the end of the text.
    #[inline]
    pub(super) fn end(self, text: &str, at: usize) -> usize {
        match self {
            Splitter::Gpt2 => gpt2::end(text, at),
            Splitter::Words { letters, digits } => words::end(text, at, letters, digits),
            Splitter::Cased { digits, contractions } => cased::end(text, at, digits, contractions),
            Splitter::Numbers => numbers(text, at),
            Splitter::Ideographs => ideographs(text, at),
            Splitter::DeepSeek => deepseek::end(text, at),
            Splitter::Digits => digits(text, at),
        }
    }
}

/// `\p{N}{1,3}`
fn numbers(text: &str, at: usize) -> usize {
    let digits = runs::numbers(text, at, 3);
    if digits > at { digits } else { run_outside(text, at, NUMBER) }
}

/// Chinese and Japanese characters, or what lies between them.
fn ideographs(text: &str, at: usize) -> usize {
    let mut rest = text[at..].char_indices();
    let Some((_, first)) = rest.next() else { return at };
    let other = rest.find(|&(_, c)| is_ideograph(c) != is_ideograph(first));
    other.map_or(text.len(), |(end, _)| at + end)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fa5}' | '\u{3040}'..='\u{30ff}')
}

/// A digit, or what lies between digits.
fn digits(text: &str, at: usize) -> usize {
    let mut rest = text[at..].char_indices();
    let Some((_, first)) = rest.next() else { return at };
    let end = rest.find(|&(_, c)| first.is_numeric() || c.is_numeric());
    end.map_or(text.len(), |(end, _)| at + end)
}
