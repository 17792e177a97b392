//! `UnknownWord`, and `words!`: the text form of an option that has a list of its values, `ALL`, and a word for each.

use std::error::Error;
use std::fmt;

/// The error of parsing an option: the text is not one of its words.
///
/// ```
/// use tarflume_formats::index::ValueType;
///
/// let error = "u128".parse::<ValueType>().unwrap_err();
/// assert_eq!(error.word, "u128");
/// assert!(error.known.contains(&"u64"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// What the word should name.
    pub what: &'static str,
    /// The text.
    pub word: String,
    /// The words that are known.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownWord { what, word, known } = self;
        write!(f, "{what} {word:?} is not known; there are {}", known.join(", "))
    }
}

impl Error for UnknownWord {}

/// Implements `Display`, `FromStr` and serde: values are their words in commands, configuration files and logs.
macro_rules! words {
    ($type:ident, $what:literal) => {
        impl std::fmt::Display for $type {
            /// Writes the word.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownWord;

            /// # Errors
            /// Returns an error, which lists all words, for any other text.
            fn from_str(text: &str) -> std::result::Result<$type, $crate::UnknownWord> {
                let found = $type::ALL.iter().copied().find(|value| value.word() == text);
                found.ok_or_else(|| $crate::UnknownWord {
                    what: $what,
                    word: text.into(),
                    known: $type::ALL.iter().map(|value| value.word()).collect(),
                })
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<$type, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use words;
