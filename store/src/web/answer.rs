//! `Answer`: a status, headers and a body; and what the headers say about lengths and tags.

use std::ops::Range;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

/// What a server has answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

/// Bytes of an object, and its length.
pub(crate) struct ObjectBytes {
    pub(crate) bytes: Bytes,
    pub(crate) total: u64,
}

impl Answer {
    /// The text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The bytes of `range` in a successful answer; `None` if its headers do not fit to its status.
    pub(crate) fn part(&self, range: Option<&Range<u64>>) -> Option<ObjectBytes> {
        let whole = self.bytes.len() as u64;
        match (self.status, range) {
            (StatusCode::PARTIAL_CONTENT, Some(range)) => {
                let (start, total) = content_range(&self.headers)?;
                (start == Some(range.start))
                    .then(|| ObjectBytes { bytes: self.bytes.clone(), total })
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
                let (_, total) = content_range(&self.headers)?;
                Some(ObjectBytes { bytes: Bytes::new(), total })
            }
            (StatusCode::OK, Some(range)) => {
                let start = range.start.min(whole);
                let end = range.end.min(whole);
                let bytes = self.bytes.slice(start as usize..end as usize);
                Some(ObjectBytes { bytes, total: whole })
            }
            (StatusCode::OK, None) => Some(ObjectBytes { bytes: self.bytes.clone(), total: whole }),
            _ => None,
        }
    }

    /// The ETag, if there is one.
    pub(crate) fn tag(&self) -> Option<String> {
        tag(&self.headers).map(str::to_string)
    }

    /// The time of the last change.
    pub(crate) fn modified(&self) -> Option<DateTime<Utc>> {
        let text = self.headers.get(LAST_MODIFIED)?.to_str().ok()?;
        DateTime::parse_from_rfc2822(text).ok().map(|time| time.with_timezone(&Utc))
    }
}

pub(crate) fn tag(headers: &HeaderMap) -> Option<&str> {
    headers.get(ETAG)?.to_str().ok().filter(|tag| !tag.is_empty())
}

/// The length of the body that the headers declare.
pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The first byte and the length of the object in `bytes 0-9/100`; no first byte in `bytes */100`.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<(Option<u64>, u64)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (range, total) = text.split_once('/')?;
    let start = match range {
        "*" => None,
        range => Some(range.split_once('-')?.0.parse().ok()?),
    };
    Some((start, total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, range: Option<&'static str>, bytes: &'static [u8]) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(range) = range {
            headers.insert(CONTENT_RANGE, range.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn parts_have_the_bytes_of_their_range_and_the_length_of_the_object() {
        fn of(answer: Answer, range: Option<Range<u64>>) -> Option<(Vec<u8>, u64)> {
            answer.part(range.as_ref()).map(|part| (part.bytes.to_vec(), part.total))
        }
        fn partial() -> Answer {
            answer(206, Some("bytes 2-3/10"), b"cd")
        }
        assert_eq!(of(partial(), Some(2..4)), Some((b"cd".to_vec(), 10)));
        assert_eq!(of(partial(), Some(1..3)), None, "another range");
        assert_eq!(of(answer(206, None, b"cd"), Some(2..4)), None);
        assert_eq!(of(answer(200, None, b"abcd"), Some(1..3)), Some((b"bc".to_vec(), 4)));
        assert_eq!(of(answer(200, None, b""), Some(0..1)), Some((Vec::new(), 0)));
        assert_eq!(of(answer(416, Some("bytes */0"), b""), Some(0..1)), Some((Vec::new(), 0)));
        assert_eq!(of(answer(200, None, b"ab"), None), Some((b"ab".to_vec(), 2)));
    }
}
