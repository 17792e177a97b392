//! `Error`: what a store answered, whose fault it is, and what to do.
//!
//! Contains no secret: queries are cut from URLs before a text is kept.

use std::borrow::Cow;
use std::fmt;

use crate::errors::cause::Cause;
use crate::errors::part::ErrorPart;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A URL, an option or the environment is wrong.
    Usage,
    /// The store says that the object does not exist.
    Missing,
    /// The store refuses: credentials or permissions.
    Refused,
    /// The object is no longer the one that was opened.
    Changed,
    /// The store answers in a way that the protocol does not allow.
    Answer,
    /// What is read whole is longer than its limit.
    TooLong,
    /// The store or the network failed in a way that may pass.
    Machine,
}

/// An error of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    url: String,
    /// What was found, and what to do.
    parts: Vec<ErrorPart>,
    /// The same as text.
    text: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, url: &str, text: impl Into<String>) -> Error {
        Error::advising(kind, url, [text.into().into()])
    }

    /// Creates an error whose text names options. Removes
    /// the secrets of URLs from text that is built at run time.
    pub(crate) fn advising(
        kind: ErrorKind,
        url: &str,
        parts: impl IntoIterator<Item = ErrorPart>,
    ) -> Error {
        let parts: Vec<ErrorPart> = parts.into_iter().map(cleaned).collect();
        let text = parts.iter().map(ErrorPart::to_string).collect();
        Error { kind, url: without_secrets(url), parts, text }
    }

    /// The cause.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The object or the prefix, without its query.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The parts of [`Error::text`], with options as data.
    pub fn parts(&self) -> &[ErrorPart] {
        &self.parts
    }

    /// What was found, and what to do; without the URL.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if the object does not exist. An error of asking is none.
    pub fn is_missing(&self) -> bool {
        self.kind == ErrorKind::Missing
    }

    /// Converts an error of `doing` something with `url`.
    pub(crate) fn of(error: &object_store::Error, doing: &str, url: &str) -> Error {
        use object_store::Error as E;
        if let E::Generic { source, .. } = error
            && let Some(own) = source.downcast_ref::<Error>()
        {
            return own.clone();
        }
        let text = chain(error);
        let cause = Cause::of(error);
        match error {
            E::NotFound { .. } => {
                Error::new(ErrorKind::Missing, url, "the store has no such object")
            }
            E::Precondition { .. } => Error::new(ErrorKind::Changed, url, CHANGED),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
                Error::advising(ErrorKind::Refused, url, refusal(doing, &text))
            }
            E::NotSupported { .. } if cause == Some(Cause::NoRanges) => {
                Error::other(doing, url, &text, cause)
            }
            E::InvalidPath { .. } | E::UnknownConfigurationKey { .. } | E::NotSupported { .. } => {
                Error::new(ErrorKind::Usage, url, format!("cannot {doing}: {text}"))
            }
            _ => Error::other(doing, url, &text, cause),
        }
    }

    /// The same error at another place.
    pub(crate) fn at(mut self, url: &str) -> Error {
        self.url = without_secrets(url);
        self
    }

    /// Carries the error through the interface of `object_store`; [`Error::of`] returns it.
    pub(crate) fn carried(self) -> object_store::Error {
        object_store::Error::Generic { store: "tarflume", source: Box::new(self) }
    }

    /// The same error as one of options or environment: nothing was asked yet.
    pub(crate) fn into_usage(mut self) -> Error {
        self.kind = ErrorKind::Usage;
        self
    }

    fn other(doing: &str, url: &str, text: &str, cause: Option<Cause>) -> Error {
        let (kind, advice) = match cause {
            Some(Cause::NoCredentials) => (ErrorKind::Refused, NO_CREDENTIALS),
            Some(Cause::Certificate | Cause::Request) => (ErrorKind::Usage, &[][..]),
            Some(Cause::NoConnection) => (ErrorKind::Machine, unreachable_advice(url)),
            Some(Cause::OtherRegion) => (ErrorKind::Usage, OTHER_REGION),
            Some(Cause::NoRanges) => (ErrorKind::Answer, NO_RANGES),
            Some(Cause::NoLength) => (ErrorKind::Answer, NO_LENGTH),
            Some(Cause::TooLong) => (ErrorKind::TooLong, &[][..]),
            None => (ErrorKind::Machine, &[][..]),
        };
        let found = ErrorPart::from(format!("cannot {doing}: {text}"));
        Error::advising(kind, url, [found].into_iter().chain(advice.iter().cloned()))
    }
}

