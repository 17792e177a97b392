//! Text forms: how options that people write into configuration files are read and written.

/// Implements serde's traits by the text of a type.
#[doc(hidden)]
#[macro_export]
macro_rules! text_in_serde {
    ($($type:ty),*) => {
        $(
            impl serde::Serialize for $type {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> serde::Deserialize<'de> for $type {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<$type, D::Error> {
                    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                }
            }
        )*
    };
}

#[doc(hidden)]
pub use text_in_serde;

/// The parts of a text after its first one, each a name and a value; each is taken once.
#[derive(Debug)]
pub struct Named<'a>(Vec<&'a str>);

impl<'a> Named<'a> {
    /// Splits a text at its commas. Returns the first part, and the others.
    pub fn split(text: &'a str) -> (&'a str, Named<'a>) {
        let mut parts = text.split(", ");
        let first = parts.next().expect("a text has a first part");
        (first, Named(parts.collect()))
    }

    /// Takes the value of the part with this name: `224` of `side 224`; `None` if there is no such part.
    pub fn take(&mut self, name: &str) -> Option<&'a str> {
        let value = |part: &&'a str| part.strip_prefix(name)?.strip_prefix(' ');
        let at = self.0.iter().position(|part| value(part).is_some())?;
        value(&self.0.remove(at))
    }

    /// Takes a part that is a word alone. Returns true if it was there.
    pub fn take_word(&mut self, word: &str) -> bool {
        let at = self.0.iter().position(|part| *part == word);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Returns true if all parts were taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
