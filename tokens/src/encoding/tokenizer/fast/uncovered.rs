//! `Uncovered`: what a tokenizer has that the fast path does not cover exactly.

use tarflume_formats::message;
use tarflume_formats::message::Message;

/// Why texts go through the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Uncovered {
    /// The model is none of BPE, or is written in an unknown form.
    Model,
    /// Tokens that are beginnings or ends of words.
    PartsOfWords,
    /// Several tokens have one id.
    RepeatedIds,
    /// A character can be unknown.
    UnknownCharacters,
    /// Tokens of bytes, such as `<0x0A>`, take part in merges.
    MergedBytes,
    /// A normalizer of this type.
    Normalizer(String),
    /// A pre-tokenizer of this type.
    PreTokenizer(String),
    /// A regular expression that has no splitter here.
    Expression(String),
    /// An added token that is found as a single word only.
    SingleWord(String),
    /// What the post processor adds around a text is not known.
    Around,
    /// The ids of a text that tries everything differ from those of the library.
    Ids,
}

impl Uncovered {
    /// Returns the reason in words.
    pub(in super::super) fn message(&self) -> Message {
        match self {
            Uncovered::Model => message!("its model is not BPE"),
            Uncovered::PartsOfWords => {
                message!("its tokens have marks of beginnings or ends of words")
            }
            Uncovered::RepeatedIds => message!("several of its tokens have one id"),
            Uncovered::UnknownCharacters => message!("its model may meet unknown characters"),
            Uncovered::MergedBytes => message!("its merges join tokens of bytes"),
            Uncovered::Normalizer(kind) => message!("its normalizer is {kind}"),
            Uncovered::PreTokenizer(kind) => message!("its pre-tokenizer is {kind}"),
            Uncovered::Expression(text) => {
                message!(
                    "the expression of its pre-tokenizer is none of the known ones: {text:.40}"
                )
            }
            Uncovered::SingleWord(text) => {
                message!("its added token {text:?} is found as a single word only")
            }
            Uncovered::Around => {
                message!("what its post processor adds is not the same around all texts")
            }
            Uncovered::Ids => message!("it gives other ids there"),
        }
    }
}
