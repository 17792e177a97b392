//! `Warning`: what slows batches down.

use std::fmt;

use tarflume_formats::message;
use tarflume_formats::message::{Face, Message};

/// What slows batches down, in one sentence.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("jpg").batch(1).build()?;
/// assert_eq!(loader.stats().warning, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    message: Message,
    /// In the words of Rust.
    text: String,
}

impl Warning {
    /// Joins messages; `None` if there is none.
    pub(crate) fn of(messages: impl IntoIterator<Item = Message>) -> Option<Warning> {
        let message = messages
            .into_iter()
            .reduce(|one, other| message!("{one}; {other}"; one = one, other = other))?;
        Some(Warning { text: message.in_face(Face::Rust), message })
    }

    /// The sentence, in the words of Rust.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The warning, whose settings are data.
    #[doc(hidden)]
    pub fn message(&self) -> &Message {
        &self.message
    }
}

impl fmt::Display for Warning {
    /// Writes the text in the words of Rust.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
