//! An HTTP/1.1 server on a port of this machine, for tests: answers GET and HEAD by a function.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

/// A request.
#[derive(Debug, Clone)]
pub struct Received {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    /// The connection is closed after so many bytes of the body.
    cut: Option<usize>,
}

impl Reply {
    /// A status with a body.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Reply {
        Reply { status, headers: Vec::new(), body: body.into(), cut: None }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Closes the connection after `bytes` of the body.
    #[must_use]
    pub fn cut(mut self, bytes: usize) -> Reply {
        self.cut = Some(bytes);
        self
    }

    /// The range that a request asks for, or all of `bytes`.
    pub fn of(bytes: &Bytes, request: &Received) -> Reply {
        let Some((start, end)) = request.range() else { return Reply::new(200, bytes.clone()) };
        let length = bytes.len() as u64;
        if start >= length {
            return Reply::new(416, "").with("Content-Range", format!("bytes */{length}"));
        }
        let end = end.min(length);
        let range = format!("bytes {start}-{}/{length}", end - 1);
        Reply::new(206, bytes.slice(start as usize..end as usize)).with("Content-Range", range)
    }

    /// Sends the answer, to HEAD without its body. Returns false if the connection must be closed.
    fn send(&self, stream: &mut TcpStream, method: &str) -> std::io::Result<bool> {
        let mut text = format!("HTTP/1.1 {} Simulated\r\n", self.status);
        text += &format!("Content-Length: {}\r\n", self.body.len());
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all((text + "\r\n").as_bytes())?;
        if method == "HEAD" {
            return Ok(true);
        }
        let sent = self.cut.unwrap_or(self.body.len()).min(self.body.len());
        stream.write_all(&self.body[..sent])?;
        Ok(self.cut.is_none())
    }
}

impl Received {
    /// First byte and end of the range, if there is one.
    pub fn range(&self) -> Option<(u64, u64)> {
        let (start, last) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((start.parse().ok()?, last.parse::<u64>().map_or(u64::MAX, |last| last + 1)))
    }

    /// The path, without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of a name in the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.target.split_once('?')?.1.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_string);
        let method = words.next()?;
        let target = words.next()?;
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                return Some(Received { method, target, headers });
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Listener {
    /// Serves requests with `answer`. Each connection has its own thread.
    ///
    /// # Panics
    /// Panics if no port can be opened.
    pub fn start(answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a port");
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = stopped.clone();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let answer = answer.clone();
                std::thread::spawn(move || serve(stream, &*answer));
            }
        });
        Listener { address, stopped }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address); // wakes the thread that waits
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Received) -> Reply) {
    let _ = stream.set_nodelay(true);
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    while let Some(request) = Received::read(&mut reader) {
        if !answer(&request).send(&mut stream, &request.method).unwrap_or(false) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}
