//! `ParquetFile`: the footer of a Parquet file, and bounded reads of its pages.
//!
//! The lengths that a foreign file declares are compared with limits before memory is allocated. An
//! error of the machine stays distinguishable from damage; see [`failure`]. Decodes no value.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, Type as Physical};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::SchemaDescriptor;
use tarflume_base::Failure;
use tarflume_formats::{Blame, files, panics};

use super::encrypted;

/// Limit on a footer.
const MAX_FOOTER: u64 = 256 << 20;
/// Limit on a page after decompression. Writers close a page at about 1 MiB, or after one value.
pub(crate) const MAX_PAGE: u64 = 1 << 30;
/// Limit on a page whose compressed bytes explain no more: few bytes cannot claim much memory.
const SMALL_PAGE: u64 = 48 << 20;
/// The best ratio of a codec that is no run of one value.
const RATIO: u64 = 1100;
/// The reason for refusing an encrypted file.
const ENCRYPTED: &str = "the file is encrypted, and keys are not taken; read it with its keys and write it without \
                         encryption (in pyarrow: read_table(..., decryption_properties=...), write_table)";
/// Bytes that are read for a page header; most have fewer than 100.
const HEADER: usize = 1 << 10;

/// An open Parquet file.
#[derive(Debug, Clone)]
pub struct ParquetFile {
    file: Arc<File>,
    path: PathBuf,
    bytes: u64,
    footer: ArrowReaderMetadata,
    /// The first row of each row group, and the number of rows at the end.
    starts: Arc<[u64]>,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// Returns an error if the file is not Parquet, is encrypted, or cannot be read.
    pub fn open(path: &Path) -> Result<ParquetFile, Failure> {
        let (file, found) = files::open(path)?;
        let file = Arc::new(file);
        let bytes = found.len();
        check_tail(&file, bytes, path)?;
        // The types of Parquet itself suffice, and an Arrow schema is one more foreign format.
        let options = ArrowReaderOptions::new()
            .with_skip_arrow_metadata(true)
            .with_page_index_policy(PageIndexPolicy::Skip);
        let whole = Pages::new(&file, bytes, false);
        let footer = guarded(|| ArrowReaderMetadata::load(&whole, options))
            .map_err(|e| failure(e, path, "its footer"))?;
        let starts = starts(footer.metadata(), path)?;
        Ok(ParquetFile { file, path: path.to_path_buf(), bytes, footer, starts })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the footer.
    pub fn metadata(&self) -> &ParquetMetaData {
        self.footer.metadata()
    }

    /// Returns the footer in the form that the reader of record batches takes.
    pub(crate) fn footer(&self) -> ArrowReaderMetadata {
        self.footer.clone()
    }

    /// Returns the schema.
    pub fn schema(&self) -> &SchemaDescriptor {
        self.metadata().file_metadata().schema_descr()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the rows of a row group: the first one and their number.
    pub fn group(&self, group: usize) -> (u64, u64) {
        (self.starts[group], self.starts[group + 1] - self.starts[group])
    }

    /// Returns the row group that holds a row.
    pub fn group_of(&self, row: u64) -> Option<usize> {
        let after = self.starts.partition_point(|&start| start <= row);
        (row < self.rows()).then(|| after.saturating_sub(1))
    }

    /// Returns a reader of pages.
    pub fn pages(&self) -> Pages {
        Pages::new(&self.file, self.bytes, true)
    }

    /// Refuses columns of a type that was withdrawn from the format, and those with a compression that is not read.
    pub fn check_leaf(&self, leaf: usize) -> Result<(), Failure> {
        let column = self.schema().column(leaf);
        let groups = self.metadata().row_groups().iter();
        let mut codecs = groups.map(|group| group.column(leaf).compression());
        if let Some(codec) = codecs.find(is_unread) {
            let name = format!("{codec:?}");
            return Err(Failure::usage(format!(
                "column '{}' is compressed by {}, which is not read; write the file with another \
                 compression (in pyarrow: write_table(..., compression='zstd'))",
                column.path().string(),
                name.split('(').next().unwrap_or_default()
            ))
            .in_file(&self.path));
        }
        match column.physical_type() {
            Physical::INT96 => Err(Failure::usage(format!(
                "column '{}' has the type INT96, which Parquet has withdrawn; write it as a \
                 timestamp (in pyarrow: use_deprecated_int96_timestamps=False), or leave it out \
                 with ?json=OTHER,COLUMNS",
                column.path().string()
            ))
            .in_file(&self.path)),
            _ => Ok(()),
        }
    }
}

/// Refuses a file that does not end as Parquet does.
fn check_tail(file: &File, bytes: u64, path: &Path) -> Result<(), Failure> {
    let mut tail = [0; 8];
    let Some(at) = bytes.checked_sub(12) else {
        return refused("this is not a Parquet file: it has fewer than 12 bytes", path);
    };
    files::read_exact_at(file, &mut tail, at + 4).map_err(|e| Failure::io(e, "read", path))?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => return refused(ENCRYPTED, path),
        _ => {
            return refused(
                "this is not a Parquet file, or its end is missing: it does not end with PAR1",
                path,
            );
        }
    }
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if footer > at {
        refused(
            &format!(
                "its footer has {footer} bytes, and the file has {bytes}; the file is damaged"
            ),
            path,
        )
    } else if footer > MAX_FOOTER {
        refused(
            &format!(
                "its footer has {footer} bytes; at most {MAX_FOOTER} are read; write fewer row groups"
            ),
            path,
        )
    } else {
        Ok(())
    }
}

fn refused(why: &str, path: &Path) -> Result<(), Failure> {
    Err(Failure::bad_data(why).in_file(path))
}

/// Returns the first row of each row group, and the number of rows at the end.
fn starts(footer: &ParquetMetaData, path: &Path) -> Result<Arc<[u64]>, Failure> {
    let mut starts = vec![0u64];
    for (n, group) in footer.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).ok();
        let Some(next) = rows.and_then(|rows| rows.checked_add(starts[n])) else {
            let text = format!("row group {n} has {} rows", group.num_rows());
            return Err(Failure::bad_data(text).in_file(path));
        };
        starts.push(next);
    }
    Ok(starts.into())
}

