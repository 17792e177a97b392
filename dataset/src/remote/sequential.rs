//! `SequentialReader`: the bytes of one object from front to back, in ranges that are asked for ahead.
//!
//! Never blocks longer than its caller allows: answers come through channels.

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use tarflume_formats::url::is_url;
use tarflume_store::{Bytes, Object, Store};
use tarflume_types::{Error, ErrorKind, Result};

use crate::remote::place::of_store;

/// Bytes of a range. One connection brings some 90 MB a second and answers after some 30 ms: a range of this
/// size takes longer to transfer than to begin.
const RANGE: u64 = 4 << 20;
/// Ranges in memory: those that are on their way, and the one that is read. 32 MiB together, which
/// is what 1 GB a second needs for 30 ms.
const MOST_RANGES: u64 = 8;

/// An answer of the store.
type Answer<T> = Receiver<tarflume_store::Result<T>>;

/// A tar in a store, which can be opened in every epoch. Clones share the store.
#[derive(Clone)]
pub(crate) struct RemoteTar {
    store: Store,
    name: String,
    ranges: usize,
}

impl fmt::Debug for RemoteTar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteTar").field(&self.url()).finish()
    }
}

impl RemoteTar {
    /// `readahead` limits the bytes of ranges in memory; at least one is.
    pub(crate) fn new(store: Store, name: String, readahead: u64) -> RemoteTar {
        let ranges = (readahead / RANGE).clamp(1, MOST_RANGES) as usize;
        RemoteTar { store, name, ranges }
    }

    /// The URL, without its query.
    pub(crate) fn url(&self) -> String {
        self.store.place(&self.name)
    }

    /// True if this program can write beside it.
    pub(crate) fn is_writable(&self) -> bool {
        let url = self.store.url();
        ["http://", "https://", "hf://"].iter().all(|scheme| !url.starts_with(scheme))
            && is_url(url)
    }

    /// Asks for the object's state of now. The reader waits for the answer.
    ///
    /// # Errors
    /// Returns an error in a forked child of a process that used a store.
    pub(crate) fn open(&self) -> Result<SequentialReader> {
        let (sender, opening) = channel();
        let sent = self.store.begin_object(&self.name, move |answer| {
            let _ = sender.send(answer); // the reader may be gone
        });
        sent.map_err(|e| of_store(&e))?;
        let asked = VecDeque::with_capacity(self.ranges);
        let piece = Bytes::new();
        let state = Opening::Asked(opening);
        Ok(SequentialReader { url: self.url(), state, next: 0, asked, piece, ranges: self.ranges })
    }
}

enum Opening {
    Asked(Answer<Object>),
    Open(Object),
}

/// Reads one object, pinned to the state in which it was opened.
pub(crate) struct SequentialReader {
    url: String,
    state: Opening,
    /// The first byte that was not asked for.
    next: u64,
    /// Ranges in order.
    asked: VecDeque<Answer<Bytes>>,
    /// The rest of the range that is read.
    piece: Bytes,
    ranges: usize,
}

impl fmt::Debug for SequentialReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequentialReader")
            .field("url", &self.url)
            .field("next", &self.next)
            .finish()
    }
}

impl SequentialReader {
    /// Fills the beginning of `into` and returns its length, 0 at the end; `None` if no byte has
    /// arrived within `patience`.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`] if the object has another state now; the errors of the store.
    pub(crate) fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<Option<usize>> {
        while self.piece.is_empty() {
            if !self.is_open(patience)? {
                return Ok(None);
            }
            self.ask()?;
            let Some(first) = self.asked.front() else { return Ok(Some(0)) };
            let Some(piece) = received(first, patience, &self.url)? else { return Ok(None) };
            self.asked.pop_front();
            self.piece = piece;
        }
        let bytes = self.piece.len().min(into.len());
        into[..bytes].copy_from_slice(&self.piece.split_to(bytes));
        if self.piece.is_empty() {
            self.piece = Bytes::new(); // gives back the memory of the range
            self.ask()?;
        }
        Ok(Some(bytes))
    }

    /// True if the state of the object is known.
    fn is_open(&mut self, patience: Duration) -> Result<bool> {
        let Opening::Asked(answer) = &self.state else { return Ok(true) };
        let Some(object) = received(answer, patience, &self.url)? else { return Ok(false) };
        self.state = Opening::Open(object);
        Ok(true)
    }

    /// Asks for as many ranges as may be in memory. The one that was read must be empty.
    fn ask(&mut self) -> Result<()> {
        let Opening::Open(object) = &self.state else { return Ok(()) };
        while self.asked.len() < self.ranges && self.next < object.length() {
            let length = RANGE.min(object.length() - self.next);
            let (sender, answer) = channel();
            let sent = object.begin(self.next, length, move |bytes| {
                let _ = sender.send(bytes); // the reader may be gone
            });
            sent.map_err(|e| of_store(&e))?;
            self.next += length;
            self.asked.push_back(answer);
        }
        Ok(())
    }
}

/// Waits for an answer; `None` if there is none yet.
fn received<T>(answer: &Answer<T>, patience: Duration, url: &str) -> Result<Option<T>> {
    match answer.recv_timeout(patience) {
        Ok(answer) => answer.map(Some).map_err(|e| of_store(&e)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            let text = "the threads of the store have ended without an answer";
            Err(Error::new(ErrorKind::Machine, text).with_path(url))
        }
    }
}
