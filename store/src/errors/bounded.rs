//! Limits on the bodies of answers: a server must not fill the memory of its reader.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, HeaderMap, RANGE};
use http::{Method, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};

/// Limit on an object that is read whole, such as `dataset.json`, and on a page of a listing.
pub(crate) const MOST_WHOLE: u64 = 256 << 20;
/// Limit on the body of a refusal; the rest is left out.
const MOST_REFUSAL: u64 = 64 << 10;

/// An answer that is too long.
#[derive(Debug)]
pub(crate) struct TooLong {
    most: u64,
}

#[cfg(test)]
impl TooLong {
    pub(crate) fn of(most: u64) -> TooLong {
        TooLong { most }
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the answer has more than {} bytes, which is the limit of what is read of it",
            self.most
        )
    }
}

impl std::error::Error for TooLong {}

/// Limits that a request sets on its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of the range that was asked for.
    range: Option<u64>,
    /// The answer announces the length of an object and has no body.
    is_head: bool,
}

impl Limits {
    pub(crate) fn of(request: &HttpRequest) -> Limits {
        let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
        let is_head = request.method() == Method::HEAD;
        Limits { range: range.and_then(length_of), is_head }
    }

    fn most(self, status: StatusCode) -> u64 {
        match self.range {
            Some(length) if status == StatusCode::PARTIAL_CONTENT => length,
            _ if status.is_success() => MOST_WHOLE,
            _ => MOST_REFUSAL,
        }
    }

    /// Limits the body of an answer.
    ///
    /// # Errors
    /// Returns an error if the answer announces a longer one. A longer one that was not announced is an error of the
    /// body.
    pub(crate) fn apply(self, answer: HttpResponse) -> Result<HttpResponse, HttpError> {
        if self.is_head {
            return Ok(answer);
        }
        let most = self.most(answer.status());
        let is_refusal = !answer.status().is_success();
        if !is_refusal && announced(answer.headers()).is_some_and(|length| length > most) {
            return Err(too_long(most));
        }
        let (parts, inner) = answer.into_parts();
        let body = BoundedBody { inner, most, left: most, is_refusal };
        Ok(Response::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// Returns the bytes of a range `bytes=FIRST-LAST`.
fn length_of(range: &str) -> Option<u64> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let last: u64 = last.parse().ok()?;
    last.checked_sub(first)?.checked_add(1)
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_long(most: u64) -> HttpError {
    // This kind is not asked for again.
    HttpError::new(HttpErrorKind::Decode, TooLong { most })
}

/// A body of limited length.
struct BoundedBody {
    inner: HttpResponseBody,
    most: u64,
    left: u64,
    /// The body of a refusal ends at the limit; another one fails there.
    is_refusal: bool,
}

impl Body for BoundedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if self.is_refusal && self.left == 0 {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        let data = match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => data,
            Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(None),
        };
        let fits = (data.remaining() as u64).min(self.left);
        if fits < data.remaining() as u64 && !self.is_refusal {
            return Poll::Ready(Some(Err(too_long(self.most))));
        }
        self.left -= fits;
        Poll::Ready(Some(Ok(Frame::data(data.slice(..fits as usize)))))
    }

    fn size_hint(&self) -> SizeHint {
        // A reader reserves what this announces.
        let mut hint = SizeHint::new();
        hint.set_lower(self.inner.size_hint().lower().min(self.left));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, range: Option<&str>) -> Limits {
        let mut builder = http::Request::builder().method(method).uri("http://host/a");
        if let Some(range) = range {
            builder = builder.header(RANGE, range);
        }
        Limits::of(&builder.body(object_store::client::HttpRequestBody::empty()).unwrap())
    }

    fn read(limits: Limits, status: u16, announced: u64, sent: usize) -> Result<usize, String> {
        let answer = Response::builder().status(status).header(CONTENT_LENGTH, announced);
        let answer = answer.body(HttpResponseBody::from(vec![b'x'; sent])).unwrap();
        let answer = limits.apply(answer).map_err(|e| format!("{e:?}"))?;
        let (_, body) = answer.into_parts();
        let body = crate::runtime::wait("http://host/a", async {
            let bytes = futures_util::TryStreamExt::try_fold(
                body.bytes_stream(),
                0,
                |sum, chunk: Bytes| async move { Ok(sum + chunk.len()) },
            );
            bytes.await.map_err(|e| {
                crate::errors::error::Error::new(
                    crate::errors::error::ErrorKind::Answer,
                    "",
                    format!("{e:?}"),
                )
            })
        });
        body.map_err(|e| e.text().to_string())
    }

    #[test]
    fn an_answer_is_no_longer_than_what_was_asked_for() {
        let whole = request(Method::GET, None);
        assert_eq!(read(whole, 200, 1000, 1000), Ok(1000));
        assert!(read(whole, 200, MOST_WHOLE + 1, 10).unwrap_err().contains("TooLong"));
        let range = request(Method::GET, Some("bytes=100-199"));
        assert_eq!(read(range, 206, 100, 100), Ok(100));
        assert!(read(range, 206, 101, 101).unwrap_err().contains("TooLong"));
        assert!(read(range, 206, 100, 101).unwrap_err().contains("TooLong"), "a false length");
        assert_eq!(read(range, 200, 101, 101), Ok(101), "the whole object, which is refused later");
        assert_eq!(read(request(Method::HEAD, None), 200, 1 << 50, 0), Ok(0));
        // Of a refusal, the beginning is enough.
        assert_eq!(read(range, 403, 1 << 40, 100_000), Ok(MOST_REFUSAL as usize));
    }
}
