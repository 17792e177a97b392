//! `JsonRules` and `JsonFault`: which texts are JSON, and what is wrong with one that is not.

use std::fmt;

use crate::message;
use crate::message::Message;
use crate::text::words::words;

/// Which texts are JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum JsonRules {
    /// RFC 8259, and what all readers take for the same value: no half of a surrogate pair, no name twice in one object.
    #[default]
    Strict,
    /// Also what Python's `json` writes and reads beyond it: `NaN`, `Infinity` and `-Infinity` as numbers, halves of
    /// surrogate pairs, which become U+FFFD, and repeated names, of which the last value counts.
    Python,
}

impl JsonRules {
    /// Both, the default first.
    pub const ALL: &'static [JsonRules] = &[JsonRules::Strict, JsonRules::Python];

    /// Returns the word that options take.
    pub fn word(self) -> &'static str {
        match self {
            JsonRules::Strict => "strict",
            JsonRules::Python => "python",
        }
    }

    /// Returns the rules with this word.
    pub fn from_word(word: &str) -> Option<JsonRules> {
        JsonRules::ALL.iter().copied().find(|rules| rules.word() == word)
    }
}

words!(JsonRules, "the JSON rules");

/// What is wrong with a text that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFault {
    /// The byte of the text, from 0.
    pub byte: usize,
    /// What was found there, and what was expected.
    pub what: String,
    /// True if [`JsonRules::Python`] accepts what was found.
    pub is_python: bool,
    /// True if it is a name that an object has twice.
    pub is_repeated_name: bool,
}

impl JsonFault {
    /// Returns what was found, and for what Python accepts the `remedy`, which names the option.
    pub fn advised(&self, remedy: impl Into<Message>) -> Message {
        if self.is_python {
            return message!("{}; {remedy}", self.what; remedy = remedy);
        }
        Message::words(&*self.what)
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.what, self.byte)
    }
}
