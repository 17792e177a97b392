//! The server with clients that are slow, idle or gone, and with replies that never end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tarflume_base::{Failure, Stop};

use super::answer::{Answer, Streamed, Take};
use super::{Limits, Request, serve_by};

/// Longer than any wait of a test that does not hang.
const PATIENCE: Duration = Duration::from_secs(600);
/// Limits that no test reaches.
const PATIENT: Limits =
    Limits { connections: 32, head: PATIENCE, reply: PATIENCE, rate: 1, end: PATIENCE };
const PIECE: usize = 64 * 1024;
/// More bytes than the buffers of a connection take.
const LONG: u64 = 32 << 20;

/// A running server.
struct Served {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl Served {
    fn start(limits: Limits, route: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::new();
        let of_thread = stop.clone();
        let thread =
            std::thread::spawn(move || serve_by(&listener, Arc::new(route), limits, &of_thread));
        Served { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Asks, and reads no more than the first byte of the reply.
    fn ask(&self, method: &str, target: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"H");
        stream
    }

    fn get(&self, target: &str) -> (String, u64) {
        rest(&mut self.ask("GET", target))
    }

    fn end(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.request();
    }
}

/// Reads a reply to its end: the rest of its head, and the length of its body.
fn rest(stream: &mut TcpStream) -> (String, u64) {
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply); // a connection that was cut may be reset
    let end = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    (String::from_utf8(reply[..end].to_vec()).unwrap(), (reply.len() - end - 4) as u64)
}

/// A content that counts the bytes that were read of it.
fn counted(length: u64, read: &Arc<AtomicU64>, ended: Sender<bool>) -> Answer {
    let read = Arc::clone(read);
    let pieces = move |take: Take<'_>| {
        let piece = [7; PIECE];
        let mut passed = Ok(());
        for _ in 0..length / PIECE as u64 {
            read.fetch_add(PIECE as u64, Ordering::SeqCst);
            passed = take(&piece);
            if passed.is_err() {
                break;
            }
        }
        let _ = ended.send(passed.is_ok()); // not every test waits for it
        passed
    };
    Answer::streamed("text/plain", Streamed { length, read: Box::new(pieces) })
}

/// A server with a long content at `/long` and a short one elsewhere; what was read of the long one, and how each
/// reading ended.
fn long_and_short(limits: Limits) -> (Served, Arc<AtomicU64>, Receiver<bool>) {
    let read = Arc::new(AtomicU64::new(0));
    let (sender, ended) = channel();
    let count = Arc::clone(&read);
    let sender = Mutex::new(sender);
    let served = Served::start(limits, move |request| match request.target.as_str() {
        "/long" => counted(LONG, &count, sender.lock().unwrap().clone()),
        _ => Answer::of("text/plain", b"short".to_vec()),
    });
    (served, read, ended)
}

#[test]
fn slow_and_idle_clients_block_no_other() {
    let (served, ..) = long_and_short(PATIENT);
    let mut slow: Vec<TcpStream> = (0..8).map(|_| served.ask("GET", "/long")).collect();
    let _idle: Vec<TcpStream> = (0..8).map(|_| served.connect()).collect();
    assert_eq!(served.get("/").1, 5);
    for stream in &mut slow {
        assert_eq!(rest(stream).1, LONG, "the slow clients lose nothing");
    }
}

#[test]
fn the_oldest_client_that_waits_makes_room_when_all_places_are_taken() {
    let (served, _, ended) = long_and_short(Limits { connections: 4, ..PATIENT });
    let _idle: Vec<TcpStream> = (0..4).map(|_| served.connect()).collect();
    let mut slow: Vec<TcpStream> = (0..6).map(|_| served.ask("GET", "/long")).collect();
    assert_eq!(served.get("/").1, 5);
    assert!(!ended.recv_timeout(PATIENCE).unwrap(), "the reading of a reply that was cut ends");
    assert!(rest(&mut slow[0]).1 < LONG);
    assert_eq!(rest(&mut slow[5]).1, LONG, "the newest ones are kept");
}

