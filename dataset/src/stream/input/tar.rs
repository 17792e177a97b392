//! `Tar`: the members of a tar that is read in order, each with its data, up to the end marker, or to the
//! last one of tars that were joined.
//!
//! Never seeks. Uses one window of memory, whatever sizes the headers declare. Knows nothing of samples.

use tarflume_formats::message;
use tarflume_formats::tar::{BLOCK, Event, Member, Walk, behind_end};
use tarflume_types::{Error, Result};

use crate::stream::packed::unpack::Unpack;

/// Size of the window in bytes. Longer parts are read directly into the caller's buffer.
const WINDOW: usize = 64 * 1024;

/// A tar, read from its first byte to its last.
pub(in crate::stream) struct Tar {
    bytes: Unpack,
    walk: Walk,
    window: Vec<u8>,
    /// The range of the window that was read but not yet taken.
    start: usize,
    end: usize,
    /// Byte of the tar at `start`.
    at: u64,
    /// Byte of the end marker, once it is found.
    marker: Option<u64>,
    /// Reads on behind end markers.
    ignore_zeros: bool,
}

impl Tar {
    /// The tar in `bytes`. With `ignore_zeros`, the tars that are joined there.
    pub(in crate::stream) fn new(bytes: Unpack, ignore_zeros: bool) -> Tar {
        Tar {
            bytes,
            walk: Walk::new().ignoring_zeros(if ignore_zeros { u64::MAX } else { 0 }),
            window: vec![0; WINDOW],
            start: 0,
            end: 0,
            at: 0,
            marker: None,
            ignore_zeros,
        }
    }

    /// The next member of any kind. Skips the rest of the previous member's data. `None` at the end
    /// marker; with `ignore_zeros`, at the end of the data.
    ///
    /// # Errors
    /// As [`Walk::step`]. Returns an error if a read fails.
    pub(in crate::stream) fn next_member(&mut self) -> Result<Option<Member>> {
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
                Some(Event::End { offset }) => {
                    self.marker = Some(offset);
                    if self.ignore_zeros && self.pass_zeros()? {
                        self.marker = None;
                        self.walk.read_on(self.at);
                    }
                }
                None => {}
            }
        }
    }

    /// Fills `into` with the data of `member`, which must be the last one returned. Can be called once
    /// for each member.
    ///
    /// # Errors
    /// Returns an error if the tar ends inside the member or a read fails.
    pub(in crate::stream) fn data(&mut self, member: &Member, into: &mut [u8]) -> Result<()> {
        if !self.pass_to(member.data)? {
            return Err(self.placed(self.walk.eof(self.at).into()));
        }
        let mut done = 0;
        while done < into.len() {
            // A large read bypasses the empty window and saves a copy.
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

    /// Reads from the end marker to the end of the data, so that a packed file's checksum is verified and a
    /// second, appended tar is detected.
    ///
    /// # Errors
    /// Returns an error if anything but zeros follows the end marker, if the packed data is truncated or
    /// damaged, or if a read fails.
    pub(in crate::stream) fn finish(&mut self) -> Result<()> {
        if !self.pass_zeros()? {
            return Ok(());
        }
        let block = &self.window[self.start..self.end];
        let zeros = block.iter().take_while(|&&byte| byte == 0).count() as u64;
        let error = behind_end(self.marker.unwrap_or(self.at), self.at + zeros, block);
        Err(self.placed(error.into()))
    }

    /// Skips blocks of zeros. True if another block follows; it begins at `at` and is in the window.
    ///
    /// # Errors
    /// Returns an error if the packed data is truncated or damaged, or if a read fails.
    fn pass_zeros(&mut self) -> Result<bool> {
        loop {
            self.load(BLOCK as usize)?;
            let have = self.end - self.start;
            // Whole blocks alone, so that `at` stays at the start of a block; a part of one ends the data.
            let whole = if have < BLOCK as usize { have } else { have - have % BLOCK as usize };
            let zeros = self.window[self.start..self.start + whole].iter();
            match zeros.take_while(|&&byte| byte == 0).count() {
                0 if whole == 0 => return Ok(false),
                zeros if zeros == whole => self.take(whole),
                zeros => {
                    self.take(zeros - zeros % BLOCK as usize);
                    self.load(BLOCK as usize)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Adds to an error in a packed tar that its byte is counted in the unpacked tar.
    fn placed(&self, error: Error) -> Error {
        if !self.bytes.is_packed() {
            return error;
        }
        let text = message!(
            "{told} (the byte is counted in the unpacked tar)";
            told = error.message()
        );
        let mut placed = Error::new(error.kind(), text);
        if let Some(byte) = error.place().byte {
            placed = placed.with_byte(byte);
        }
        match &error.place().key {
            Some(key) => placed.with_key(key.clone()),
            None => placed,
        }
    }

    /// Skips to byte `offset` of the tar. False if the tar ends before it.
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

    /// Reads until the window holds `length` bytes, or the tar ends.
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

    /// Refills the empty window. False at the end.
    fn fill(&mut self) -> Result<bool> {
        (self.start, self.end) = (0, 0);
        self.end = self.bytes.read(&mut self.window)?;
        Ok(self.end > 0)
    }

    /// Consumes `bytes` of the window.
    fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.at += bytes as u64;
    }
}
