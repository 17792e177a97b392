//! `ShardWriter`: writes tar and index in step. A shard's tar appears first and its index last, so
//! an existing index implies a complete shard.
//!
//! Files are read directly into the writer's buffer, after their headers, and leave it in pieces of
//! about 200 kB: measured, pieces of that size are copied and hashed while they are still in the
//! cache, and a sample that turns out bad is dropped before a byte of it is written.

mod compress;
mod written_shard;

use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use self::compress::Compression;
use crate::bytes::checksum::{Crc, crc32c};
use crate::disk::publish::TempFile;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::{ColumnSpec, IndexBuilder, OwnedValue, TarFacts, Value};
use crate::parts::name;
use crate::parts::repeat::Repeat;
use crate::tar;

pub use written_shard::{WrittenShard, digest_of, has_bytes, index_path};

/// The buffer is written out after the sample that fills it to this size.
const PIECE: usize = 192 * 1024;

/// Writes one shard.
#[derive(Debug)]
pub struct ShardWriter {
    temp: TempFile,
    buffer: Vec<u8>,
    filled: usize,
    /// Bytes that have left the buffer.
    written: u64,
    hasher: blake3::Hasher,
    index: IndexBuilder,
    header: Vec<u8>,
    name: Vec<u8>,
    sample: OpenSample,
    compression: Option<Box<Compression>>,
    /// Frames on their way to the file.
    frames: Vec<u8>,
    /// Bytes of the file.
    stored: u64,
}

/// The sample being written.
#[derive(Debug, Default)]
struct OpenSample {
    key: Vec<u8>,
    first: u64,
    parts: Vec<OpenPart>,
    repeat: Repeat,
    /// The concatenated entry points and strips' checksums of its parts.
    points: Vec<u8>,
    /// Its values in typed columns, by number.
    values: Vec<(usize, OwnedValue)>,
    /// The hasher's state at `first`, kept once bytes of the sample have left the buffer.
    rollback: Option<Box<blake3::Hasher>>,
}

#[derive(Debug)]
struct OpenPart {
    ext: Vec<u8>,
    offset: u64,
    length: u64,
    /// Already computed for streamed parts.
    checksum: Option<u32>,
    /// The ranges of its entry points and of its strips' checksums among the sample's.
    points: Range<usize>,
    strips: Range<usize>,
}

impl ShardWriter {
    /// A longer part should be written with [`stream_part`](Self::stream_part), which passes it through the buffer in
    /// pieces. In bytes.
    pub const STREAM_ABOVE: u64 = 32 * 1024 * 1024;

    /// Creates the shard that will be published as `name` in `folder`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to create a file in `folder`.
    pub fn create(folder: impl AsRef<Path>, name: &str) -> Result<ShardWriter> {
        let folder = folder.as_ref();
        Ok(ShardWriter {
            temp: TempFile::create(folder, name)?,
            buffer: vec![0; 2 * PIECE],
            filled: 0,
            written: 0,
            hasher: blake3::Hasher::new(),
            index: IndexBuilder::new(),
            header: Vec::with_capacity(2048),
            name: Vec::new(),
            sample: OpenSample::default(),
            compression: None,
            frames: Vec::new(),
            stored: 0,
        })
    }

    /// As [`ShardWriter::create`]; the file is the tar as frames of zstd, compressed at this level: `level` is 1 to 22.
    /// The sidecar has the frames, so that a part is read by decompressing the frames that hold it.
    ///
    /// # Errors
    /// As [`ShardWriter::create`], and if memory is exhausted.
    pub fn create_compressed(
        folder: impl AsRef<Path>,
        name: &str,
        level: i32,
    ) -> Result<ShardWriter> {
        let folder = folder.as_ref();
        let mut writer = ShardWriter::create(folder, name)?;
        let mut compression = Compression::new(level)?;
        compression.sample(0);
        writer.compression = Some(Box::new(compression));
        Ok(writer)
    }

    /// Begins a sample.
    pub fn begin(&mut self, key: &[u8]) {
        self.sample.key.clear();
        self.sample.key.extend_from_slice(key);
        self.sample.first = self.position();
        self.sample.parts.clear();
        self.sample.repeat.clear();
        self.sample.points.clear();
        self.sample.values.clear();
        self.sample.rollback = None;
        let first = self.sample.first;
        if let Some(compression) = &mut self.compression {
            compression.forget();
            compression.sample(first);
        }
    }

    /// Adds a part to the sample: writes its header and returns the `length` bytes after it, which
    /// the caller must fill. Their content is unspecified until then.
    ///
    /// # Errors
    /// Returns an error for a name or length that a tar cannot hold, and for an extension that the
    /// sample already has.
    pub fn part(&mut self, ext: &[u8], length: u64) -> Result<&mut [u8]> {
        self.put_header(ext, length)?;
        let length = usize::try_from(length)
            .map_err(|_| Error::new(ErrorKind::Limit, "a part is larger than memory"))?;
        let start = self.filled;
        let end = start + length.next_multiple_of(512);
        self.grow(end);
        self.buffer[start + length..end].fill(0);
        self.filled = end;
        Ok(&mut self.buffer[start..start + length])
    }

