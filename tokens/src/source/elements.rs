//! `Elements`: the objects of a file that is one list of JSON, each of bounded length. Holds one of them.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use super::documents::{DocumentFault, LONGEST};
use super::unpack;

/// The mark that some programs put before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The elements of a list, which may be compressed.
pub(super) struct Elements {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    element: Vec<u8>,
    /// The number of the next element, from 0.
    number: u64,
    /// The byte of the decompressed text at which the last element begins, and the one that is next.
    begin: u64,
    at: u64,
    is_over: bool,
}

/// Where a scan is in an element.
#[derive(Default)]
struct Inside {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Inside {
    /// Passes a byte. Returns true if the element ends before it.
    fn ends_at(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => self.depth -= 1,
            b',' | b']' if self.depth == 0 => return true,
            _ => {}
        }
        false
    }
}

impl Elements {
    /// Opens the file at `path`; `None` if it does not begin with `[`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn open(path: &Path) -> Result<Option<Elements>, Failure> {
        let mut reader = unpack::open(path)?;
        let first = reader.fill_buf().map_err(|e| unpack::refused(e, path))?;
        let begin = if first.starts_with(MARK) { MARK.len() } else { 0 };
        let blank = first[begin..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if first.get(begin + blank) != Some(&b'[') {
            return Ok(None);
        }
        let used = begin + blank + 1;
        reader.consume(used);
        Ok(Some(Elements {
            path: path.into(),
            reader,
            element: Vec::new(),
            number: 0,
            begin: 0,
            at: used as u64,
            is_over: false,
        }))
    }

    /// Returns the next element; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the list does not end, if an element is too long, or if the operating system refuses.
    pub(super) fn advance(&mut self) -> Result<Option<&[u8]>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        self.element.clear();
        self.begin = self.at;
        let mut inside = Inside::default();
        loop {
            let piece = self.reader.fill_buf().map_err(|e| unpack::refused(e, &self.path))?;
            if piece.is_empty() {
                return Err(self.broken("the file ends inside of its list"));
            }
            let found = piece.iter().position(|&byte| inside.ends_at(byte));
            let own = &piece[..found.unwrap_or(piece.len())];
            self.element.extend_from_slice(own);
            let end = found.map(|at| piece[at]);
            let used = own.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.at += used as u64;
            if self.element.len() > LONGEST {
                return Err(self.broken(format!(
                    "the element has more than {LONGEST} bytes; split the document"
                )));
            }
            if let Some(end) = end {
                return self.ended(end);
            }
        }
    }

    /// Returns the element before a comma or the end of the list.
    fn ended(&mut self, end: u8) -> Result<Option<&[u8]>, Failure> {
        self.is_over = end == b']';
        if self.is_over {
            self.check_end()?;
        }
        if self.element.iter().all(u8::is_ascii_whitespace) {
            if self.is_over && self.number == 0 {
                return Ok(None);
            }
            return Err(self.broken("expected an element"));
        }
        self.number += 1;
        Ok(Some(&self.element))
    }

    /// Checks that nothing follows the list.
    fn check_end(&mut self) -> Result<(), Failure> {
        loop {
            let piece = self.reader.fill_buf().map_err(|e| unpack::refused(e, &self.path))?;
            if piece.is_empty() {
                return Ok(());
            }
            if !piece.iter().all(u8::is_ascii_whitespace) {
                return Err(self.broken(
                    "text follows the list; a file is one list, or one object in each line",
                ));
            }
            let used = piece.len();
            self.reader.consume(used);
        }
    }

    /// Returns the failure of a list behind which nothing can be read.
    fn broken(&self, why: impl Into<Message>) -> Failure {
        let DocumentFault { place, reason } = self.told(self.number, why.into());
        Failure::bad_data(reason).with_place(place)
    }

    /// Returns what is wrong with the last element, with its place.
    pub(super) fn fault(&self, reason: Message) -> DocumentFault {
        self.told(self.number.saturating_sub(1), reason)
    }

    fn told(&self, number: u64, reason: Message) -> DocumentFault {
        let told = message!("{path}: element {number} (byte {}): {reason}", self.begin; path = &self.path, reason = reason);
        let place = Place { path: Some(self.path.clone()), byte: Some(self.begin), key: None };
        DocumentFault { place, reason: told }
    }
}
