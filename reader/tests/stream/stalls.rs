//! Streams that block, panic or are dropped: no hang and no silent loss.

use std::io::{self, Cursor, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use tarflume::internal::Next;
use tarflume::{ErrorKind, Stream};
use tarflume_fixtures::{TarBytes, good_shard};

use crate::patience::{PATIENCE, ends};

/// Their writers never end, so a drop that waits for them hangs.
#[test]
fn a_stalled_pipe_and_socket_and_fifo_are_dropped() {
    let (pipe, mut pipe_writer) = io::pipe().unwrap();
    let (socket, mut socket_writer) = UnixStream::pair().unwrap();
    let (open, mut open_writer) = UnixStream::pair().unwrap();
    open.set_nonblocking(true).unwrap();
    // One whole sample, and the next one's header: then nothing more.
    let begun = &good_shard()[..2600];
    pipe_writer.write_all(begun).unwrap();
    socket_writer.write_all(begun).unwrap();
    open_writer.write_all(begun).unwrap();
    for stream in [
        Stream::from_fd("pipe", pipe).unwrap(),
        Stream::from_fd("socket", socket).unwrap(),
        Stream::from_fd("socket that does not wait", open).unwrap(),
    ] {
        let mut samples = stream.samples(0).unwrap();
        samples.next().unwrap().unwrap();
        ends(&format!("dropping {stream:?}"), move || drop(samples));
    }
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("a.tar");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let samples = Stream::open(fifo.to_str().unwrap()).unwrap().samples(0).unwrap();
    ends("dropping a named pipe that nobody writes to", move || drop(samples));
}

#[test]
fn a_named_pipe_waits_for_its_writer_and_gives_all() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("a.tar");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let samples = Stream::open(fifo.to_str().unwrap()).unwrap().samples(0).unwrap();
    let writer = std::thread::spawn(move || std::fs::write(fifo, good_shard()).unwrap());
    assert_eq!(samples.filter(|s| s.is_ok()).count(), 3);
    writer.join().unwrap();
}

/// A `Read` that does something odd at byte `at`.
struct Odd<F>(Cursor<Vec<u8>>, usize, F);

impl<F: FnMut(&mut [u8]) -> io::Result<usize>> Read for Odd<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.1 - self.0.position() as usize;
        if left == 0 {
            return (self.2)(into);
        }
        let most = left.min(into.len());
        self.0.read(&mut into[..most])
    }
}

fn odd(act: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static) -> Stream {
    Stream::from_reader("odd", Odd(Cursor::new(good_shard()), 2600, act))
}

#[test]
fn a_read_that_panics_fails_or_lies_is_an_error_with_its_byte() {
    let cases = [
        (odd(|_| panic!("of\nmine")), ErrorKind::Panicked, "the Read panicked: of mine"),
        (odd(|_| Err(io::Error::other("gone"))), ErrorKind::Machine, "cannot read"),
        (odd(|into| Ok(into.len() + 1)), ErrorKind::Io, "the Read returned"),
        (odd(|_| Err(io::ErrorKind::WouldBlock.into())), ErrorKind::Usage, "WouldBlock"),
        (odd(|_| Ok(0)), ErrorKind::Truncated, "ends inside this member"),
    ];
    for (stream, kind, words) in cases {
        let items: Vec<_> = stream.samples(0).unwrap().collect();
        assert_eq!(items.len(), 2, "{words}");
        assert_eq!(items[0].as_ref().unwrap().key(), b"s0");
        let error = items[1].as_ref().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.text().contains(words), "{error}");
        assert_eq!(error.place().path.as_deref(), Some("odd".as_ref()));
        assert!(error.place().byte.is_some_and(|byte| byte <= 2600), "{error}");
        assert!(error.place().key.as_deref().unwrap().starts_with("s1"), "{error}");
    }
}

#[test]
fn a_read_that_never_returns_does_not_hold_the_drop() {
    let (let_go, wait) = mpsc::channel::<()>();
    let stream = odd(move |_| wait.recv().map_or(Ok(0), |()| Ok(0)));
    let mut samples = stream.samples(0).unwrap();
    samples.next().unwrap().unwrap();
    ends("dropping the samples", move || drop(samples));
    drop(let_go);
}

#[test]
fn a_nonblocking_caller_is_notified() {
    let mut tar = TarBytes::new();
    for i in 0..500 {
        tar.sample(&format!("{i:03}"), 1);
    }
    let calls = Arc::new(AtomicU64::new(0));
    let (ring, heard) = mpsc::channel();
    let counted = Arc::clone(&calls);
    let notify = Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = ring.send(());
    });
    let stream = Stream::from_reader("notified", Cursor::new(tar.ended()));
    let mut samples = stream.samples_with_notify(0, notify).unwrap();
    let mut keys = Vec::new();
    loop {
        match samples.try_next() {
            Next::Ready(sample) => keys.push(sample.unwrap().key().to_vec()),
            Next::NotYet => heard.recv_timeout(PATIENCE).unwrap(),
            Next::End => break,
        }
    }
    assert_eq!(keys.len(), 500);
    assert!(matches!(samples.try_next(), Next::End));
    assert_eq!(calls.load(Ordering::SeqCst), 501);
}

#[test]
fn a_notification_callback_that_panics_does_not_stop_the_stream() {
    let stream = Stream::from_reader("notified", Cursor::new(good_shard()));
    let samples = stream.samples_with_notify(0, Arc::new(|| panic!("the callback"))).unwrap();
    assert_eq!(samples.filter(|s| s.is_ok()).count(), 3);
}
