//! `Raw`: the bytes of one shard in order, from a file, a pipe, a socket, a store or a user's `Read`.
//!
//! Does not interpret them. Sources that can block are polled with a short timeout, so that dropping the stream
//! does not wait. Only a user's `Read` cannot be interrupted.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, OFlags, fadvise};
use tarflume_formats::files::{self, Patient};
use tarflume_types::{Error, ErrorKind};

#[cfg(feature = "remote")]
use crate::remote::sequential::SequentialReader;

/// Timeout of a poll, after which the cancellation flag is checked.
const TURN: Duration = Duration::from_millis(20);

/// The source of the bytes.
pub(super) enum Origin {
    /// A regular file, which never blocks indefinitely.
    File(File),
    /// A pipe, a socket or a terminal.
    Waiting(File),
    /// An object in a store.
    #[cfg(feature = "remote")]
    Object(Box<SequentialReader>),
    /// A user's reader.
    Read(Box<dyn Read + Send>),
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Origin")
    }
}

impl Origin {
    /// Opens `path`. Opening a named pipe does not wait for its writer; the reads do.
    pub(super) fn open(path: &Path) -> io::Result<Origin> {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        Origin::of(files::patiently(|| {
            OpenOptions::new().read(true).custom_flags(nonblocking).open(path)
        })?)
    }

    /// Uses a descriptor that was opened elsewhere.
    pub(super) fn from_fd(fd: OwnedFd) -> io::Result<Origin> {
        Origin::of(File::from(fd))
    }

    fn of(file: File) -> io::Result<Origin> {
        let kind = files::patiently(|| file.metadata())?.file_type();
        if kind.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if kind.is_file() {
            // A hint: if refused, reading works as before.
            let _ = fadvise(&file, 0, None, Advice::Sequential);
            return Ok(Origin::File(file));
        }
        Ok(Origin::Waiting(file))
    }

    /// True if a read ends soon after the stream is dropped.
    pub(super) fn is_interruptible(&self) -> bool {
        !matches!(self, Origin::Read(_))
    }

    fn is_object(&self) -> bool {
        #[cfg(feature = "remote")]
        return matches!(self, Origin::Object(_));
        #[cfg(not(feature = "remote"))]
        false
    }
}

/// Bytes in order, counted.
pub(super) struct RawReader {
    origin: Origin,
    cancelled: Arc<AtomicBool>,
    at: u64,
}

impl RawReader {
    /// Reads from `origin` until its end or until `cancelled` is set.
    pub(super) fn new(origin: Origin, cancelled: Arc<AtomicBool>) -> RawReader {
        RawReader { origin, cancelled, at: 0 }
    }

    /// Number of bytes read.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    fn read_once(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        loop {
            if self.cancelled.load(Ordering::Acquire) {
                return Err(Error::new(ErrorKind::Io, "the stream was dropped"));
            }
            let read = match &mut self.origin {
                Origin::File(file) => Patient(file).read(into),
                Origin::Waiting(file) => match is_ready(file) {
                    Ok(true) => file.read(into),
                    Ok(false) => continue,
                    Err(e) => Err(e),
                },
                #[cfg(feature = "remote")]
                Origin::Object(object) => match object.read(into, TURN)? {
                    Some(bytes) => Ok(bytes),
                    None => continue,
                },
                Origin::Read(read) => read_guarded(read.as_mut(), into)?,
            };
            match read {
                Ok(bytes) => return Ok(bytes),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if self.again(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let text = "this Read returned WouldBlock; pass a blocking one, or the descriptor \
                                itself";
                    return Err(Error::usage(text).with_source(e));
                }
                Err(e) => return Err(Error::new(ErrorKind::Io, "cannot read").with_source(e)),
            }
        }
    }

    /// True if the descriptor is non-blocking and must be polled again.
    fn again(&self, error: &io::Error) -> bool {
        matches!(self.origin, Origin::Waiting(_)) && error.kind() == io::ErrorKind::WouldBlock
    }
}

impl Read for RawReader {
    /// Its errors are those of this crate, inside errors of the standard library: `io::Error::downcast` returns them
    /// behind every decompressor.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.read_once(into) {
            Ok(bytes) => {
                self.at += bytes as u64;
                Ok(bytes)
            }
            Err(error) => {
                // At the start of an object it is about the whole: it is missing, or refused.
                let is_whole = self.at == 0 && self.origin.is_object();
                Err(io::Error::other(if is_whole { error } else { error.with_byte(self.at) }))
            }
        }
    }
}

/// True if a read would not block: bytes are available, or the end is reached.
fn is_ready(file: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: i64::from(TURN.subsec_nanos()) })) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Calls a user's `Read`, which may panic or return an invalid length.
fn read_guarded(read: &mut dyn Read, into: &mut [u8]) -> Result<io::Result<usize>, Error> {
    let room = into.len();
    match catch_unwind(AssertUnwindSafe(|| read.read(into))) {
        Ok(Ok(bytes)) if bytes > room => {
            let text = format!("the Read returned {bytes} bytes for a buffer of {room}");
            Err(Error::new(ErrorKind::Io, text))
        }
        Ok(result) => Ok(result),
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = format!("the Read panicked: {}", words.unwrap_or_default());
            Err(Error::new(ErrorKind::Panicked, text.replace('\n', " ")))
        }
    }
}
