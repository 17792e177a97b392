//! `Fast`: BPE without the library, for tokenizers whose parts it has itself, with the same ids.
//!
//! Texts become pieces by hand-written splitters of the well-known expressions, and the ids of a piece are kept where a
//! thread meets it again. Every other tokenizer goes through the library ([`Uncovered`] says why).
//!
//! Floors, lower ones first: classes, pairs; split, normal, added, merge, memo; model; plan.

mod added;
mod classes;
mod memo;
mod merge;
mod model;
mod normal;
mod pairs;
mod plan;
mod split;
mod uncovered;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;
use tokenizers::models::bpe::BPE;
use tokenizers::{AddedToken, NormalizedString, Normalizer};

use self::added::{AddedTokens, FoundToken, Part};
use self::memo::{Memo, PieceKey};
use self::merge::Scratch;
use self::model::Model;
use self::normal::normalized;
use self::plan::{Plan, Prepend, Words};
use self::split::Splitter;
pub(super) use self::uncovered::Uncovered;

/// A text that tries what splitters, normalizers and merges distinguish. The ids of a tokenizer are compared with those of
/// the library before the fast path is taken.
pub(super) const SAMPLE: &str = concat!(
    "The quick brown fox's tail isn't 12,345.67 km long; we'll see, I'M SURE WE'VE \u{2019}twas 'ti\u{17f} x'\u{17f}.\n",
    "  two   spaces\t\ttabs \r\n\r\n \u{a0}\u{3000} \u{85}end \n\n\n    if (a<=b) {return [0]*1000000;} //\n/*x*/ <|x|>",
    "HTMLParser iPhone McDonald \u{c9}t\u{e9} e\u{301}te\u{301} \u{1c5}x \u{212b} \u{2b0}A \u{1e9e} \u{df}A\u{301}b\u{301}C ",
    "\u{4e2d}\u{6587}123\u{65e5}\u{672c}\u{8a9e}\u{30ab}\u{30bf}\u{304b}\u{306a}\u{3002} \u{d55c}\u{ae00} \u{1112}\u{1161}\u{11ab} \u{43f}\u{440}\u{418}\u{412}\u{435}\u{442} ",
    "\u{645}\u{64e}\u{631}\u{62d}\u{628}\u{627} \u{661}\u{662}\u{663}\u{664} \u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940} \u{e44}\u{e17}\u{e22} \u{bd}\u{2167} ",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{1f1e9}\u{1f1ea} \u{2581}\u{2581}x \u{fe0f}\u{200b}\u{feff}\u{1}\u{7f} $\u{20ac}+=~^`|<>#@&%*_-!? ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ======== \u{10fffd}   ",
);

/// A tokenizer whose parts are all here.
#[derive(Debug)]
pub(super) struct Fast {
    /// Tokens that are found before the text is normalized.
    given: AddedTokens,
    /// Tokens that are found afterwards.
    normal: AddedTokens,
    plan: Plan,
    model: Model,
}

/// What a thread needs beside the tokenizer.
#[derive(Debug)]
pub(super) struct Work {
    memo: Memo,
    scratch: Scratch,
}

/// A piece that no cut makes shorter has so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LongPiece(pub(super) usize);

/// The parts of a tokenizer, as the library has read them.
pub(super) struct Given<'a, N> {
    pub(super) normalizer: Option<&'a N>,
    /// The normalizer as a value; null if there is none.
    pub(super) normalizer_value: Value,
    /// The pre-tokenizer as a value; null if there is none.
    pub(super) pre_tokenizer: Value,
    pub(super) added: Vec<(u32, AddedToken)>,
    /// Whether the texts of special tokens are text.
    pub(super) split_special_tokens: bool,
}

impl Work {
    pub(super) fn new() -> Work {
        Work { memo: Memo::new(), scratch: Scratch::default() }
    }
}

impl Fast {
    /// Makes the tables of a tokenizer.
    ///
    /// # Errors
    /// Returns the first part that is not covered exactly.
    pub(super) fn new<N: Normalizer>(given: &Given<'_, N>, bpe: &BPE) -> Result<Fast, Uncovered> {
        let plan = Plan::of(&given.normalizer_value, &given.pre_tokenizer)?;
        let mut before = Vec::new();
        let mut after = Vec::new();
        for (id, token) in &given.added {
            if token.single_word {
                return Err(Uncovered::SingleWord(token.content.clone()));
            }
            let content = match given.normalizer.filter(|_| token.normalized) {
                Some(normalizer) => {
                    let mut content = NormalizedString::from(token.content.as_str());
                    let made = normalizer.normalize(&mut content);
                    made.map_err(|_| Uncovered::Normalizer("unusable".into()))?;
                    content.get().into()
                }
                None => token.content.as_str().into(),
            };
            let found = FoundToken {
                content,
                id: *id,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
                is_text: token.special && given.split_special_tokens,
            };
            let list = if token.normalized { &mut after } else { &mut before };
            list.push(found);
        }
        let model = Model::new(bpe, plan.words.alphabet())?;
        Ok(Fast { given: AddedTokens::new(before), normal: AddedTokens::new(after), plan, model })
    }

    /// Appends the ids of a text. A piece has at most `most` bytes.
    ///
    /// # Errors
    /// Returns an error for a longer piece.
    pub(super) fn encode(
        &self,
        text: &str,
        most: usize,
        work: &mut Work,
        into: &mut Vec<u32>,
    ) -> Result<(), LongPiece> {
        let mut run = Run { fast: self, most, work, into };
        for part in self.given.parts(text) {
            match part {
                Part::Token(id) => run.into.push(id),
                Part::Text(text, at) => run.normalize(text, at == 0)?,
            }
        }
        Ok(())
    }
}

/// The encoding of one text.
struct Run<'a> {
    fast: &'a Fast,
    most: usize,
    work: &'a mut Work,
    into: &'a mut Vec<u32>,
}

impl Run<'_> {
    /// Encodes text between tokens, which is the beginning of the document or is not.
    fn normalize(&mut self, text: &str, is_first: bool) -> Result<(), LongPiece> {
        let fast = self.fast;
        let normal = normalized(&fast.plan.steps, text);
        for part in fast.normal.parts(&normal) {
            match part {
                Part::Token(id) => self.into.push(id),
                Part::Text(text, at) => self.words(text, is_first && at == 0)?,
            }
        }
        Ok(())
    }

    fn words(&mut self, text: &str, is_first: bool) -> Result<(), LongPiece> {
        match &self.fast.plan.words {
            Words::Bytes { space: true, splitters } if !text.starts_with(' ') => {
                self.split(splitters, &[" ", text].concat())
            }
            Words::Bytes { splitters, .. } => self.split(splitters, text),
            Words::Whole => self.cut(text),
            Words::Marked { mark, prepend, split } => {
                let wanted = *prepend == Prepend::Always || *prepend == Prepend::First && is_first;
                let text = marked(text, *mark, wanted);
                if !split {
                    return self.cut(&text);
                }
                let mut begin = 0;
                for (end, _) in text.match_indices(*mark).filter(|&(at, _)| at > 0) {
                    self.cut(&text[begin..end])?;
                    begin = end;
                }
                self.cut(&text[begin..])
            }
        }
    }

    /// Cuts a text by one splitter after the other.
    fn split(&mut self, splitters: &[Splitter], text: &str) -> Result<(), LongPiece> {
        let [first, rest @ ..] = splitters else { return self.piece(text, 0, text.len()) };
        let mut at = 0;
        while at < text.len() {
            let end = first.end(text, at);
            if rest.is_empty() {
                self.piece(text, at, end)?;
            } else {
                self.split(rest, &text[at..end])?;
            }
            at = end;
        }
        Ok(())
    }

    /// Encodes a piece of bytes.
    #[inline]
    fn piece(&mut self, text: &str, at: usize, end: usize) -> Result<(), LongPiece> {
        let key = PieceKey::of(text.as_bytes(), at, end);
        if self.work.memo.append(&key, self.into) {
            return Ok(());
        }
        let piece = &text[at..end];
        let before = self.into.len();
        match self.fast.model.whole(piece) {
            Some(id) => self.into.push(id),
            None => self.merge(piece)?,
        }
        self.work.memo.keep(&key, &self.into[before..]);
        Ok(())
    }

    /// Encodes a piece of characters, which is cut where no merge reaches over.
    fn cut(&mut self, piece: &str) -> Result<(), LongPiece> {
        if let Some(id) = self.fast.model.whole(piece) {
            self.into.push(id);
            return Ok(());
        }
        let mut at = 0;
        while at < piece.len() {
            let end = self.fast.model.cut(piece, at);
            let key = PieceKey::of(piece.as_bytes(), at, end);
            if !self.work.memo.append(&key, self.into) {
                let before = self.into.len();
                self.merge(&piece[at..end])?;
                self.work.memo.keep(&key, &self.into[before..]);
            }
            at = end;
        }
        Ok(())
    }

    fn merge(&mut self, piece: &str) -> Result<(), LongPiece> {
        if piece.len() > self.most {
            return Err(LongPiece(piece.len()));
        }
        self.fast.model.merge(piece, &mut self.work.scratch, self.into);
        Ok(())
    }
}

/// Returns the text with marks for its spaces, and one before it if that is wanted and none is there.
fn marked(text: &str, mark: char, wanted: bool) -> Cow<'_, str> {
    let spaced = text.replace(' ', mark.encode_utf8(&mut [0; 4]));
    if wanted && !spaced.starts_with(mark) {
        return Cow::Owned([mark.encode_utf8(&mut [0; 4]), spaced.as_str()].concat());
    }
    Cow::Owned(spaced)
}
