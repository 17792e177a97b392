//! One HTTP/1.1 request for each connection: `httparse` reads the head, bodies are refused.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::answer::Answer;

/// Limits on a head: bytes, headers, and the time until it is complete.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for the peer to take the reply.
const TAKING: Duration = Duration::from_secs(60);

/// A request for a page, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// The path and the query, as sent.
    pub(super) target: String,
    /// The header `Host`.
    pub(super) host: String,
    /// `HEAD`: the reply has no body.
    pub(super) is_head: bool,
}

/// Reads a request and writes its reply.
///
/// # Errors
/// Returns an error if the peer left or was too slow.
pub(super) fn answer(
    mut stream: &TcpStream,
    route: impl FnOnce(&Request) -> Answer,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(TAKING))?;
    let (answer, is_head) = match read(stream)? {
        Ok(request) => (route(&request), request.is_head),
        Err(refused) => (refused, false),
    };
    let Answer { status, kind, policy, seconds, body } = answer;
    let keep = if seconds > 0 { format!("private, max-age={seconds}") } else { "no-store".into() };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: {keep}\r\nContent-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if !is_head {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// Reads the head of a request, or returns why it is refused.
fn read(mut stream: &TcpStream) -> io::Result<Result<Request, Answer>> {
    let end = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..length]);
        if let Some(found) = parse(&bytes) {
            return Ok(found);
        }
        if bytes.len() > HEAD {
            return Ok(Err(Answer::error("431 Request Header Fields Too Large", "too long\n")));
        }
    }
}

/// Parses a head; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Option<Result<Request, Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(e) => return Some(Err(Answer::error("400 Bad Request", format!("{e}\n")))),
    }
    let header = |name: &str| {
        let mut found = parsed.headers.iter().filter(|one| one.name.eq_ignore_ascii_case(name));
        let value = found.next().map(|one| String::from_utf8_lossy(one.value).into_owned());
        value.filter(|_| found.next().is_none())
    };
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Some(Err(Answer::error("405 Method Not Allowed", "GET and HEAD only\n"))),
    };
    let target = parsed.path.unwrap_or("/").to_string();
    let Some(host) = header("host") else {
        return Some(Err(Answer::error("400 Bad Request", "one header `Host` is needed\n")));
    };
    Some(Ok(Request { target, host, is_head }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_complete_refused_or_unfinished() {
        let whole = b"GET /thumb/3?a=b HTTP/1.1\r\nHost: localhost:1\r\n\r\n";
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_none(), "{length}");
        }
        let request = parse(whole).unwrap().unwrap();
        assert_eq!(
            (request.target.as_str(), request.host.as_str()),
            ("/thumb/3?a=b", "localhost:1")
        );
        for (head, status) in [
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
            ("\0\0\0\0\r\n\r\n", "400"),
        ] {
            let refused = parse(head.as_bytes()).unwrap().unwrap_err();
            assert!(refused.status.starts_with(status), "{head}: {refused:?}");
        }
    }
}