/// Calls a function of the Parquet reader; its panic becomes an error, because a foreign file must
/// not end the program.
pub fn guarded<T>(call: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    panics::guarded(call).unwrap_or_else(|panic| {
        let text = format!("the reader gave up on an inconsistent structure ({panic})");
        Err(ParquetError::General(text))
    })
}

/// Returns the failure for an error of the Parquet reader. Encrypted columns, whose pages look damaged, are named.
pub fn failure(error: ParquetError, path: &Path, of: &str) -> Failure {
    let why = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(refused) if Blame::of(&refused).is_machine() => {
                return Failure::io(*refused, "read", path);
            }
            Ok(refused) => refused.to_string(),
            Err(other) => other.to_string(),
        },
        other => other.to_string(),
    };
    let is_encrypted = files::open(path).is_ok_and(|(file, found)| {
        encrypted::has_encrypted_columns(&file, found.len(), MAX_FOOTER)
    });
    if is_encrypted {
        return Failure::bad_data(ENCRYPTED).in_file(path);
    }
    // The Parquet library reports this case only by its message.
    let remedy = if why.contains("CRC checksum mismatch") {
        "; the file is damaged: copy it again"
    } else {
        ""
    };
    Failure::bad_data(format!("{of}: {why}{remedy}")).in_file(path)
}

/// Reads pages of a file, and remembers the position of the last one.
#[derive(Debug)]
pub struct Pages {
    file: Arc<File>,
    bytes: u64,
    /// Whether each [`ChunkReader::get_read`] begins with a page header, whose sizes are checked.
    checked: bool,
    last: AtomicU64,
}

