//! One HTTP/1.1 request for each connection: `httparse` reads the head, bodies are refused.

use std::io;

use tarflume_base::Failure;

use super::answer::{Answer, Body, Streamed};
use super::client::Client;

/// Limits on a head: bytes and headers.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;

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
/// Returns an error if the client left or was too slow.
pub(super) fn answer(
    client: &mut Client<'_>,
    route: &dyn Fn(&Request) -> Answer,
) -> io::Result<()> {
    let (answer, is_head) = match read(client)? {
        Ok(request) => (route(&request), request.is_head),
        Err(refused) => (refused, false),
    };
    client.begin(answer.body.length());
    let head = head(&answer);
    match answer.body {
        _ if is_head => client.write(head.as_bytes()),
        Body::Whole(bytes) => {
            client.write(head.as_bytes())?;
            client.write(&bytes)
        }
        Body::Streamed(streamed) => send(client, head, streamed),
    }
}

fn head(answer: &Answer) -> String {
    let Answer { status, kind, policy, seconds, body } = answer;
    let keep = match seconds {
        0 => "no-store".to_string(),
        seconds => format!("private, max-age={seconds}"),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: {keep}\r\nContent-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\r\n",
        body.length()
    )
}

/// Sends a content while it is read.
fn send(client: &mut Client<'_>, head: String, streamed: Streamed) -> io::Result<()> {
    let mut pieces = Pieces { client, head: Some(head), held: Vec::new(), gone: None };
    let read = (streamed.read)(&mut |piece| pieces.take(piece));
    match (read, pieces.gone.take(), &pieces.head) {
        (_, Some(gone), _) => Err(gone),
        (Ok(()), None, _) => pieces.flush(),
        (Err(failure), None, Some(_)) => {
            let failed = Answer::failed(&failure);
            let text = self::head(&failed);
            pieces.client.write(text.as_bytes())?;
            match failed.body {
                Body::Whole(bytes) => pieces.client.write(&bytes),
                Body::Streamed(_) => Ok(()),
            }
        }
        // The client sees fewer bytes than the head states.
        (Err(failure), None, None) => Err(io::Error::other(failure.text())),
    }
}

/// Sends each piece after the next one was read, and the last one at the end: a content that its checksum refutes is
/// never complete.
struct Pieces<'a, 'c> {
    client: &'a mut Client<'c>,
    /// The head, until it is sent.
    head: Option<String>,
    held: Vec<u8>,
    /// Why the client takes no more.
    gone: Option<io::Error>,
}

impl Pieces<'_, '_> {
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        if !self.held.is_empty()
            && let Err(gone) = self.flush()
        {
            self.gone = Some(gone);
            return Err(Failure::interrupted());
        }
        self.held.extend_from_slice(piece);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            self.client.write(head.as_bytes())?;
        }
        self.client.write(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// Reads the head of a request, or returns why it is refused.
fn read(client: &Client<'_>) -> io::Result<Result<Request, Answer>> {
    let until = client.head_until();
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let length = client.read(&mut piece, until)?;
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
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Some(Err(Answer::error("405 Method Not Allowed", "GET and HEAD only\n"))),
    };
    let target = parsed.path.unwrap_or("/").to_string();
    let Some(host) = only_header(&parsed, "host") else {
        return Some(Err(Answer::error("400 Bad Request", "one header `Host` is needed\n")));
    };
    Some(Ok(Request { target, host, is_head }))
}

fn only_header(parsed: &httparse::Request<'_, '_>, name: &str) -> Option<String> {
    let mut found = parsed.headers.iter().filter(|one| one.name.eq_ignore_ascii_case(name));
    let value = found.next().map(|one| String::from_utf8_lossy(one.value).into_owned());
    value.filter(|_| found.next().is_none())
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
