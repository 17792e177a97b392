//! `Part`: what the text of an error consists of: words, and the options that it advises to set.

use std::borrow::Cow;
use std::fmt;

/// A part of the text of an [`Error`](crate::Error).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(Cow<'static, str>),
    /// An option of a store, which a command, Python and Rust write each its own way.
    Option {
        /// The name, as [`Options`](crate::Options) has it.
        name: &'static str,
        /// The value, or a word that stands for one: `URL`.
        value: &'static str,
    },
}

impl Part {
    /// The address of the server.
    pub(crate) const ENDPOINT: Part = Part::Option { name: "endpoint", value: "URL" };
    /// The region of the bucket.
    pub(crate) const REGION: Part = Part::Option { name: "region", value: "REGION" };
    /// Requests without a signature.
    pub(crate) const ANONYMOUS: Part = Part::Option { name: "anonymous", value: "true" };
    /// Servers without TLS.
    pub(crate) const ALLOW_HTTP: Part = Part::Option { name: "allow_http", value: "true" };
    /// The reader pays.
    pub(crate) const REQUESTER_PAYS: Part = Part::Option { name: "requester_pays", value: "true" };

    /// Returns words that are known before the program runs.
    pub(crate) const fn text(text: &'static str) -> Part {
        Part::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text.into())
    }
}

/// Writes an option as `name=value`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Text(text) => f.write_str(text),
            Part::Option { name, value } => write!(f, "{name}={value}"),
        }
    }
}
