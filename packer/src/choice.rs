//! Choices with a fixed word per value: the same words in plans, on command lines and in Python.

/// A fixed set of values with one word each. The words are part of the plan format and never
/// change.
pub trait Choice: Copy + 'static {
    /// All values, in the order of help texts and errors.
    const ALL: &'static [Self];

    /// Returns the word of this value.
    fn word(self) -> &'static str;

    /// Returns the value of `word`, which is case-sensitive.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::KeyBy;
    use crate::check::CheckLevel;
    use crate::export::{Encoding, Format, JsonAs};
    use crate::verify::Level;
    use crate::workdir::quarantine::Policy;

    fn words<T: Choice>() -> Vec<&'static str> {
        T::ALL.iter().map(|choice| choice.word()).collect()
    }

    /// Command lines and scripts hold these words.
    #[test]
    fn the_words_of_exports_are_these() {
        let formats = ["folder", "csv", "mds", "litdata", "tfrecord", "parquet", "hf"];
        assert_eq!(words::<Format>(), formats);
        assert_eq!(words::<JsonAs>(), ["columns", "text"]);
        assert_eq!(words::<Encoding>(), ["bytes", "jpeg", "png", "str", "int", "json"]);
    }

    /// Plans hold these words.
    #[test]
    fn the_words_in_plans_are_frozen() {
        assert_eq!(words::<CheckLevel>(), ["none", "structure", "decode"]);
        assert_eq!(words::<Policy>(), ["fail", "skip", "quarantine"]);
        assert_eq!(words::<Level>(), ["quick", "full", "decode"]);
        assert_eq!(words::<KeyBy>(), ["first-dot", "last-dot"]);
    }

    #[test]
    fn a_word_is_read_as_it_is_written() {
        for level in CheckLevel::ALL {
            assert_eq!(CheckLevel::from_word(level.word()), Some(*level));
        }
        for other in ["", "Decode", "decode ", "dec"] {
            assert_eq!(CheckLevel::from_word(other), None, "{other:?}");
        }
    }

    /// Reports use the same words.
    #[test]
    fn levels_are_serialized_as_their_words() {
        for level in Level::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.word());
        }
    }
}
