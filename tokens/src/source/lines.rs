//! `Lines`: the lines of a file, each of bounded length, with its number and its first byte.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use super::documents::{DocumentFault, LONGEST, Next};
use super::unpack;

/// The mark that some programs put before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What [`Lines::advance`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advance {
    /// A line.
    Line,
    /// A line of more than [`LONGEST`] bytes, which is passed.
    Long,
    /// The end of the file.
    End,
}

/// The lines of a file, which may be compressed.
pub(super) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    /// The number of the last line, from 1.
    number: u64,
    /// The byte of the decompressed text at which the last line begins, and at which it ends.
    begin: u64,
    end: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Lines, Failure> {
        let reader = unpack::open(path)?;
        let path = path.to_path_buf();
        Ok(Lines { path, reader, line: Vec::new(), number: 0, begin: 0, end: 0 })
    }

    /// Reads the next line, without its end.
    pub(super) fn advance(&mut self) -> Result<Advance, Failure> {
        self.line.clear();
        self.begin = self.end;
        let mut fits = true;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(unpack::refused(e, &self.path)),
            };
            if piece.is_empty() && self.end == self.begin {
                return Ok(Advance::End);
            }
            let found = memchr::memchr(b'\n', piece);
            let own = &piece[..found.unwrap_or(piece.len())];
            fits &= self.line.len() + own.len() <= LONGEST;
            if fits {
                self.line.extend_from_slice(own);
            }
            let over = found.is_some() || piece.is_empty();
            let used = own.len() + usize::from(found.is_some());
            self.reader.consume(used);
            self.end += used as u64;
            if over {
                break;
            }
        }
        self.number += 1;
        if !fits {
            return Ok(Advance::Long);
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.number == 1 && self.line.starts_with(MARK) {
            self.line.drain(..MARK.len());
        }
        Ok(Advance::Line)
    }

    /// Returns the line.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns the line as text, or why it is none.
    pub(super) fn text(&self) -> Result<&str, DocumentFault> {
        std::str::from_utf8(&self.line).map_err(|e| {
            let at = e.valid_up_to();
            self.fault(message!("not UTF-8 at byte {at} of the line; convert the file to UTF-8"))
        })
    }

    /// Returns what is wrong with the line, with its place.
    pub(super) fn fault(&self, reason: impl Into<Message>) -> DocumentFault {
        let told = message!("{path}: line {} (byte {}): {reason}", self.number, self.begin; path = &self.path, reason = reason);
        let place = Place { path: Some(self.path.clone()), byte: Some(self.begin), key: None };
        DocumentFault { place, reason: told }
    }

    /// Returns the fault of a line that is too long.
    pub(super) fn too_long(&self) -> Next {
        let reason = message!("the line has more than {LONGEST} bytes; split the document");
        Next::Bad(self.fault(reason))
    }
}
