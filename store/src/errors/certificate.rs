//! Certificates of servers that are not accepted: what is wrong with one, and that the request is not repeated.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use rustls::CertificateError;

/// A certificate that is not accepted, and why.
#[derive(Debug)]
pub(crate) struct Unaccepted(CertificateError);

impl Unaccepted {
    /// The error that a caller gets for `error`: one that is not repeated if a certificate caused it.
    pub(crate) fn judged(error: HttpError) -> HttpError {
        match cause(&error) {
            Some(why) => HttpError::new(HttpErrorKind::Unknown, Unaccepted(why)),
            None => error,
        }
    }

    fn remedy(&self) -> &'static str {
        use CertificateError as E;
        match self.0 {
            E::UnknownIssuer => {
                "this machine does not trust its issuer: name a file with the certificate of the issuer in \
                 SSL_CERT_FILE"
            }
            E::Expired
            | E::ExpiredContext { .. }
            | E::NotValidYet
            | E::NotValidYetContext { .. } => "renew it, or set the clock of this machine",
            E::NotValidForName | E::NotValidForNameContext { .. } => {
                "use a name in the URL that the certificate has"
            }
            _ => "the owner of the server must replace it",
        }
    }
}

impl fmt::Display for Unaccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = self.remedy();
        write!(f, "the certificate of the server is not accepted ({}); {remedy}", self.0)
    }
}

impl StdError for Unaccepted {}

/// Returns what is wrong with a certificate, if that caused the error.
fn cause(error: &(dyn StdError + 'static)) -> Option<CertificateError> {
    if let Some(rustls::Error::InvalidCertificate(why)) = error.downcast_ref() {
        return Some(why.clone());
    }
    // The source of an I/O error is that of the error in it.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inner {
        Some(inner) => cause(inner),
        None => error.source().and_then(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_found_below_other_errors_and_ends_the_tries() {
        let why = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let outer = HttpError::new(HttpErrorKind::Connect, io::Error::other(io::Error::other(why)));
        let judged = Unaccepted::judged(outer);
        assert_eq!(judged.kind(), HttpErrorKind::Unknown);
        let text = judged.source().unwrap().to_string();
        let start = "the certificate of the server is not accepted (";
        assert!(text.starts_with(start) && text.contains("SSL_CERT_FILE"), "{text}");
        let other = HttpError::new(HttpErrorKind::Connect, io::Error::other("refused"));
        assert_eq!(Unaccepted::judged(other).kind(), HttpErrorKind::Connect);
    }
}
