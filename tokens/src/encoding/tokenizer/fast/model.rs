//! `Model`: a BPE model as tables: the symbols of characters, the merges, and where a text may be cut.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use tokenizers::Model as _;
use tokenizers::models::bpe::BPE;

use super::merge::{Merges, Scratch};
use super::pairs::{Borders, NONE, PairTable, pair};
use super::uncovered::Uncovered;

/// Bytes of a piece that is cut at its borders before it is merged.
const CUT: usize = 64;

/// What the symbols of a model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Bytes, which the vocabulary writes as the letters of GPT-2.
    Bytes,
    /// Characters; those without an id are bytes, such as `<0x0A>`.
    Characters,
}

/// The parts of a BPE model, as the library writes them.
#[derive(Deserialize)]
struct Written {
    vocab: HashMap<String, u32>,
    merges: Vec<(String, String)>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    byte_fallback: bool,
    ignore_merges: bool,
}

/// A BPE model.
#[derive(Debug)]
pub(super) struct Model {
    alphabet: Alphabet,
    /// The ids of bytes, [`NONE`] for one that is dropped.
    bytes: Box<[u32]>,
    /// The ids of characters.
    characters: PairTable,
    merges: Merges,
    borders: Borders,
    /// Whether no symbol is dropped, so that neighbors in the text are neighbors in a word.
    complete: bool,
    /// The tokens that a whole piece may be before any merge.
    whole: Option<HashMap<Box<[u8]>, u32>>,
}

impl Model {
    /// Makes the tables of a model.
    ///
    /// # Errors
    /// Returns what is not covered.
    pub(super) fn new(bpe: &BPE, alphabet: Alphabet) -> Result<Model, Uncovered> {
        // The library's own text of the model: ranks in order, and of repeated names and pairs the one that counts.
        let json = serde_json::to_vec(bpe).map_err(|_| Uncovered::Model)?;
        let written: Written = serde_json::from_slice(&json).map_err(|_| Uncovered::Model)?;
        written.check(bpe.get_vocab_size())?;
        let bytes = written.bytes(alphabet)?;
        let borders = match alphabet {
            Alphabet::Bytes => Borders::new(written.byte_borders()?.into_iter()),
            Alphabet::Characters => Borders::new(written.character_borders(&bytes)?.into_iter()),
        };
        let mut ranks = Vec::with_capacity(written.merges.len());
        let mut products = Vec::with_capacity(written.merges.len());
        for (rank, (left, right)) in (0..).zip(&written.merges) {
            ranks.push((pair(written.id(left)?, written.id(right)?), rank));
            products.push(written.id(&[left.as_str(), right].concat())?);
        }
        Ok(Model {
            alphabet,
            complete: !bytes.contains(&NONE),
            bytes,
            characters: PairTable::new(&written.characters()),
            merges: Merges::new(&ranks, products),
            borders,
            whole: written.ignore_merges.then(|| written.whole(alphabet)),
        })
    }

    /// Returns the id of a piece that is a token as a whole, whatever the merges are.
    #[inline]
    pub(super) fn whole(&self, piece: &str) -> Option<u32> {
        self.whole.as_ref()?.get(piece.as_bytes()).copied()
    }

    /// Returns where `piece` may be cut first behind `at`: between neighbors that no merge joins, but not between two
    /// letters or two signs of ASCII close behind `at`.
    pub(super) fn cut(&self, piece: &str, at: usize) -> usize {
        let mut characters = piece[at..].char_indices();
        let Some((_, mut last)) = characters.next() else { return piece.len() };
        for (place, c) in characters {
            let kind = Kind::of(c);
            let may_be = kind != Kind::of(last) || kind == Kind::Other || place >= CUT;
            if may_be && !self.borders.joins(u32::from(last), u32::from(c)) {
                return at + place;
            }
            last = c;
        }
        piece.len()
    }

    /// Appends the ids of a piece, by merges alone.
    pub(super) fn merge(&self, piece: &str, scratch: &mut Scratch, into: &mut Vec<u32>) {
        match self.alphabet {
            Alphabet::Characters => self.merge_characters(piece, scratch, into),
            Alphabet::Bytes if piece.len() > CUT && self.complete => {
                let bytes = piece.as_bytes();
                let mut begin = 0;
                for end in 1..bytes.len() {
                    let [left, right] = [bytes[end - 1], bytes[end]].map(u32::from);
                    if !self.borders.joins(left, right) {
                        self.merge_bytes(&bytes[begin..end], scratch, into);
                        begin = end;
                    }
                }
                self.merge_bytes(&bytes[begin..], scratch, into);
            }
            Alphabet::Bytes => self.merge_bytes(piece.as_bytes(), scratch, into),
        }
    }

    fn merge_bytes(&self, word: &[u8], scratch: &mut Scratch, into: &mut Vec<u32>) {
        let ids = word.iter().map(|&byte| self.bytes[usize::from(byte)]);
        scratch.symbols.clear();
        scratch.symbols.extend(ids.filter(|&id| id != NONE));
        self.merges.merge(scratch, into);
    }

    fn merge_characters(&self, word: &str, scratch: &mut Scratch, into: &mut Vec<u32>) {
        scratch.symbols.clear();
        for c in word.chars() {
            let id = self.characters.get(0, u32::from(c));
            if id != NONE {
                scratch.symbols.push(id);
                continue;
            }
            // No merge joins the tokens of bytes with anything.
            self.merges.merge(scratch, into);
            scratch.symbols.clear();
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            into.extend(bytes.iter().map(|&byte| self.bytes[usize::from(byte)]));
        }
        self.merges.merge(scratch, into);
    }
}

