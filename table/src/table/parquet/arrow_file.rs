//! `ArrowRows`: the batches of a file of Arrow: the stream that `save_to_disk` of `datasets` writes, or a file with a
//! footer.
//!
//! The lengths of a stream's messages are compared with the file before the library reads them.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, Field, SchemaRef};
use tarflume_base::Failure;
use tarflume_formats::{Error, files, panics};

/// What a file with a footer begins with.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";
/// What a message of a stream begins with.
const MESSAGE: u32 = u32::MAX;
/// Limit on the bytes of the head of a message.
const HEAD: u64 = 64 << 20;

/// The batches of a file, row by row.
pub(super) struct ArrowRows {
    path: PathBuf,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    schema: SchemaRef,
    batch: Option<RecordBatch>,
    /// The next row in the batch.
    next: usize,
}

impl ArrowRows {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns an error if it is no file of Arrow, or if the operating system refuses.
    pub(super) fn open(path: &Path) -> Result<ArrowRows, Failure> {
        let (mut file, found) = files::open(path)?;
        let mut first = [0; 6];
        let is_file = read(&mut file, &mut first, path)? && first == *MAGIC;
        if !is_file {
            check(&mut file, found.len(), path)?;
        }
        file.seek(SeekFrom::Start(0)).map_err(|e| Error::io(e, "read", path))?;
        let opened = panics::guarded(|| open(file, is_file));
        let (schema, batches) = opened
            .unwrap_or_else(|panic| Err(ArrowError::IpcError(panic.to_string())))
            .map_err(|e| damaged(&e, path))?;
        Ok(ArrowRows { path: path.into(), batches, schema, batch: None, next: 0 })
    }

    /// Returns the columns.
    pub(super) fn fields(&self) -> &[Arc<Field>] {
        self.schema.fields()
    }

    /// Reads the next row for [`ArrowRows::current`]; returns false after the last.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub(super) fn advance(&mut self) -> Result<bool, Failure> {
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            let read = panics::guarded(|| self.batches.next());
            let read =
                read.unwrap_or_else(|panic| Some(Err(ArrowError::IpcError(panic.to_string()))));
            let Some(batch) = read else { return Ok(false) };
            self.batch = Some(batch.map_err(|e| damaged(&e, &self.path))?);
            self.next = 0;
        }
        self.next += 1;
        Ok(true)
    }

    /// Returns the row that was read last: its batch and its place there.
    pub(super) fn current(&self) -> Option<(&RecordBatch, usize)> {
        Some((self.batch.as_ref()?, self.next.checked_sub(1)?))
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

fn open(file: File, is_file: bool) -> Result<(SchemaRef, Batches), ArrowError> {
    let file = BufReader::with_capacity(1 << 20, file);
    if is_file {
        let reader = FileReader::try_new(file, None)?;
        return Ok((reader.schema(), Box::new(reader)));
    }
    let reader = StreamReader::try_new(file, None)?;
    Ok((reader.schema(), Box::new(reader)))
}

pub(super) fn damaged(error: &ArrowError, path: &Path) -> Failure {
    Failure::bad_data(format!("this is no readable file of Arrow: {error}")).in_file(path)
}

/// Fills `into`; returns false at the end of the file.
pub(super) fn read(file: &mut File, into: &mut [u8], path: &Path) -> Result<bool, Failure> {
    match file.read_exact(into) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(Error::io(e, "read", path).into()),
    }
}

/// Returns the failure of a stream that is wrong at a byte.
fn cut(path: &Path, at: u64) -> Failure {
    let text = "a message is longer than the file, or none begins here: it is no stream of Arrow, or was cut";
    Error::new(tarflume_formats::ErrorKind::Damaged, text).with_path(path).with_byte(at).into()
}

/// A message of a stream.
pub(super) struct PlacedMessage {
    /// The message without its body.
    pub(super) head: Vec<u8>,
    /// The bytes of its body in the file.
    pub(super) body: Range<u64>,
}

/// Reads the message at a byte; `None` at the end of the stream. Its body lies inside of the file.
///
/// # Errors
/// Returns an error if none begins there, if it is longer than the file, and if the operating system refuses.
pub(super) fn message_at(
    file: &mut File,
    at: u64,
    length: u64,
    path: &Path,
) -> Result<Option<PlacedMessage>, Failure> {
    if at >= length {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(at)).map_err(|e| Error::io(e, "read", path))?;
    let mut words = [0; 8];
    if !read(file, &mut words, path)? {
        return Err(cut(path, at));
    }
    let [begin, size] = [0, 4].map(|from| u32_at(&words, from));
    if begin != MESSAGE || u64::from(size) > HEAD.min(length - at - 8) {
        return Err(cut(path, at));
    }
    if size == 0 {
        return Ok(None);
    }
    let mut head = vec![0; size as usize];
    if !read(file, &mut head, path)? {
        return Err(cut(path, at));
    }
    let message = panics::guarded(|| arrow_ipc::root_as_message(&head).map(|own| own.bodyLength()));
    let bytes = message.ok().and_then(Result::ok).and_then(|bytes| u64::try_from(bytes).ok());
    let start = at + 8 + u64::from(size);
    let end = bytes.and_then(|bytes| start.checked_add(bytes)).filter(|&end| end <= length);
    let end = end.ok_or_else(|| cut(path, at))?;
    Ok(Some(PlacedMessage { head, body: start..end }))
}

/// Checks that the messages of a stream lie inside of the file.
fn check(file: &mut File, length: u64, path: &Path) -> Result<(), Failure> {
    let mut at = 0;
    while let Some(message) = message_at(file, at, length, path)? {
        at = message.body.end;
    }
    Ok(())
}

/// Returns the little-endian number at a byte.
fn u32_at(bytes: &[u8; 8], from: usize) -> u32 {
    bytes[from..from + 4].iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte))
}
