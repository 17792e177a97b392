//! The server of `pack view --serve`: pages through all samples of a data set, with exact filters.
//!
//! A few threads answer one request for each connection. A request names a sample by its ordinal and a part by its
//! extension, never a path. Nothing can be changed through it.

mod answer;
mod filter;
mod http;
mod routes;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tarflume_formats::IgnorePoison;
use tarflume_packer::{Failure, Stop};

pub(crate) use self::routes::Site;

/// Threads that answer.
const THREADS: usize = 8;
/// Connections that wait for a thread; later ones wait in the listener.
const WAITING: usize = 64;
/// Nanoseconds between looks at the stop.
const PAUSE: i64 = 200_000_000;

/// Answers requests until `stop` is requested.
///
/// # Errors
/// Returns an error if the operating system starts no thread or does not accept connections.
pub(crate) fn serve(listener: &TcpListener, site: &Site, stop: &Stop) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::try_again(format!("cannot accept connections: {e}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let (sender, receiver) = sync_channel::<TcpStream>(WAITING);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let started =
                thread::Builder::new().spawn_scoped(scope, || answer_all(&receiver, site));
            started.map_err(|e| Failure::try_again(format!("cannot start a thread: {e}")))?;
        }
        let sender = sender; // dropped at the end: the threads end
        while !stop.requested() {
            match listener.accept() {
                Ok((stream, _)) => {
                    if sender.send(stream).is_err() {
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(listener),
                Err(e) if is_passing(&e) => thread::sleep(std::time::Duration::from_millis(50)),
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(())
    })
}

/// A peer that left, a signal, or too few descriptors for the moment.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::ConnectionAborted | K::ConnectionReset | K::Interrupted)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

fn wait(listener: &TcpListener) {
    let mut waits = [PollFd::new(listener, PollFlags::IN)];
    let pause = Timespec { tv_sec: 0, tv_nsec: PAUSE };
    let _ = poll(&mut waits, Some(&pause)); // a signal ends it early, as it should
}

fn answer_all(receiver: &Mutex<Receiver<TcpStream>>, site: &Site) {
    loop {
        let next = receiver.lock().ignore_poison().recv();
        let Ok(stream) = next else { return };
        // A peer that left is no trouble of the server.
        let _ = http::answer(&stream, |request| routes::route(site, request));
    }
}