    /// Adds a part of any length: calls `fill` with one slice after the other; it must fill each
    /// completely.
    ///
    /// # Errors
    /// Returns the errors of [`ShardWriter::part`] and of `fill`, and an error if the operating
    /// system refuses to write.
    pub fn stream_part<E: From<Error>>(
        &mut self,
        ext: &[u8],
        length: u64,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sum_buffered();
        self.put_header(ext, length)?;
        // From here on bytes of this sample reach the file and the hasher: bring both exactly to
        // the sample's start and keep the hasher, so that `abandon` can return to that point.
        if self.sample.rollback.is_none() {
            let keep = (self.position() - self.sample.first) as usize;
            self.flush_to(self.filled - keep)?;
            self.sample.rollback = Some(Box::new(self.hasher.clone()));
            if let Some(compression) = &mut self.compression {
                compression.keep();
            }
        }
        self.flush_to(self.filled)?;
        let mut crc = Crc::new();
        let mut left = length;
        while left > 0 {
            let piece = left.min(PIECE as u64) as usize;
            fill(&mut self.buffer[..piece])?;
            crc.update(&self.buffer[..piece]);
            self.filled = piece;
            self.flush_to(piece)?;
            left -= piece as u64;
        }
        let padding = (length.next_multiple_of(512) - length) as usize;
        self.buffer[..padding].fill(0);
        self.filled = padding;
        if let Some(part) = self.sample.parts.last_mut() {
            part.checksum = Some(crc.value());
        }
        Ok(())
    }

    /// Sets the entry points of the newest part, which must be a JPEG; they go into the sidecar. An
    /// empty slice means none.
    pub fn entry_points(&mut self, points: &[u8]) {
        let OpenSample { parts, points: all, .. } = &mut self.sample;
        debug_assert!(!parts.is_empty(), "entry_points() before part()");
        if let Some(part) = parts.last_mut() {
            all.truncate(part.points.start);
            all.extend_from_slice(points);
            part.points.end = all.len();
            part.strips = all.len()..all.len();
        }
    }

    /// Sets the checksums of the strips of the newest part, after its entry points; they go into the sidecar.
    pub fn strips(&mut self, strips: &[u8]) {
        let OpenSample { parts, points: all, .. } = &mut self.sample;
        debug_assert!(!parts.is_empty(), "strips() before part()");
        if let Some(part) = parts.last_mut() {
            all.truncate(part.points.end);
            all.extend_from_slice(strips);
            part.strips = part.points.end..all.len();
        }
    }

    /// Sets the typed columns of the sidecar, before the first sample.
    pub fn set_columns(&mut self, columns: Vec<ColumnSpec>) {
        self.index.set_columns(columns);
    }

