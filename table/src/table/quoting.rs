//! `Quoting`: what quotes mean in fields that a character separates. Pure.

/// How a field holds separators, line ends and quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Quoting {
    /// A field that begins with a quote ends with one, and two quotes in it are one: RFC 4180.
    #[default]
    Doubled,
    /// The same, and a backslash in such a field is before a quote, or another character, that is meant as it is.
    Escaped,
    /// Quotes are text.
    Literal,
}

impl Quoting {
    /// Parses `double`, `backslash` or `none`.
    pub(super) fn parse(text: &str) -> Option<Quoting> {
        match text {
            "double" => Some(Quoting::Doubled),
            "backslash" => Some(Quoting::Escaped),
            "none" => Some(Quoting::Literal),
            _ => None,
        }
    }

    /// The text that [`Quoting::parse`] reads.
    pub(super) fn word(self) -> &'static str {
        match self {
            Quoting::Doubled => "double",
            Quoting::Escaped => "backslash",
            Quoting::Literal => "none",
        }
    }
}