/// Characters between which words are cut.
#[derive(PartialEq, Eq)]
enum Kind {
    Letter,
    Space,
    Sign,
    Other,
}

impl Kind {
    #[inline]
    fn of(c: char) -> Kind {
        match c {
            'a'..='z' | 'A'..='Z' => Kind::Letter,
            '\u{2581}' => Kind::Space,
            '\0'..='\x7f' => Kind::Sign,
            _ => Kind::Other,
        }
    }
}

impl Written {
    /// Refuses what is not covered. `tokens` is the number of all tokens; of those with one id, one is written.
    fn check(&self, tokens: usize) -> Result<(), Uncovered> {
        let around = [&self.continuing_subword_prefix, &self.end_of_word_suffix];
        if around.into_iter().flatten().any(|text| !text.is_empty()) {
            return Err(Uncovered::PartsOfWords);
        }
        if self.vocab.len() != tokens || self.vocab.values().any(|&id| id == NONE) {
            return Err(Uncovered::RepeatedIds);
        }
        Ok(())
    }

    fn id(&self, token: &str) -> Result<u32, Uncovered> {
        self.vocab.get(token).copied().ok_or(Uncovered::Model)
    }

    /// Returns the ids of the 256 bytes.
    fn bytes(&self, alphabet: Alphabet) -> Result<Box<[u32]>, Uncovered> {
        let names = (0..=u8::MAX).map(|byte| match alphabet {
            Alphabet::Bytes => letter(byte).to_string(),
            Alphabet::Characters => format!("<{byte:#04X}>"),
        });
        let ids: Box<[u32]> =
            names.map(|name| self.vocab.get(&name).copied().unwrap_or(NONE)).collect();
        // A symbol without an id is dropped, unless there is a token for what is unknown.
        let dropped = self.unk_token.is_none() && !self.byte_fallback;
        let whole = match alphabet {
            Alphabet::Bytes => dropped || !ids.contains(&NONE),
            Alphabet::Characters => self.byte_fallback && !ids.contains(&NONE),
        };
        whole.then_some(ids).ok_or(Uncovered::UnknownCharacters)
    }

    /// Returns the characters that are tokens, as pairs with 0.
    fn characters(&self) -> Vec<(u64, u32)> {
        let mut found = Vec::new();
        for (token, &id) in &self.vocab {
            let mut characters = token.chars();
            if let (Some(c), None) = (characters.next(), characters.next()) {
                found.push((pair(0, u32::from(c)), id));
            }
        }
        found
    }

    fn byte_borders(&self) -> Result<Vec<(u32, u32)>, Uncovered> {
        let byte_of = bytes_of_letters();
        let mut borders = Vec::with_capacity(self.merges.len());
        for (left, right) in &self.merges {
            let ends = [left.chars().next_back(), right.chars().next()];
            // A token with another letter is no result of merges of bytes.
            let [Some(left), Some(right)] = ends.map(|c| byte_of.get(&c?).copied()) else {
                continue;
            };
            borders.push((u32::from(left), u32::from(right)));
        }
        Ok(borders)
    }

    fn character_borders(&self, bytes: &[u32]) -> Result<Vec<(u32, u32)>, Uncovered> {
        let bytes: HashSet<u32> = bytes.iter().copied().collect();
        let mut borders = Vec::with_capacity(self.merges.len());
        for (left, right) in &self.merges {
            let product = self.id(&[left.as_str(), right].concat())?;
            if [self.id(left)?, self.id(right)?, product].iter().any(|id| bytes.contains(id)) {
                return Err(Uncovered::MergedBytes);
            }
            let left = left.chars().next_back().ok_or(Uncovered::Model)?;
            let right = right.chars().next().ok_or(Uncovered::Model)?;
            borders.push((u32::from(left), u32::from(right)));
        }
        Ok(borders)
    }

    /// Returns all tokens as the texts that a piece may be.
    fn whole(&self, alphabet: Alphabet) -> HashMap<Box<[u8]>, u32> {
        let byte_of = bytes_of_letters();
        let mut tokens = HashMap::with_capacity(self.vocab.len());
        for (token, &id) in &self.vocab {
            let bytes: Option<Vec<u8>> = match alphabet {
                Alphabet::Bytes => token.chars().map(|c| byte_of.get(&c).copied()).collect(),
                Alphabet::Characters => Some(token.as_bytes().to_vec()),
            };
            if let Some(bytes) = bytes {
                tokens.insert(bytes.into(), id);
            }
        }
        tokens
    }
}

/// Returns the letter that GPT-2 writes for a byte.
fn letter(byte: u8) -> char {
    match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        // The others follow each other from U+0100: 0 to 32, 127 to 160, and 173.
        0..=32 => letter_at(u32::from(byte)),
        127..=160 => letter_at(u32::from(byte) - 127 + 33),
        173 => letter_at(67),
    }
}

fn letter_at(number: u32) -> char {
    char::from_u32(0x100 + number).expect("letters from U+0100 to U+0143")
}

fn bytes_of_letters() -> HashMap<char, u8> {
    (0..=u8::MAX).map(|byte| (letter(byte), byte)).collect()
}

#[cfg(test)]
mod tests {
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;

    use super::*;

    #[test]
    fn letters_of_bytes_are_those_of_the_library() {
        let letters: HashSet<char> = bytes_of_letters().into_keys().collect();
        assert_eq!(letters.len(), 256);
        assert!(ByteLevel::alphabet().into_iter().all(|letter| letters.contains(&letter)));
        let theirs = [('!', b'!'), ('\u{120}', b' '), ('\u{10a}', b'\n'), ('\u{143}', 0xad)];
        for (expected, byte) in theirs {
            assert_eq!(letter(byte), expected);
        }
    }
}