    /// Passes the bytes of the sample's part `ext` to `read`, and a function that sets the value of a column by its
    /// number; a column without a call has none. A value of another type counts as none:
    /// [`ValueType::take`](crate::index::ValueType::take) checks it. A part that the sample does not have, or that was
    /// streamed, is no call. Call it before the next part is added.
    ///
    /// # Errors
    /// Returns the errors of `read`.
    pub fn values<E>(
        &mut self,
        ext: &[u8],
        read: impl FnOnce(&[u8], &mut dyn FnMut(usize, Value<'_>)) -> Result<(), E>,
    ) -> Result<(), E> {
        let OpenSample { parts, values, .. } = &mut self.sample;
        let Some(part) = parts.iter().find(|part| part.ext == ext) else { return Ok(()) };
        let Some(start) = part.offset.checked_sub(self.written) else { return Ok(()) };
        let start = start as usize; // in the buffer
        let bytes = self.buffer[..self.filled].get(start..start + part.length as usize);
        let Some(bytes) = bytes else { return Ok(()) };
        read(bytes, &mut |column, value| values.push((column, value.into())))
    }

    /// Ends the sample; `dimensions` are width and height of its first image in pixels.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write, or if there are more extensions
    /// than an index can count.
    pub fn commit(&mut self, dimensions: Option<(u32, u32)>) -> Result<()> {
        self.sum_buffered();
        self.index.sample(&self.sample.key, self.sample.first);
        for part in &self.sample.parts {
            self.index.part(&part.ext, part.offset, part.length, part.checksum)?;
            if !part.points.is_empty() {
                self.index.entry_points(&self.sample.points[part.points.clone()]);
            }
            if !part.strips.is_empty() {
                let number = self.index.parts() - 1;
                self.index.strips_of(number, &self.sample.points[part.strips.clone()]);
            }
        }
        if let Some((width, height)) = dimensions {
            self.index.dimensions(width, height);
        }
        for (column, value) in &self.sample.values {
            self.index.value(*column, value.borrowed());
        }
        self.begin(b""); // nothing is left that could be abandoned
        if self.filled >= PIECE { self.flush_to(self.filled) } else { Ok(()) }
    }

    /// Discards the current sample as if it had not begun. Committed samples stay.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to truncate the file.
    pub fn abandon(&mut self) -> Result<()> {
        let first = self.sample.first;
        let compressed = self.compression.as_mut().and_then(|c| c.roll_back(first));
        match self.sample.rollback.take() {
            Some(hasher) => {
                let end = compressed.unwrap_or(first);
                let file = &mut self.temp.file;
                file.set_len(end)
                    .and_then(|()| file.seek(SeekFrom::Start(end)))
                    .map_err(|e| Error::io(e, "shorten", self.temp.path()))?;
                self.hasher = *hasher;
                self.stored = end;
                self.written = first;
                self.filled = 0;
            }
            None => self.filled = (self.sample.first - self.written) as usize,
        }
        self.sample.parts.clear();
        self.sample.repeat.clear();
        self.sample.points.clear();
        self.sample.values.clear();
        Ok(())
    }

    /// Returns the number of samples so far.
    pub fn samples(&self) -> u64 {
        self.index.samples()
    }

    /// Returns the number of bytes so far.
    pub fn position(&self) -> u64 {
        self.written + self.filled as u64
    }

    /// Writes the end marker. The files get their final names in [`WrittenShard::publish`].
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write.
    pub fn finish(mut self) -> Result<WrittenShard> {
        let end = self.filled + tar::END.len();
        self.grow(end);
        self.buffer[self.filled..end].copy_from_slice(&tar::END);
        self.filled = end;
        self.flush_to(end)?;
        if let Some(compression) = self.compression.take() {
            let ends = compression.finish(&mut self.frames)?;
            self.index.frames(ends);
            self.write_frames()?;
        }
        let facts = TarFacts { length: self.stored, digest: Some(self.hasher.finalize()) };
        Ok(WrittenShard {
            temp: self.temp,
            facts,
            samples: self.index.samples(),
            extensions: self.index.ext_counts(),
            index: self.index.encode(&facts)?,
        })
    }

    /// Computes the checksums of the parts that are whole in the buffer, before they leave it.
    fn sum_buffered(&mut self) {
        for part in self.sample.parts.iter_mut().filter(|p| p.checksum.is_none()) {
            let start = (part.offset - self.written) as usize;
            part.checksum = Some(crc32c(&self.buffer[start..start + part.length as usize]));
        }
    }

    fn put_header(&mut self, ext: &[u8], length: u64) -> Result<()> {
        self.name.clear();
        name::join(&mut self.name, &self.sample.key, ext);
        let OpenSample { parts, repeat, .. } = &mut self.sample;
        if repeat.has(ext, parts.iter().map(|part| part.ext.as_slice())) {
            let text = format!("the part '{}' appears twice in one sample", name::shown(ext));
            return Err(Error::new(ErrorKind::Repeated, text)
                .with_byte(self.position())
                .with_key(name::shown(&self.sample.key)));
        }
        self.header.clear();
        tar::write_header(&mut self.header, &self.name, length)?;
        let end = self.filled + self.header.len();
        self.grow(end);
        self.buffer[self.filled..end].copy_from_slice(&self.header);
        self.filled = end;
        let offset = self.position();
        let points = self.sample.points.len()..self.sample.points.len();
        if let Some(compression) = &mut self.compression {
            compression.part(ext, offset, length);
        }
        let ext = ext.to_vec();
        let strips = points.clone();
        let part = OpenPart { ext, offset, length, checksum: None, points, strips };
        self.sample.parts.push(part);
        Ok(())
    }

    /// Hashes and writes the frames that are complete.
    fn write_frames(&mut self) -> Result<()> {
        self.hasher.update(&self.frames);
        let written = self.temp.file.write_all(&self.frames);
        written.map_err(|e| Error::io(e, "write", self.temp.path()))?;
        self.stored += self.frames.len() as u64;
        self.frames.clear();
        Ok(())
    }

    /// Grows the buffer. It keeps its largest size; bytes after `filled` are never read.
    fn grow(&mut self, length: usize) {
        if self.buffer.len() < length {
            self.buffer.resize(length.next_power_of_two(), 0);
        }
    }

    /// Hashes and writes the first `length` bytes of the buffer; the rest moves to its front.
    fn flush_to(&mut self, length: usize) -> Result<()> {
        if let Some(compression) = &mut self.compression {
            compression.take(&self.buffer[..length], &mut self.frames)?;
            self.write_frames()?;
        } else {
            for piece in self.buffer[..length].chunks(2 * PIECE) {
                self.hasher.update(piece);
                let written = self.temp.file.write_all(piece);
                written.map_err(|e| Error::io(e, "write", self.temp.path()))?;
            }
            self.stored += length as u64;
        }
        self.buffer.copy_within(length..self.filled, 0);
        self.written += length as u64;
        self.filled -= length;
        Ok(())
    }
}
