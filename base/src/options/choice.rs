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
    use crate::check::CheckLevel;

    #[test]
    fn a_word_is_read_as_it_is_written() {
        for level in CheckLevel::ALL {
            assert_eq!(CheckLevel::from_word(level.word()), Some(*level));
        }
        for other in ["", "Decode", "decode ", "dec"] {
            assert_eq!(CheckLevel::from_word(other), None, "{other:?}");
        }
    }
}
