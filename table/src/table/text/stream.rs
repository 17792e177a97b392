//! The text of a table: decompressed, without byte order mark, with a limit on the bytes of a row.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tarflume_base::Failure;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::frames::LargeWindow;
use tarflume_formats::panics::GuardedRead;

use crate::gzip::{GzipMembers, ZstdFrames};
use crate::table::MAX_ROW;
use crate::table::encoding::{Converted, TextEncoding};
use crate::table::options::TableOptions;

/// Bytes of a file that are read at a time.
const BUFFER: usize = 256 << 10;

/// A table's text.
pub struct Text {
    inner: Box<dyn Read>,
    /// Bytes that may be read before the next row begins.
    budget: Rc<Cell<usize>>,
}

/// Permits the bytes of one more row.
#[derive(Debug, Clone)]
pub struct Budget(Rc<Cell<usize>>);

impl Budget {
    /// Removes the limit until the next row begins.
    pub fn lift(&self) {
        self.0.set(usize::MAX);
    }

    /// Begins a row.
    pub fn renew(&self) {
        self.0.set(MAX_ROW);
    }
}

impl Text {
    /// Returns the next bytes, up to `most`, and leaves them in the text.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub(crate) fn peek(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(most);
        self.inner.by_ref().take(most as u64).read_to_end(&mut bytes)?;
        let rest = std::mem::replace(&mut self.inner, Box::new(io::empty()));
        self.inner = Box::new(Cursor::new(bytes.clone()).chain(rest));
        Ok(bytes)
    }

    /// Skips so many lines. Returns their bytes.
    ///
    /// # Errors
    /// Returns the errors of reading.
    fn skip_lines(&mut self, lines: u64) -> io::Result<u64> {
        let mut left = lines;
        let mut skipped = 0;
        while left > 0 {
            let mut bytes = Vec::with_capacity(BUFFER);
            self.inner.by_ref().take(BUFFER as u64).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                break;
            }
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            let end = ends.map(|(at, _)| at + 1).take(left as usize).inspect(|_| left -= 1).last();
            let end = if left > 0 { bytes.len() } else { end.expect("a line has ended") };
            skipped += end as u64;
            let rest = std::mem::replace(&mut self.inner, Box::new(io::empty()));
            bytes.drain(..end);
            self.inner = Box::new(Cursor::new(bytes).chain(rest));
        }
        Ok(skipped)
    }
}

/// The error of a read: the row has more bytes than [`MAX_ROW`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongRow;

impl LongRow {
    /// Returns true if a read has failed for the length of its row.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<LongRow>())
    }
}

impl fmt::Display for LongRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the row is longer than {} MiB; a quote may not be closed", MAX_ROW >> 20)
    }
}

impl std::error::Error for LongRow {}

/// Where a text is, for messages.
#[derive(Debug, Clone)]
pub struct Origin {
    pub(crate) path: PathBuf,
    /// Bytes before the text; `None` if the text is decompressed.
    start: Option<u64>,
}

impl Origin {
    /// Returns the byte of the file for a byte of the text.
    pub fn byte(&self, byte: u64) -> Option<u64> {
        self.start.map(|start| start + byte)
    }

    /// Returns the place after `bytes` of the text.
    pub(crate) fn after(&self, bytes: u64) -> Origin {
        Origin { path: self.path.clone(), start: self.byte(bytes) }
    }

    /// Returns the failure for an error of reading.
    pub fn refused(&self, error: io::Error, row: u64) -> Failure {
        match error.raw_os_error() {
            Some(_) => Failure::io(error, "read", &self.path),
            None if error.kind() == io::ErrorKind::OutOfMemory => {
                Failure::io(error, "decompress", &self.path)
            }
            None if LargeWindow::is(&error) => {
                Failure::usage(LargeWindow::REMEDY).in_file(&self.path)
            }
            None => crate::table::bad_row(&self.path, row, None, error.to_string()),
        }
    }
}

/// A text before its first byte, the limit on the bytes of its rows, and where it is.
pub struct OpenText {
    /// The text.
    pub text: Text,
    /// Permits the bytes of one more row.
    pub budget: Budget,
    /// For messages.
    pub origin: Origin,
}

/// Opens a text of UTF-8.
///
/// # Errors
/// Returns an error for UTF-16 and if the operating system refuses.
pub fn open(path: &Path) -> Result<OpenText, Failure> {
    opened(path, None)
}

/// Opens a table's text, in the encoding of the options and after the lines that they skip.
///
/// # Errors
/// As [`open`], and an error for bytes that are none of the encoding.
pub(crate) fn open_with(path: &Path, options: &TableOptions) -> Result<OpenText, Failure> {
    let OpenText { mut text, budget, origin } = opened(path, options.encoding)?;
    let skipped = text.skip_lines(options.skip).map_err(|e| origin.refused(e, 0))?;
    budget.renew();
    Ok(OpenText { text, budget, origin: origin.after(skipped) })
}

fn opened(path: &Path, encoding: Option<TextEncoding>) -> Result<OpenText, Failure> {
    let (file, found) = files::open(path)?;
    let mut head = [0; 4];
    let length = head.len().min(found.len() as usize);
    files::read_exact_at(&file, &mut head[..length], 0)
        .map_err(|e| Failure::io(e, "read", path))?;
    let file = PatientFile(file);
    let mut start = None;
    let mut inner: Box<dyn Read> = match head {
        [0x1f, 0x8b, ..] => Box::new(GuardedRead(GzipMembers::new(buffered(file)))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let decoder = ZstdFrames::new(buffered(file), LargeWindow::LOG);
            Box::new(decoder.map_err(|e| Failure::io(e, "decompress", path))?)
        }
        _ => {
            start = Some(0);
            Box::new(file)
        }
    };
    if let Some(encoding) = encoding {
        start = None; // bytes of the text are not those of the file
        inner = Box::new(Converted::new(inner, encoding));
    }
    let mut mark = Vec::with_capacity(3);
    inner.by_ref().take(3).read_to_end(&mut mark).map_err(|e| origin(start, path).refused(e, 1))?;
    if mark.starts_with(&[0xff, 0xfe]) || mark.starts_with(&[0xfe, 0xff]) {
        let text = "the text is UTF-16; save it as UTF-8, or give encoding=utf-16 with the table";
        return Err(Failure::bad_data(text).in_file(path));
    }
    if mark == [0xef, 0xbb, 0xbf] {
        mark.clear();
        start = start.map(|at| at + 3);
    }
    let budget = Rc::new(Cell::new(MAX_ROW));
    let inner = Box::new(Cursor::new(mark).chain(inner));
    let text = Text { inner, budget: budget.clone() };
    Ok(OpenText { text, budget: Budget(budget), origin: origin(start, path) })
}

fn buffered(file: PatientFile) -> io::BufReader<PatientFile> {
    io::BufReader::with_capacity(BUFFER, file)
}

fn origin(start: Option<u64>, path: &Path) -> Origin {
    Origin { path: path.to_path_buf(), start }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, LongRow));
        }
        let room = into.len().min(left);
        let read = self.inner.read(&mut into[..room])?;
        self.budget.set(left - read);
        Ok(read)
    }
}

/// A file whose reads are repeated after transient errors.
struct PatientFile(File);

impl Read for PatientFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        patiently(|| (&self.0).read(into))
    }
}