/// Returns a part without the secrets of URLs, on one line, if its words were not written here.
fn cleaned(part: ErrorPart) -> ErrorPart {
    match part {
        ErrorPart::Text(Cow::Owned(text)) => without_secrets(&one_line(&text)).into(),
        known => known,
    }
}

/// What to check if no server answers.
fn unreachable_advice(url: &str) -> &'static [ErrorPart] {
    const S3: &[ErrorPart] = &[
        ErrorPart::text("; check "),
        ErrorPart::ENDPOINT,
        ErrorPart::text(" (AWS_ENDPOINT_URL), and the network of this machine"),
    ];
    const CLOUD: &[ErrorPart] = &[
        ErrorPart::text("; check "),
        ErrorPart::ENDPOINT,
        ErrorPart::text(", and the network of this machine"),
    ];
    const HUB: &[ErrorPart] =
        &[ErrorPart::text("; check HF_ENDPOINT, and the network of this machine")];
    const WEB: &[ErrorPart] =
        &[ErrorPart::text("; check the URL, and the network of this machine")];
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3") => S3,
        Some("gs" | "az") => CLOUD,
        Some("hf") => HUB,
        _ => WEB,
    }
}

const NO_CREDENTIALS: &[ErrorPart] = &[
    ErrorPart::text(
        "; no credentials were found, and the metadata service of cloud machines gives none: set AWS_PROFILE or \
         AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS or AZURE_STORAGE_ACCOUNT_KEY, or ",
    ),
    ErrorPart::ANONYMOUS,
    ErrorPart::text(" for a public bucket"),
];

const OTHER_REGION: &[ErrorPart] = &[
    ErrorPart::text("; the bucket is in another region: set "),
    ErrorPart::REGION,
    ErrorPart::text(" or AWS_REGION"),
];

const NO_RANGES: &[ErrorPart] = &[ErrorPart::text(
    "; this server ignores ranges (gateways such as `rclone serve s3` do), and shards are read by ranges",
)];

const NO_LENGTH: &[ErrorPart] = &[ErrorPart::text(
    "; a proxy between here and the store seems to remove the length of answers",
)];

/// The text of [`ErrorKind::Changed`].
pub(crate) const CHANGED: &str =
    "the object was replaced while it was in use; open the data set again";

/// The sentence for a refusal, by the code that stores put into its body.
fn refusal(doing: &str, text: &str) -> Vec<ErrorPart> {
    const EXPIRED: &[ErrorPart] = &[ErrorPart::text(
        "the session token has expired; get new credentials (`aws sso login`, then `aws configure \
         export-credentials`)",
    )];
    const SIGNATURE: &[ErrorPart] =
        &[ErrorPart::text("the secret key does not belong to the key id; check both")];
    const KEY_ID: &[ErrorPart] = &[
        ErrorPart::text("the store does not know this key id; check AWS_PROFILE and "),
        ErrorPart::ENDPOINT,
    ];
    const CLOCK: &[ErrorPart] = &[ErrorPart::text("the clock of this machine is wrong; set it")];
    const OTHER: &[ErrorPart] = &[
        ErrorPart::text(
            "set credentials that may read and list this bucket (AWS_PROFILE, AWS_ACCESS_KEY_ID, \
             GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY), ",
        ),
        ErrorPart::ANONYMOUS,
        ErrorPart::text(" for a public bucket, or "),
        ErrorPart::REQUESTER_PAYS,
        ErrorPart::text(" if its owner lets readers pay"),
    ];
    let code = text.split("<Code>").nth(1).and_then(|rest| rest.split('<').next());
    let remedy = match code {
        Some("ExpiredToken" | "TokenRefreshRequired") => EXPIRED,
        Some("SignatureDoesNotMatch") => SIGNATURE,
        Some("InvalidAccessKeyId") => KEY_ID,
        Some("RequestTimeTooSkewed") => CLOCK,
        _ => OTHER,
    };
    let code = code.map_or(String::new(), |code| format!(" ({code})"));
    let found = format!("the store refuses to {doing}{code}:");
    [found.into(), ErrorPart::text(" ")].into_iter().chain(remedy.iter().cloned()).collect()
}

/// The innermost message of an error: outer ones repeat it.
fn chain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let inner = error.to_string();
        if !text.contains(&inner) {
            text = format!("{text}: {inner}");
        }
        source = error.source();
    }
    text
}

