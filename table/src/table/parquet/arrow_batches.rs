//! `ArrowBatches`: the record batches of a file of Arrow, with the places of their bytes in the file.
//!
//! Memory holds one batch. The values of an uncompressed batch are in the file as they are, so that a value that
//! [`ArrowBatch::place`] finds need not be decoded again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt8Array};
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{Endianness, MessageHeader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use tarflume_base::Failure;
use tarflume_formats::{Error, files, panics};

use super::arrow_file::{MAGIC, PlacedMessage, damaged, message_at, read};

/// Limit on the bytes of a batch.
const MAX_BATCH: u64 = 1 << 30;
/// Rows that a batch may have whose columns have no bytes; others have at least a bit for each row.
const FEW: u64 = 1024;
/// Bytes before the first message of a file with a footer: some writers fill more of them with zeros.
const BEFORE: u64 = 8;
const MOST_BEFORE: u64 = 64;

/// Why a column of categories is not read.
const DICTIONARY: &str = "has numbers of a dictionary in place of its values; write the values (in pyarrow: \
                          column.dictionary_decode())";

/// The batches of a file.
#[derive(Debug)]
pub struct ArrowBatches {
    file: File,
    path: PathBuf,
    length: u64,
    /// The byte of the next message.
    at: u64,
    schema: SchemaRef,
    /// Rows of the batches that were read.
    rows: u64,
}

/// Rows of a file, and where their bytes are in it.
#[derive(Debug)]
pub struct ArrowBatch {
    pub(super) rows: RecordBatch,
    /// The number of its first row in the file.
    pub first: u64,
    body: UInt8Array,
    /// The byte of the file at which the body begins.
    at: u64,
}

impl ArrowBatches {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// Returns an error if it is no file of Arrow or has big-endian numbers, and if the operating system refuses.
    pub fn open(path: &Path) -> Result<ArrowBatches, Failure> {
        let (mut file, found) = files::open(path)?;
        let length = found.len();
        let mut first = [0; MAGIC.len()];
        let is_file = read(&mut file, &mut first, path)? && first == *MAGIC;
        if is_file && !has_footer(&mut file, length, path)? {
            return Err(damaged(&lacking("its footer"), path));
        }
        let at = if is_file { first_message(&mut file, path)? } else { 0 };
        let Some(message) = message_at(&mut file, at, length, path)? else {
            return Err(damaged(&lacking("a schema"), path));
        };
        let schema = panics::guarded(|| schema(&message.head));
        let schema = schema
            .unwrap_or_else(|panic| Err(ArrowError::IpcError(panic.to_string())))
            .map_err(|error| damaged(&error, path))?;
        if let Some(field) = schema.fields().iter().find(|f| has_dictionary(f.data_type())) {
            let text = format!("column '{}' {DICTIONARY}", field.name());
            return Err(Failure::usage(text).in_file(path));
        }
        let at = message.body.end;
        Ok(ArrowBatches { file, path: path.into(), length, at, schema, rows: 0 })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the schema.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a text of the schema's metadata.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.schema.metadata().get(name).map(String::as_str)
    }

    /// Reads the next batch; `None` after the last.
    ///
    /// # Errors
    /// Returns an error for a damaged, compressed or very large batch, for columns of a dictionary, and if the operating
    /// system refuses.
    pub fn next_batch(&mut self) -> Result<Option<ArrowBatch>, Failure> {
        if self.at >= self.length {
            let error = "it ends without the mark of its end, and batches may be missing";
            return Err(damaged(&ArrowError::IpcError(error.into()), &self.path));
        }
        let Some(message) = message_at(&mut self.file, self.at, self.length, &self.path)? else {
            return Ok(None);
        };
        let PlacedMessage { head, body } = message;
        self.at = body.end;
        let bytes = body.end - body.start;
        if bytes > MAX_BATCH {
            let text = format!(
                "byte {}: a batch has {bytes} bytes, and {} MiB are the limit; write smaller batches (in \
                 pyarrow: writer.write_table(table, max_chunksize=100))",
                body.start,
                MAX_BATCH >> 20
            );
            return Err(Failure::usage(text).in_file(&self.path));
        }
        let mut values = vec![0; bytes as usize];
        self.file
            .seek(SeekFrom::Start(body.start))
            .and_then(|_| self.file.read_exact(&mut values))
            .map_err(|e| Error::io(e, "read", &self.path))?;
        let values = UInt8Array::from(values);
        let read = panics::guarded(|| batch(&head, &values, &self.schema));
        let read = read.unwrap_or_else(|panic| Err(ArrowError::IpcError(panic.to_string()).into()));
        let rows = read.map_err(|unread| match unread {
            Unread::Damaged(error) => damaged(&error, &self.path),
            Unread::Compressed => {
                let text = "its batches are compressed; write it without compression (in pyarrow: \
                            feather.write_feather(..., compression='uncompressed'), or \
                            ipc.IpcWriteOptions(compression=None))";
                Failure::usage(text).in_file(&self.path)
            }
            Unread::Dictionary => {
                Failure::usage(format!("a column {DICTIONARY}")).in_file(&self.path)
            }
        })?;
        if rows.num_rows() as u64 > FEW + 8 * bytes {
            let error = format!("a batch of {bytes} bytes declares {} rows", rows.num_rows());
            return Err(damaged(&ArrowError::IpcError(error), &self.path));
        }
        let first = self.rows;
        self.rows += rows.num_rows() as u64;
        Ok(Some(ArrowBatch { rows, first, body: values, at: body.start }))
    }
}

impl ArrowBatch {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the byte of the file at which a value of the batch begins; `None` if it is not in the file as it is.
    pub(super) fn place(&self, value: &[u8]) -> Option<u64> {
        let body: &[u8] = self.body.values();
        if value.is_empty() {
            return Some(self.at);
        }
        let skip = (value.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
        let end = skip.checked_add(value.len())?;
        (end <= body.len()).then(|| self.at + skip as u64)
    }
}

/// Why a batch is not read.
enum Unread {
    Damaged(ArrowError),
    Compressed,
    Dictionary,
}

impl From<ArrowError> for Unread {
    fn from(error: ArrowError) -> Unread {
        Unread::Damaged(error)
    }
}

/// Returns true if a file that begins with [`MAGIC`] ends with it.
fn has_footer(file: &mut File, length: u64, path: &Path) -> Result<bool, Failure> {
    let mut last = [0; MAGIC.len()];
    let Some(end) = length.checked_sub(MAGIC.len() as u64).filter(|end| *end >= BEFORE) else {
        return Ok(false);
    };
    file.seek(SeekFrom::Start(end)).map_err(|e| Error::io(e, "read", path))?;
    Ok(read(file, &mut last, path)? && last == *MAGIC)
}

/// Returns the byte of the first message of a file with a footer, behind zeros.
fn first_message(file: &mut File, path: &Path) -> Result<u64, Failure> {
    let mut at = BEFORE;
    let mut word = [0; BEFORE as usize];
    while at < MOST_BEFORE {
        file.seek(SeekFrom::Start(at)).map_err(|e| Error::io(e, "read", path))?;
        if !read(file, &mut word, path)? || word != [0; BEFORE as usize] {
            break;
        }
        at += BEFORE;
    }
    Ok(at)
}

fn has_dictionary(kind: &DataType) -> bool {
    use DataType as D;
    match kind {
        D::Dictionary(..) => true,
        D::List(field) | D::LargeList(field) | D::FixedSizeList(field, _) | D::Map(field, _) => {
            has_dictionary(field.data_type())
        }
        D::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}

fn lacking(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("it lacks {what}"))
}

fn schema(head: &[u8]) -> Result<SchemaRef, ArrowError> {
    let message =
        arrow_ipc::root_as_message(head).map_err(|e| ArrowError::IpcError(e.to_string()))?;
    let schema = message.header_as_schema().ok_or_else(|| lacking("a schema"))?;
    if schema.endianness() != Endianness::Little {
        return Err(ArrowError::IpcError("its numbers are big-endian".into()));
    }
    Ok(Arc::new(arrow_ipc::convert::try_fb_to_schema(schema)?))
}

fn batch(head: &[u8], body: &UInt8Array, schema: &SchemaRef) -> Result<RecordBatch, Unread> {
    let message =
        arrow_ipc::root_as_message(head).map_err(|e| ArrowError::IpcError(e.to_string()))?;
    if message.header_type() == MessageHeader::DictionaryBatch {
        return Err(Unread::Dictionary);
    }
    let batch = message.header_as_record_batch().ok_or_else(|| lacking("a batch"))?;
    if batch.compression().is_some() {
        return Err(Unread::Compressed);
    }
    let buffer = body.values().inner();
    let none = HashMap::new();
    let version = message.version();
    Ok(read_record_batch(buffer, batch, schema.clone(), &none, None, &version)?)
}
