//! `Client`: the other end of a connection, with limits on the time that it takes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits on clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Connections at the same time.
    pub(super) connections: usize,
    /// Time for a client to send the head of its request.
    pub(super) head: Duration,
    /// Time for a client to take a reply, beside that of its bytes at the lowest rate. What the server needs does not
    /// count.
    pub(super) reply: Duration,
    /// The lowest rate in bytes a second at which a client takes a long reply.
    pub(super) rate: u64,
    /// Time for the threads to end after the stop. Later ones end with the process.
    pub(super) end: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 32,
            head: Duration::from_secs(10),
            reply: Duration::from_secs(30),
            rate: 50_000,
            end: Duration::from_millis(500),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// True while the server waits for the client.
    waits: AtomicBool,
}

impl Connection {
    /// A connection that was accepted.
    pub(super) fn new(stream: TcpStream) -> Connection {
        Connection { stream, waits: AtomicBool::new(true) }
    }

    /// Returns true while the server waits for the client.
    pub(super) fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// Ends all waits for the client.
    pub(super) fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both); // it may be closed already
    }
}

/// The client of a connection.
#[derive(Debug)]
pub(super) struct Client<'a> {
    connection: &'a Connection,
    limits: Limits,
    /// How long the client may still take for the reply.
    left: Duration,
}

impl Client<'_> {
    /// The client of a connection that has just been accepted.
    pub(super) fn new(connection: &Connection, limits: Limits) -> Client<'_> {
        Client { connection, limits, left: limits.reply }
    }

    /// Returns the time until which the client must have sent the head of its request.
    pub(super) fn head_until(&self) -> Instant {
        Instant::now() + self.limits.head
    }

    /// Reads what the client has sent.
    ///
    /// # Errors
    /// Returns an error if the client left or sent nothing until then.
    pub(super) fn read(&self, into: &mut [u8], until: Instant) -> io::Result<usize> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut stream = &self.connection.stream;
        stream.set_read_timeout(Some(left))?;
        match self.waiting(|| stream.read(into))? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => Ok(length),
        }
    }

    /// Begins a reply of this many bytes.
    pub(super) fn begin(&mut self, length: u64) {
        self.left = self.limits.reply + Duration::from_secs(length / self.limits.rate.max(1));
    }

    /// Writes a piece of the reply.
    ///
    /// # Errors
    /// Returns an error if the client left or takes the reply too slowly.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        let mut stream = &self.connection.stream;
        while !rest.is_empty() {
            if self.left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // One write waits no longer than this, even if the client takes bytes meanwhile.
            stream.set_write_timeout(Some(self.left))?;
            let begun = Instant::now();
            let written = self.waiting(|| stream.write(rest));
            self.left = self.left.saturating_sub(begun.elapsed());
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => rest = &rest[length..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.connection.waits.store(true, Ordering::Relaxed);
        let found = wait();
        self.connection.waits.store(false, Ordering::Relaxed);
        found
    }
}