/// Removes the secrets from each URL in `text`: its query, which may be a signature, and its user and password.
pub(crate) fn without_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let start = at + "://".len();
        let end = rest[start..].find(ends_url).map_or(rest.len(), |length| start + length);
        let query = rest[start..end].find('?').map_or(end, |length| start + length);
        let host_end = rest[start..query].find('/').map_or(query, |length| start + length);
        let host = rest[start..host_end].rfind('@').map_or(start, |length| start + length + 1);
        // The revision of a repository follows an `@` too, behind a slash.
        out.push_str(&rest[..start]);
        out.push_str(&rest[host..query]);
        rest = &rest[end..];
    }
    out + rest
}

/// True for a character that is never part of a URL within a text.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'<>)".contains(c)
}

/// Names that a body of an answer may echo, with secrets behind them.
const SECRET_NAMES: [&str; 6] = [
    "authorization",
    "x-amz-security-token",
    "x-amz-credential",
    "x-amz-signature",
    "x-goog-signature",
    "x-ms-encryption-key",
];
/// Characters of a text that is shown. Bodies of answers are pages of HTML or XML.
const MOST_TEXT: usize = 600;

/// One line of a text that may contain the body of an answer, without headers that the body repeats.
fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in SECRET_NAMES {
        // ASCII letters alone change, so places in both texts are the same.
        while let Some(at) = line.to_ascii_lowercase().find(name) {
            line.replace_range(at.., "(a header was here)");
        }
    }
    match line.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.url, self.text)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_urls_are_never_shown() {
        let text =
            "GET https://b.s3.amazonaws.com/a.tar?X-Amz-Signature=secret failed; is it there? yes";
        let shown = without_secrets(text);
        assert_eq!(shown, "GET https://b.s3.amazonaws.com/a.tar failed; is it there? yes");
        assert_eq!(
            without_secrets("\"http://a/b?token=1\" and http://c?d"),
            "\"http://a/b\" and http://c"
        );
        assert_eq!(without_secrets("no url"), "no url");
        assert_eq!(without_secrets("http://me:word@host:1/a@b/c"), "http://host:1/a@b/c");
        assert_eq!(without_secrets("GET http://token@host failed"), "GET http://host failed");
        let hub = "hf://datasets/me/cats@v1/data";
        assert_eq!(without_secrets(hub), hub);
    }

    #[test]
    fn advice_for_a_server_that_does_not_answer_names_what_its_scheme_has() {
        fn said(url: &str) -> String {
            let error = Error::other("read", url, "refused", Some(Cause::NoConnection));
            error.text().to_string()
        }
        for (url, names) in [
            ("http://host/set/a.tar", "check the URL"),
            ("https://host/a.tar", "check the URL"),
            ("hf://datasets/lab/photos", "HF_ENDPOINT"),
            ("s3://bucket/set", "AWS_ENDPOINT_URL"),
            ("gs://bucket/set", "check endpoint="),
        ] {
            let text = said(url);
            assert!(text.contains(names), "{url}: {text}");
            assert_eq!(text.contains("AWS"), url.starts_with("s3"), "{url}: {text}");
        }
    }

    #[test]
    fn bodies_are_one_short_line_without_the_headers_that_they_repeat() {
        let body = "<html>\n<pre>GET /a\nHost: h\nAuthorization: AWS4 Credential=KEY, Signature=5ec4e7\n</pre>";
        let error =
            Error::new(ErrorKind::Answer, "http://me:word@h/a", format!("cannot read: {body}"));
        let shown = error.to_string();
        assert!(
            shown.starts_with("http://h/a: cannot read: <html> <pre>GET /a Host: h"),
            "{shown}"
        );
        for secret in ["word", "KEY", "5ec4e7", "\n"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let long = Error::new(ErrorKind::Answer, "http://h/a", "é".repeat(100_000));
        assert!(long.text().len() < 2 * MOST_TEXT + 10);
    }

    #[test]
    fn refusals_say_what_to_set() {
        fn said(code: &str) -> String {
            let parts = refusal("read", &format!("403: <Error><Code>{code}</Code></Error>"));
            parts.iter().map(ErrorPart::to_string).collect()
        }
        assert!(said("ExpiredToken").contains("has expired"));
        assert!(said("SignatureDoesNotMatch").contains("secret key"));
        assert!(said("AccessDenied").contains("AWS_PROFILE"));
        assert!(said("AccessDenied").contains("(AccessDenied): set"));
        let region = Error::other("read", "s3://b/a", "gone", Some(Cause::OtherRegion));
        assert!(
            region.text().ends_with("another region: set region=REGION or AWS_REGION"),
            "{region}"
        );
        assert!(region.parts().contains(&ErrorPart::REGION), "options are data");
    }
}
