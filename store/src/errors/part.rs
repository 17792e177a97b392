//! `ErrorPart`: what the text of an error consists of: words, and the options that it advises to set.

use std::borrow::Cow;
use std::fmt;

/// A part of the text of an [`Error`](crate::Error).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorPart {
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

impl ErrorPart {
    /// The address of the server.
    pub(crate) const ENDPOINT: ErrorPart = ErrorPart::Option { name: "endpoint", value: "URL" };
    /// The region of the bucket.
    pub(crate) const REGION: ErrorPart = ErrorPart::Option { name: "region", value: "REGION" };
    /// Requests without a signature.
    pub(crate) const ANONYMOUS: ErrorPart = ErrorPart::Option { name: "anonymous", value: "true" };
    /// Servers without TLS.
    pub(crate) const ALLOW_HTTP: ErrorPart =
        ErrorPart::Option { name: "allow_http", value: "true" };
    /// The reader pays.
    pub(crate) const REQUESTER_PAYS: ErrorPart =
        ErrorPart::Option { name: "requester_pays", value: "true" };

    /// Returns words that are known before the program runs.
    pub(crate) const fn text(text: &'static str) -> ErrorPart {
        ErrorPart::Text(Cow::Borrowed(text))
    }
}

impl From<String> for ErrorPart {
    fn from(text: String) -> ErrorPart {
        ErrorPart::Text(text.into())
    }
}

/// Writes an option as `name=value`.
impl fmt::Display for ErrorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorPart::Text(text) => f.write_str(text),
            ErrorPart::Option { name, value } => write!(f, "{name}={value}"),
        }
    }
}
