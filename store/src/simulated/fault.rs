//! `Fault`: what a simulated server does wrong, and `Asked`: what it decides by. Data alone.

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error status, and the seconds of `Retry-After`.
    Status(u16, Option<u64>),
    /// A refusal with an S3 error code.
    Refused(u16, &'static str),
    /// No answer: the connection is reset.
    Reset,
    /// The request has its effect, then the connection is reset.
    LostAnswer,
    /// The body ends with a reset after so many bytes.
    Cut(usize),
    /// The byte at this place of the body is another one.
    Flip(usize),
    /// The range is ignored: the whole object with status 200.
    Whole,
}

/// A request, as far as a plan of faults looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `PUT`, ...
    pub method: String,
    /// The name of the object, or the prefix of a listing.
    pub name: String,
    /// The number of the request of this server, from 0.
    pub number: u64,
    /// First byte and end of the range, if it has one.
    pub range: Option<(u64, u64)>,
}
