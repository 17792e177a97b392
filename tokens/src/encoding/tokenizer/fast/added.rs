//! `AddedTokens`: the texts of added tokens, found in a text as the library finds them: the first match, the longest there,
//! and on behind it.

use memchr::{memchr, memchr2, memchr3};

/// A token that is found in texts.
#[derive(Debug)]
pub(super) struct FoundToken {
    pub(super) content: Box<str>,
    pub(super) id: u32,
    /// Takes the white space before it.
    pub(super) lstrip: bool,
    /// Takes the white space behind it.
    pub(super) rstrip: bool,
    /// Is text where it is found, and ends what other tokens begin there.
    pub(super) is_text: bool,
}

/// Added tokens, in the order of their bytes.
#[derive(Debug, Default)]
pub(super) struct AddedTokens {
    tokens: Vec<FoundToken>,
    /// The first bytes, each once.
    firsts: Vec<u8>,
    /// For each first byte, whether a token has it.
    begins: Box<[bool]>,
    /// For each first byte, what all tokens with it begin with.
    prefixes: Box<[Box<[u8]>]>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Text, with the byte that it begins at.
    Text(&'t str, usize),
    /// An added token.
    Token(u32),
}

impl AddedTokens {
    /// Takes tokens whose contents differ and are not empty.
    pub(super) fn new(mut tokens: Vec<FoundToken>) -> AddedTokens {
        tokens.sort_by(|a, b| a.content.cmp(&b.content));
        let mut firsts: Vec<u8> = tokens.iter().map(|token| token.content.as_bytes()[0]).collect();
        firsts.dedup();
        let mut begins = vec![false; 256].into_boxed_slice();
        for &byte in &firsts {
            begins[usize::from(byte)] = true;
        }
        let mut prefixes = vec![Box::default(); 256].into_boxed_slice();
        for group in tokens.chunk_by(|a, b| a.content.as_bytes()[0] == b.content.as_bytes()[0]) {
            let first = group[0].content.as_bytes();
            prefixes[usize::from(first[0])] = common(first, &group[group.len() - 1]).into();
        }
        AddedTokens { tokens, firsts, begins, prefixes }
    }

    /// Returns the parts of a text in order. None of them is an empty text.
    pub(super) fn parts<'a>(&'a self, text: &'a str) -> Parts<'a> {
        Parts { added: self, text, searched: 0, begin: 0, waiting: None }
    }

    /// Finds the first byte from `at` on that a token has as its first.
    fn candidate(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = &bytes[at..];
        let found = match self.firsts[..] {
            [] => None,
            [a] => memchr(a, rest),
            [a, b] => memchr2(a, b, rest),
            [a, b, c] => memchr3(a, b, c, rest),
            _ => rest.iter().position(|&byte| self.begins[usize::from(byte)]),
        };
        found.map(|found| at + found)
    }

    /// Returns the longest token at byte `at`.
    fn longest(&self, bytes: &[u8], at: usize) -> Option<&FoundToken> {
        // Most places of a first byte end here, such as each space beside tokens of several spaces.
        if !bytes[at..].starts_with(&self.prefixes[usize::from(bytes[at])]) {
            return None;
        }
        let mut tokens = &self.tokens[..];
        let mut longest = None;
        for (depth, &byte) in bytes[at..].iter().enumerate() {
            let from = tokens.partition_point(|token| token.content.as_bytes()[depth] < byte);
            let more =
                tokens[from..].partition_point(|token| token.content.as_bytes()[depth] == byte);
            tokens = &tokens[from..from + more];
            // The token that ends here is the first one with these bytes.
            match tokens {
                [] => break,
                [whole, rest @ ..] if whole.content.len() == depth + 1 => {
                    longest = Some(whole);
                    tokens = rest;
                }
                _ => {}
            }
        }
        longest
    }
}

/// Returns what both begin with. Of tokens in order, all between them begin so, too.
fn common<'a>(first: &'a [u8], last: &FoundToken) -> &'a [u8] {
    let same = first.iter().zip(last.content.as_bytes()).take_while(|(a, b)| a == b);
    &first[..same.count()]
}

/// The parts of a text.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    added: &'a AddedTokens,
    text: &'a str,
    /// Where the search goes on.
    searched: usize,
    /// The end of the last token.
    begin: usize,
    /// The token behind the text that was returned last.
    waiting: Option<u32>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if let Some(id) = self.waiting.take() {
            return Some(Part::Token(id));
        }
        let bytes = self.text.as_bytes();
        while let Some(found) = self.added.candidate(bytes, self.searched) {
            let Some(token) = self.added.longest(bytes, found) else {
                self.searched = found + 1;
                continue;
            };
            let end = found + token.content.len();
            self.searched = end;
            if !token.is_text {
                return Some(self.part(token, found, end));
            }
        }
        self.searched = bytes.len();
        let rest = &self.text[self.begin..];
        let begin = std::mem::replace(&mut self.begin, bytes.len());
        (!rest.is_empty()).then_some(Part::Text(rest, begin))
    }
}

impl<'a> Parts<'a> {
    /// Returns the text before a token at `found..end`, or the token.
    fn part(&mut self, token: &FoundToken, found: usize, end: usize) -> Part<'a> {
        let mut start = found;
        let mut stop = end;
        if token.lstrip {
            // White space that the last token has taken is not taken again.
            start = self.text[..found].trim_end().len().max(self.begin);
        }
        if token.rstrip {
            let behind = &self.text[end..];
            stop += behind.len() - behind.trim_start().len();
        }
        let before = std::mem::replace(&mut self.begin, stop);
        if before < start {
            self.waiting = Some(token.id);
            return Part::Text(&self.text[before..start], before);
        }
        Part::Token(token.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str, id: u32) -> FoundToken {
        FoundToken { content: content.into(), id, lstrip: false, rstrip: false, is_text: false }
    }

    #[test]
    fn the_longest_of_the_first_matches_is_found() {
        let added = AddedTokens::new(vec![token("<a>", 1), token("<a>b", 2), token("b", 3)]);
        let parts: Vec<Part<'_>> = added.parts("x<a>bb<a<a>").collect();
        assert_eq!(
            parts,
            [
                Part::Text("x", 0),
                Part::Token(2),
                Part::Token(3),
                Part::Text("<a", 6),
                Part::Token(1)
            ]
        );
        assert_eq!(added.parts("").next(), None);
    }

    #[test]
    fn white_space_beside_a_token_belongs_to_it_once() {
        let left = FoundToken { lstrip: true, ..token("<l>", 1) };
        let right = FoundToken { rstrip: true, ..token("<r>", 2) };
        let added = AddedTokens::new(vec![left, right]);
        let parts: Vec<Part<'_>> = added.parts("a \n<l><r>\u{3000} <l> b").collect();
        assert_eq!(
            parts,
            [
                Part::Text("a", 0),
                Part::Token(1),
                Part::Token(2),
                Part::Token(1),
                Part::Text(" b", 16)
            ]
        );
    }

    #[test]
    fn a_token_that_is_text_hides_what_begins_in_it() {
        let hidden = FoundToken { is_text: true, ..token("<a>", 1) };
        let added = AddedTokens::new(vec![hidden, token(">b", 2)]);
        let parts: Vec<Part<'_>> = added.parts("<a>b>b").collect();
        assert_eq!(parts, [Part::Text("<a>b", 0), Part::Token(2)]);
    }
}
