//! `Answer`: status, headers and content of a reply.

use std::fmt;

use tarflume_base::Failure;

/// A reply.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    /// The policy of the content; the strictest one by default.
    pub(super) policy: String,
    /// How long browsers may keep it, in seconds.
    pub(super) seconds: u32,
    pub(super) body: Body,
}

/// The content of a reply.
#[derive(Debug)]
pub(super) enum Body {
    Whole(Vec<u8>),
    Streamed(Streamed),
}

/// Receives the pieces of a content in order. Its error ends the reading.
pub(super) type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>;

/// Reads a content to its end.
type Read = Box<dyn FnOnce(Take<'_>) -> Result<(), Failure>>;

/// A content that is read while it is sent, so that few of its bytes are in memory.
pub(super) struct Streamed {
    /// The bytes of all pieces.
    pub(super) length: u64,
    /// Passes the pieces on. An error after the last piece means that the content is damaged.
    pub(super) read: Read,
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Streamed({} bytes)", self.length)
    }
}

impl Body {
    /// Returns the number of bytes.
    pub(super) fn length(&self) -> u64 {
        match self {
            Body::Whole(bytes) => bytes.len() as u64,
            Body::Streamed(streamed) => streamed.length,
        }
    }
}

impl Answer {
    /// Content of this media type.
    pub(super) fn of(kind: &'static str, body: Vec<u8>) -> Answer {
        let policy = "default-src 'none'; sandbox".to_string();
        Answer { status: "200 OK", kind, policy, seconds: 0, body: Body::Whole(body) }
    }

    /// Content of this media type that is read while it is sent.
    pub(super) fn streamed(kind: &'static str, body: Streamed) -> Answer {
        Answer { body: Body::Streamed(body), ..Answer::of(kind, Vec::new()) }
    }

    /// An error with its text.
    pub(super) fn error(status: &'static str, text: impl Into<String>) -> Answer {
        let body = text.into().into_bytes();
        Answer { status, ..Answer::of("text/plain; charset=utf-8", body) }
    }

    /// An error of the data, the machine or the store.
    pub(super) fn failed(failure: &Failure) -> Answer {
        Answer::error("500 Internal Server Error", format!("{failure}\n"))
    }

    /// There is no such sample or part.
    pub(super) fn not_found(text: impl Into<String>) -> Answer {
        Answer::error("404 Not Found", text)
    }

    /// Lets browsers keep the content for ten minutes.
    pub(super) fn kept(self) -> Answer {
        Answer { seconds: 600, ..self }
    }
}
