//! `Tar`: members of a tar that arrives in order, each with its data, up to the end marker.
//!
//! Never seeks; its memory is one window, whatever sizes the headers claim. It knows nothing of
//! samples.

use tarflume_formats::tar::{Event, Member, Walk};

use super::unpack::Unpack;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of the window. Parts longer than that are read past it, straight to where they belong.
const WINDOW: usize = 64 * 1024;

/// A tar, read from its first byte to its last.
pub(super) struct Tar {
    bytes: Unpack,
    walk: Walk,
    window: Vec<u8>,
    /// The part of the window that was read and not yet taken.
    start: usize,
    end: usize,
    /// Byte of the tar that stands at `start`.
    at: u64,
    /// Where the end marker begins, once it was found.
    marker: Option<u64>,
}

impl Tar {
    /// The tar in `bytes`.
    pub(super) fn new(bytes: Unpack) -> Tar {
        let window = vec![0; WINDOW];
        Tar { bytes, walk: Walk::new(), window, start: 0, end: 0, at: 0, marker: None }
    }

    /// The next member, of whatever kind; what of the last one's data was not taken is passed over.
    /// `None` at the end marker.
    ///
    /// # Errors
    /// What [`Walk::step`] finds wrong; a failed read.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>> {
        loop {
            if self.marker.is_some() {
                return Ok(None);
            }
            let (offset, length) = self.walk.want();
            if !self.pass_to(offset)? {
                return Err(self.placed(self.walk.eof(self.at).into()));
            }
            self.load(length)?;
            let step = self.walk.step(&self.window[self.start..self.end]);
            match step.map_err(|e| self.placed(e.into()))? {
                Some(Event::Member(member)) => return Ok(Some(member)),
                Some(Event::End { offset }) => self.marker = Some(offset),
                None => {}
            }
        }
    }

    /// Fills `into` with the data of `member`, which must be the one that was found last. It is read
    /// once.
    ///
    /// # Errors
    /// The tar ends inside the member; a failed read.
    pub(super) fn data(&mut self, member: &Member, into: &mut [u8]) -> Result<()> {
        if !self.pass_to(member.data)? {
            return Err(self.placed(self.walk.eof(self.at).into()));
        }
        let mut done = 0;
        while done < into.len() {
            if self.start == self.end && into.len() - done >= WINDOW {
                let bytes = self.bytes.read(&mut into[done..])?;
                self.at += bytes as u64;
                done += bytes;
                if bytes == 0 {
                    return Err(self.placed(self.walk.eof(self.at).into()));
                }
                continue;
            }
            if self.start == self.end && !self.fill()? {
                return Err(self.placed(self.walk.eof(self.at).into()));
            }
            let bytes = (self.end - self.start).min(into.len() - done);
            into[done..done + bytes].copy_from_slice(&self.window[self.start..self.start + bytes]);
            self.take(bytes);
            done += bytes;
        }
        Ok(())
    }

    /// Reads from the end marker to the end of everything, so that a packed file's own checksum is
    /// looked at and a second tar behind the first does not get lost.
    ///
    /// # Errors
    /// More than zeros follows the end marker; the packed data is cut or damaged; a failed read.
    pub(super) fn finish(&mut self) -> Result<()> {
        loop {
            if self.window[self.start..self.end].iter().any(|&byte| byte != 0) {
                let text = "the end marker stands here, but more than zeros follows it, which no \
                            reader of shards reads: if tars were joined, keep them apart";
                let error =
                    Error::new(ErrorKind::Damaged, text).with_byte(self.marker.unwrap_or(self.at));
                return Err(self.placed(error));
            }
            self.take(self.end - self.start);
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Says of an error in a packed tar that its byte is not the file's.
    fn placed(&self, error: Error) -> Error {
        if !self.bytes.is_packed() {
            return error;
        }
        let text = format!("{} (the byte is counted in the unpacked tar)", error.text());
        let mut placed = Error::new(error.kind(), text);
        if let Some(byte) = error.place().byte {
            placed = placed.with_byte(byte);
        }
        match &error.place().key {
            Some(key) => placed.with_key(key.clone()),
            None => placed,
        }
    }

    /// Reads up to byte `offset` of the tar; false if it ends before.
    fn pass_to(&mut self, offset: u64) -> Result<bool> {
        while self.at < offset {
            if self.start == self.end && !self.fill()? {
                return Ok(false);
            }
            let have = (self.end - self.start) as u64;
            self.take(have.min(offset - self.at) as usize);
        }
        Ok(true)
    }

    /// Brings `length` bytes into the window, or as many as there are.
    fn load(&mut self, length: usize) -> Result<()> {
        while self.end - self.start < length {
            if self.start > 0 {
                self.window.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.window.len() < length {
                self.window.resize(length, 0);
            }
            let bytes = self.bytes.read(&mut self.window[self.end..])?;
            if bytes == 0 {
                return Ok(());
            }
            self.end += bytes;
        }
        Ok(())
    }

    /// Reads into the empty window; false at the end.
    fn fill(&mut self) -> Result<bool> {
        (self.start, self.end) = (0, 0);
        self.end = self.bytes.read(&mut self.window)?;
        Ok(self.end > 0)
    }

    fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.at += bytes as u64;
    }
}
