//! `Tail`: what is still missing of a body that came in several answers.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::web::answer::{Answer, content_range, declared_length, tag};

/// The bytes of a body so far, and the head of its first answer.
pub(crate) struct Tail {
    range: Option<Range<u64>>,
    is_immutable: bool,
    head: Option<(StatusCode, HeaderMap)>,
    bytes: Vec<u8>,
    /// Bytes that the answers so far announced.
    announced: Option<u64>,
}

impl Tail {
    pub(crate) fn new(range: Option<Range<u64>>, is_immutable: bool) -> Tail {
        Tail { range, is_immutable, head: None, bytes: Vec::new(), announced: None }
    }

    /// The range to ask for, if it is not the whole object.
    pub(crate) fn wanted(&self) -> Option<String> {
        let done = self.bytes.len() as u64;
        match &self.range {
            Some(range) => Some(format!("bytes={}-{}", range.start + done, range.end - 1)),
            None if done > 0 => Some(format!("bytes={done}-")),
            None => None,
        }
    }

    /// The tag of the state that the rest must have.
    pub(crate) fn tag(&self) -> Option<&str> {
        let (_, headers) = self.head.as_ref().filter(|_| !self.bytes.is_empty())?;
        tag(headers).filter(|tag| !tag.starts_with("W/"))
    }

    /// Takes the head of an answer. Returns false if it does not continue the bytes that are here;
    /// they are dropped then.
    pub(crate) fn accept(&mut self, status: StatusCode, headers: HeaderMap) -> bool {
        let done = self.bytes.len() as u64;
        let announced = declared_length(&headers).map(|length| done + length);
        if done == 0 {
            self.head = Some((status, headers));
        } else {
            let start = self.range.as_ref().map_or(0, |range| range.start) + done;
            let is_rest = status == StatusCode::PARTIAL_CONTENT
                && content_range(&headers).is_some_and(|(at, _)| at == Some(start));
            let before = self.head.as_ref().and_then(|(_, headers)| tag(headers));
            if !is_rest || before != tag(&headers) {
                self.clear();
                return false;
            }
        }
        self.announced = announced;
        true
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that were announced and did not come.
    pub(crate) fn missing(&self) -> u64 {
        self.announced.map_or(0, |announced| announced.saturating_sub(self.bytes.len() as u64))
    }

    /// The body was cut: its bytes stay only if the rest can be asked for.
    pub(crate) fn interrupt(&mut self) {
        let is_part = self.range.is_none()
            || self.head.as_ref().is_some_and(|(status, _)| *status == StatusCode::PARTIAL_CONTENT);
        // All bytes may be here, with a connection that ended in an error.
        let is_done = self.missing() == 0;
        if !is_part || is_done || (!self.is_immutable && self.tag().is_none()) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.head = None;
        self.announced = None;
        self.bytes.clear();
    }

    /// The whole answer, with the head of its beginning.
    pub(crate) fn take(&mut self) -> Answer {
        let (status, headers) = self.head.take().expect("`accept` took the head of an answer");
        Answer { status, headers, bytes: Bytes::from(std::mem::take(&mut self.bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    const PARTIAL: StatusCode = StatusCode::PARTIAL_CONTENT;

    #[test]
    fn a_cut_body_asks_for_its_rest_in_the_same_state() {
        let mut tail = Tail::new(Some(10..20), false);
        assert_eq!(tail.wanted().unwrap(), "bytes=10-19");
        let first = [("content-length", "10"), ("etag", "\"a\"")];
        assert!(tail.accept(PARTIAL, headers(&first)));
        tail.push(b"abcd");
        assert_eq!(tail.missing(), 6);
        tail.interrupt();
        assert_eq!((tail.wanted().as_deref(), tail.tag()), (Some("bytes=14-19"), Some("\"a\"")));
        let rest =
            [("content-length", "6"), ("etag", "\"a\""), ("content-range", "bytes 14-19/50")];
        assert!(tail.accept(PARTIAL, headers(&rest)));
        tail.push(b"efghij");
        assert_eq!(tail.missing(), 0);
        assert_eq!(&tail.take().bytes[..], b"abcdefghij");
    }

    #[test]
    fn what_cannot_be_continued_begins_again() {
        let mut tail = Tail::new(Some(0..10), false);
        tail.accept(PARTIAL, headers(&[("content-length", "10")]));
        tail.push(b"abc");
        tail.interrupt();
        assert_eq!(tail.wanted().unwrap(), "bytes=0-9", "no tag");
        let mut tail = Tail::new(Some(0..10), true);
        tail.accept(PARTIAL, headers(&[("content-length", "10")]));
        tail.push(b"abc");
        tail.interrupt();
        assert_eq!(tail.wanted().unwrap(), "bytes=3-9", "never changes");
        assert!(!tail.accept(StatusCode::OK, headers(&[("content-length", "50")])));
        assert_eq!(tail.wanted().unwrap(), "bytes=0-9", "the whole object is no rest");
    }
}