impl Pages {
    fn new(file: &Arc<File>, bytes: u64, checked: bool) -> Pages {
        Pages { file: file.clone(), bytes, checked, last: AtomicU64::new(0) }
    }

    /// Returns the position of the bytes that were read last.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Pages {
    type T = HeaderRead;

    fn get_read(&self, start: u64) -> ParquetResult<HeaderRead> {
        Ok(HeaderRead {
            file: self.file.clone(),
            at: start,
            end: self.bytes,
            held: Vec::new(),
            read: 0,
            unchecked: self.checked,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let fits = start.checked_add(length as u64).is_some_and(|end| end <= self.bytes);
        if !fits || (self.checked && length as u64 > MAX_PAGE) {
            let text = format!("{length} bytes at byte {start} of a file of {}", self.bytes);
            return Err(ParquetError::General(text));
        }
        let mut space = vec![0; length];
        files::read_exact_at(&self.file, &mut space, start)?;
        self.last.store(start, Ordering::Relaxed);
        Ok(space.into())
    }
}

/// Reads from a position of the file; if that is a page header, its sizes are checked first.
#[derive(Debug)]
pub struct HeaderRead {
    file: Arc<File>,
    at: u64,
    end: u64,
    held: Vec<u8>,
    read: usize,
    unchecked: bool,
}

impl Read for HeaderRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.held.len() {
            let length = self.end.saturating_sub(self.at).min(HEADER as u64) as usize;
            self.held.resize(length, 0);
            self.read = 0;
            files::read_exact_at(&self.file, &mut self.held, self.at)?;
            if std::mem::take(&mut self.unchecked) {
                check_header(&self.held, self.at)?;
            }
            self.at += length as u64;
        }
        let count = into.len().min(self.held.len() - self.read);
        into[..count].copy_from_slice(&self.held[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn is_unread(codec: &Compression) -> bool {
    matches!(codec, Compression::BROTLI(_) | Compression::LZO)
}

/// Refuses a page header that declares more than [`MAX_PAGE`] bytes. Its first three fields are the
/// type and the two sizes, each a byte 0x15 and a number of seven bits a byte.
fn check_header(header: &[u8], at: u64) -> io::Result<()> {
    let mut rest = header;
    let mut sizes = [0u64; 3];
    for size in &mut sizes {
        let [0x15, after @ ..] = rest else {
            return Err(invalid(format!("there is no page header at byte {at}")));
        };
        let Some(length) = after.iter().take(5).position(|byte| byte & 0x80 == 0) else {
            return Err(invalid(format!("the page header at byte {at} has a damaged size")));
        };
        let number = after[..=length].iter().rev().fold(0, |n, b| n << 7 | u64::from(b & 0x7f));
        *size = number >> 1; // zigzag; a negative size is odd, and the reader refuses it
        rest = &after[length + 1..];
    }
    let size = sizes[1].max(sizes[2]);
    let limit = (SMALL_PAGE + sizes[2].saturating_mul(RATIO)).min(MAX_PAGE);
    if size > limit {
        return Err(invalid(format!(
            "the page at byte {at} declares {size} bytes, {} compressed; a thread holds at most {limit}; \
             write smaller pages (in pyarrow: data_page_size, write_batch_size)",
            sizes[2]
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_header_with_sizes_above_the_limit_is_refused() {
        // Type 0, 2 MiB, 1 MiB as zigzag numbers.
        let fine = [0x15, 0, 0x15, 0x80, 0x80, 0x80, 0x02, 0x15, 0x80, 0x80, 0x80, 0x01, 0x2c];
        assert!(check_header(&fine, 4).is_ok());
        let large = [0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 0x02];
        assert!(check_header(&large, 4).unwrap_err().to_string().contains("2147483647 bytes"));
        assert!(check_header(&[0x16, 0], 4).is_err() && check_header(&[], 4).is_err());
    }
}
