//! `Cause`: what an error of `object_store` or of an HTTP client is about, found in the chain of its sources.
//!
//! Errors of this crate and public errors of the libraries are recognized by their types. `object_store` keeps some
//! of its types private: of those, the beginning of the one text that such an error has is compared. URLs, names of
//! objects and bodies of answers never decide.

use std::error::Error as StdError;
use std::{io, iter};

use object_store::client::HttpError;
use reqwest::Url;

use crate::errors::bounded::TooLong;
use crate::errors::certificate::Unaccepted;
use crate::errors::first_contact::{Unreachable, is_connecting};

/// What an error is about, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The metadata service of a cloud's machines gave no credentials.
    NoCredentials,
    /// The certificate of the server is not accepted.
    Certificate,
    /// No connection was made.
    NoConnection,
    /// The store answers with a redirect that names no place: the bucket is in another region.
    OtherRegion,
    /// The server ignores ranges.
    NoRanges,
    /// An answer lacks the length of the object.
    NoLength,
    /// The answer is longer than the limit of what is read of it.
    TooLong,
    /// No request can be made of the URL and the options.
    Request,
}

impl Cause {
    /// Returns the cause that comes first in the list of variants, of those in the chain of `error`.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Option<Cause> {
        chain(error).filter_map(Cause::of_one).min()
    }

    /// The cause that one error of a chain states.
    fn of_one(error: &(dyn StdError + 'static)) -> Option<Cause> {
        if error.is::<Unaccepted>() {
            return Some(Cause::Certificate);
        }
        if error.is::<TooLong>() {
            return Some(Cause::TooLong);
        }
        if error.is::<Unreachable>() || error.downcast_ref::<HttpError>().is_some_and(is_connecting)
        {
            return Some(Cause::NoConnection);
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return error.is_builder().then_some(Cause::Request);
        }
        let text = error.to_string();
        if requested(&text).is_some_and(|host| METADATA.contains(&&*host)) {
            return Some(Cause::NoCredentials);
        }
        let mut known = PRIVATE.iter().filter(|(start, _)| text.starts_with(start));
        known.next().map(|(_, cause)| *cause)
    }
}

/// Where machines of a cloud get their credentials, if nothing else gives them.
const METADATA: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// The beginnings of texts of private errors of `object_store` 0.14: `RequestError::BareRedirect`, `GetResultError`,
/// `Error::RangeNotSupported` of its HTTP client, and `MissingContentLength` of its headers.
const PRIVATE: [(&str, Cause); 5] = [
    ("Received redirect without LOCATION", Cause::OtherRegion),
    ("Received non-partial response when range requested", Cause::NoRanges),
    ("Content-Range header ", Cause::NoRanges),
    ("Range request not supported by ", Cause::NoRanges),
    ("Content-Length Header missing from response", Cause::NoLength),
];

/// The status of an answer that ended a request, which `object_store` has in a private error.
pub(crate) fn status(error: &(dyn StdError + 'static)) -> Option<u16> {
    chain(error).find_map(|error| {
        let text = error.to_string();
        let rest = text.strip_prefix("Server returned non-2xx status code: ")?;
        rest.get(..3)?.parse().ok()
    })
}

/// The host that a `RetryError` of `object_store`, which is private, names.
fn requested(text: &str) -> Option<String> {
    let url = text.strip_prefix("Error performing ")?.split_whitespace().nth(1)?;
    Some(Url::parse(url).ok()?.host_str()?.to_string())
}

/// The error and its sources, the outermost first.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |error| below(*error))
}

fn below<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    // The source of an I/O error is that of the error in it.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use object_store::client::HttpErrorKind;

    use super::*;

    /// An error of another crate: a text, and what is below it.
    #[derive(Debug)]
    struct Foreign(String, Option<Box<dyn StdError + Send + Sync>>);

    impl fmt::Display for Foreign {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl StdError for Foreign {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.1.as_deref().map(|source| source as _)
        }
    }

    fn foreign(text: &str) -> Foreign {
        Foreign(text.into(), None)
    }

    /// The error as `object_store` wraps it, for the object of a user.
    fn wrapped(inner: impl StdError + Send + Sync + 'static) -> object_store::Error {
        let text = format!("Error performing GET https://host/{NAME} in 1s - {inner}");
        object_store::Error::Generic {
            store: "S3",
            source: Box::new(Foreign(text, Some(Box::new(inner)))),
        }
    }

    /// A name of an object that contains the texts of many errors.
    const NAME: &str = "Missing/169.254.169.254/Content-Length/Content-Range/416 not allowed/a.tar";

    #[test]
    fn causes_are_found_by_type_below_other_errors() {
        let long = HttpError::new(HttpErrorKind::Decode, TooLong::of(7));
        let refused = HttpError::new(HttpErrorKind::Connect, io::Error::other("refused"));
        let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let certificate = HttpError::new(HttpErrorKind::Connect, io::Error::other(certificate));
        let certificate = Unaccepted::judged(certificate);
        let builder = reqwest::Client::builder().user_agent("\n").build().unwrap_err();
        for (error, cause) in [
            (wrapped(long), Some(Cause::TooLong)),
            (wrapped(io::Error::other(TooLong::of(7))), Some(Cause::TooLong)),
            (wrapped(refused), Some(Cause::NoConnection)),
            (wrapped(certificate), Some(Cause::Certificate)),
            (wrapped(HttpError::new(HttpErrorKind::Unknown, builder)), Some(Cause::Request)),
            (wrapped(HttpError::new(HttpErrorKind::Timeout, io::Error::other("silence"))), None),
        ] {
            assert_eq!(Cause::of(&error), cause, "{error}");
        }
    }

    #[test]
    fn urls_names_of_objects_and_bodies_never_decide() {
        fn text(text: &str) -> Option<Cause> {
            Cause::of(&wrapped(foreign(text)))
        }
        assert_eq!(
            text("Received redirect without LOCATION, this normally"),
            Some(Cause::OtherRegion)
        );
        assert_eq!(text("Range request not supported by a.tar"), Some(Cause::NoRanges));
        assert_eq!(text("Content-Length Header missing from response"), Some(Cause::NoLength));
        let body = "Server returned non-2xx status code: 503 Service Unavailable: Content-Length Header missing; \
                    no server answers there; the answer has more than";
        assert_eq!(text(body), None);
        assert_eq!(status(&wrapped(foreign(body))), Some(503));
        assert_eq!(status(&wrapped(foreign("416 in a text"))), None);
        fn asked(url: &str) -> Option<Cause> {
            Cause::of(&foreign(&format!("Error performing PUT {url} in 2s")))
        }
        let token = "http://169.254.169.254/latest/api/token";
        assert_eq!(asked(token), Some(Cause::NoCredentials));
        assert_eq!(asked("https://host/169.254.169.254/a"), None);
    }
}
