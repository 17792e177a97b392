//! A proxy that makes a server on this machine as slow as one far away: each answer begins late, and a connection has
//! a limited rate. For measurements of several clients against the same server.
//!
//!     slow_proxy TARGET_PORT LATENCY_MS MB_PER_S [BUSY]
//!
//! Of a thousand GET requests, BUSY are answered with 503 SlowDown, evenly spread.
//!
//! Prints its port. For each line on standard input, it prints the requests and the bytes of answers since the last one.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (target, latency, rate, busy) = match words[..] {
        [target, latency, rate] => (target, latency, rate, 0),
        [target, latency, rate, busy] => (target, latency, rate, busy),
        _ => panic!("TARGET_PORT LATENCY_MS MB_PER_S [BUSY]"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", target as u16)) else { continue };
            join(client, server, Duration::from_millis(latency), rate as f64 * 1e6, busy);
        }
    });
    for _ in std::io::stdin().lock().lines() {
        println!("{} {}", REQUESTS.swap(0, Ordering::Relaxed), BYTES.swap(0, Ordering::Relaxed));
    }
}

const BUSY: &[u8] =
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 66\r\n\r\n\
    <Error><Code>SlowDown</Code><Message>Slow down.</Message></Error>\n";

fn join(client: TcpStream, server: TcpStream, latency: Duration, rate: f64, busy: u64) {
    let mut refusals = client.try_clone().unwrap();
    let mut up_from = client.try_clone().unwrap();
    let mut up_to = server.try_clone().unwrap();
    let mut down_from = server;
    let mut down_to = client;
    for stream in [&up_to, &down_to] {
        stream.set_nodelay(true).unwrap();
    }
    // When the answer to the last request may begin; and whether bytes of an answer came since.
    let due = Arc::new(Mutex::new(Instant::now()));
    let answered = Arc::new(AtomicBool::new(true));
    let due_of = due.clone();
    let answered_of = answered.clone();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(read @ 1..) = up_from.read(&mut bytes) {
            if answered_of.swap(false, Ordering::SeqCst) {
                let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
                if bytes.starts_with(b"GET ") && number * 7919 % 1000 < busy {
                    std::thread::sleep(latency);
                    answered_of.store(true, Ordering::SeqCst);
                    if refusals.write_all(BUSY).is_err() {
                        break;
                    }
                    continue;
                }
                *due_of.lock().unwrap() = Instant::now() + latency;
            }
            if up_to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = up_to.shutdown(std::net::Shutdown::Both);
    });
    std::thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        let mut free = Instant::now();
        while let Ok(read @ 1..) = down_from.read(&mut bytes) {
            answered.store(true, Ordering::SeqCst);
            BYTES.fetch_add(read as u64, Ordering::Relaxed);
            let begin = free.max(*due.lock().unwrap());
            std::thread::sleep(begin.saturating_duration_since(Instant::now()));
            free = begin.max(Instant::now()) + Duration::from_secs_f64(read as f64 / rate);
            if down_to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = down_to.shutdown(std::net::Shutdown::Both);
    });
}