#[test]
fn a_content_is_read_no_faster_than_it_is_taken() {
    let (served, read, ended) = long_and_short(PATIENT);
    let slow = served.ask("GET", "/long");
    drop(slow);
    assert!(!ended.recv_timeout(PATIENCE).unwrap());
    assert!(read.load(Ordering::SeqCst) < LONG, "{read:?}");
    assert_eq!(served.get("/long").1, LONG);
}

#[test]
fn clients_that_take_too_long_are_cut() {
    let short = Duration::from_millis(20);
    let (served, _, ended) = long_and_short(Limits { reply: short, rate: u64::MAX, ..PATIENT });
    let mut slow = served.ask("GET", "/long");
    assert!(!ended.recv_timeout(PATIENCE).unwrap());
    assert!(rest(&mut slow).1 < LONG);
    let (served, ..) = long_and_short(Limits { head: short, ..PATIENT });
    let mut reply = Vec::new();
    served.connect().read_to_end(&mut reply).unwrap();
    assert!(reply.is_empty(), "{reply:?}");
}

#[test]
fn the_server_ends_although_clients_are_slow_and_a_reply_hangs() {
    let (opened, gate) = channel::<()>();
    let (asked, is_asked) = channel();
    let gate = Mutex::new(gate);
    let asked = Mutex::new(asked);
    let limits = Limits { end: Duration::from_millis(10), ..PATIENT };
    let mut served = Served::start(limits, move |request| match request.target.as_str() {
        "/hangs" => {
            asked.lock().unwrap().send(()).unwrap();
            let _ = gate.lock().unwrap().recv(); // an error at the end of the test
            Answer::not_found("")
        }
        _ => counted(LONG, &Arc::default(), channel().0),
    });
    let mut idle = served.connect();
    let mut slow = served.ask("GET", "/long");
    let mut hangs = served.connect();
    write!(hangs, "GET /hangs HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    is_asked.recv_timeout(PATIENCE).unwrap();
    served.end();
    assert!(rest(&mut slow).1 < LONG);
    for stream in [&mut idle, &mut hangs] {
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        assert!(reply.is_empty(), "{reply:?}");
    }
    drop(opened);
}

#[test]
fn a_content_that_fails_is_an_error_or_incomplete() {
    /// A content of as many pieces as the target states, which is damaged.
    fn damaged(request: &Request) -> Answer {
        let pieces: u64 = request.target.trim_start_matches('/').parse().unwrap();
        let read = move |take: Take<'_>| {
            for _ in 0..pieces {
                take(&[7; PIECE])?;
            }
            Err(Failure::bad_data("it is damaged"))
        };
        let length = pieces * PIECE as u64;
        Answer::streamed("text/plain", Streamed { length, read: Box::new(read) })
    }
    let served = Served::start(PATIENT, damaged);
    for pieces in [0, 1] {
        let (head, length) = served.get(&format!("/{pieces}"));
        assert!(head.contains(" 500 ") && length == 14, "{pieces}: {head} {length}");
    }
    let (head, length) = served.get("/3");
    assert!(head.contains(&format!("Content-Length: {}", 3 * PIECE)), "{head}");
    assert_eq!(length, 2 * PIECE as u64, "the last piece is held back");
    let (head, length) = rest(&mut served.ask("HEAD", "/3"));
    assert!(head.contains(&format!("Content-Length: {}", 3 * PIECE)) && length == 0, "{head}");
}

#[test]
fn a_content_without_bytes_is_a_reply() {
    let served = Served::start(PATIENT, |_| {
        Answer::streamed("text/plain", Streamed { length: 0, read: Box::new(|_| Ok(())) })
    });
    let (head, length) = served.get("/");
    assert!(head.contains(" 200 ") && head.contains("Content-Length: 0") && length == 0, "{head}");
}
