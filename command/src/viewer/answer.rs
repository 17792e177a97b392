//! `Answer`: status, headers and content of a reply.

/// A reply.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    /// The policy of the content; the strictest one by default.
    pub(super) policy: String,
    /// How long browsers may keep it, in seconds.
    pub(super) seconds: u32,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Content of this media type.
    pub(super) fn of(kind: &'static str, body: Vec<u8>) -> Answer {
        let policy = "default-src 'none'; sandbox".to_string();
        Answer { status: "200 OK", kind, policy, seconds: 0, body }
    }

    /// An error with its text.
    pub(super) fn error(status: &'static str, text: impl Into<String>) -> Answer {
        let body = text.into().into_bytes();
        Answer { status, ..Answer::of("text/plain; charset=utf-8", body) }
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
