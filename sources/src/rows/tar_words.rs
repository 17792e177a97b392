//! The words of the options of `tar:` sources, and the choices `KeyBy` and `InnerTars`.

use tarflume_base::Choice;

/// The option that reads on behind end markers: yes or no.
pub const IGNORE_ZEROS: &str = "ignore-zeros";
/// The option for [`KeyBy`].
pub const KEY_BY: &str = "key-by";
/// The option for [`InnerTars`].
pub(crate) const INNER: &str = "inner";

/// What tars in a tar are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum InnerTars {
    /// Folders: `n01440764.tar` has the samples `n01440764/...`.
    #[default]
    Folders,
    /// Parts, as all other members.
    Parts,
}

impl Choice for InnerTars {
    const ALL: &'static [InnerTars] = &[InnerTars::Folders, InnerTars::Parts];

    fn word(self) -> &'static str {
        match self {
            InnerTars::Folders => "folders",
            InnerTars::Parts => "parts",
        }
    }
}

/// The dot of a name at which the key ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyBy {
    /// The first one after the last slash, as readers of WebDataset shards understand names.
    #[default]
    FirstDot,
    /// The last one: `22.05.jpg` is the part `jpg` of the sample `22.05`.
    LastDot,
}

impl Choice for KeyBy {
    const ALL: &'static [KeyBy] = &[KeyBy::FirstDot, KeyBy::LastDot];

    fn word(self) -> &'static str {
        match self {
            KeyBy::FirstDot => "first-dot",
            KeyBy::LastDot => "last-dot",
        }
    }
}

impl KeyBy {
    /// Returns the choice with this word.
    ///
    /// # Errors
    /// Returns an error that lists the words.
    pub fn parse(word: &str) -> Result<KeyBy, String> {
        KeyBy::from_word(word).ok_or_else(|| format!("'{word}': give first-dot or last-dot"))
    }
}
