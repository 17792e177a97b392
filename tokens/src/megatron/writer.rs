//! `Writer`: writes a data set of Megatron-LM. Both files appear at the end, the index last.
//!
//! Holds 4 bytes for each sequence and 8 for each document.

use std::io::{BufWriter, Write};
use std::path::Path;

use tarflume_formats::publish::{Published, TempFile, folder_of, sweep, sync_folder};
use tarflume_formats::{Error, ErrorKind, Result};

use super::index::IdType;
use super::layout::{MAGIC, MegatronPaths};

/// Bytes of a write.
const PIECE: usize = 1 << 20;

/// Writes `PREFIX.bin` and `PREFIX.idx`.
#[derive(Debug)]
pub struct Writer {
    paths: MegatronPaths,
    kind: IdType,
    file: TempFile,
    piece: Vec<u8>,
    lengths: Vec<i32>,
    begins: Vec<i64>,
}

impl Writer {
    /// Begins the files; [`IdType::of_vocabulary`] has the usual type.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn create(prefix: &Path, kind: IdType) -> Result<Writer> {
        let paths = MegatronPaths::of(prefix);
        sweep(folder_of(&paths.ids))?;
        let file = temporary(&paths.ids)?;
        Ok(Writer { paths, kind, file, piece: Vec::new(), lengths: Vec::new(), begins: vec![0] })
    }

    /// Adds a sequence to the document.
    ///
    /// # Errors
    /// Returns an error if an id does not fit the type, there are more than `i32::MAX` ids, or the
    /// operating system refuses.
    pub fn sequence(&mut self, ids: &[u32]) -> Result<()> {
        let length = i32::try_from(ids.len()).map_err(|_| {
            Error::new(ErrorKind::Limit, "a sequence has more than 2,147,483,647 ids")
        })?;
        let bits = 8 * self.kind.bytes() as u32 - u32::from(self.kind.is_signed());
        let start = self.piece.len();
        for &id in ids {
            if u64::from(id) >> bits.min(63) != 0 {
                self.piece.truncate(start);
                let text = format!(
                    "the id {id} does not fit the type with code {}; choose a wider one",
                    self.kind.code()
                );
                return Err(Error::new(ErrorKind::Limit, text).with_path(&self.paths.ids));
            }
            let bytes = u64::from(id).to_le_bytes();
            self.piece.extend_from_slice(&bytes[..self.kind.bytes() as usize]);
        }
        self.lengths.push(length);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the document: later sequences belong to the next one.
    pub fn end_document(&mut self) {
        self.begins.push(self.lengths.len() as i64);
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.file.write_all(&self.piece);
        written.map_err(|e| Error::io(e, "write", self.file.path()))?;
        self.piece.clear();
        Ok(())
    }

    /// Publishes both files; replaces none.
    ///
    /// # Errors
    /// Returns an error if a file of one of the names exists or the operating system refuses.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.file.sync()?;
        let index = temporary(&self.paths.index)?;
        self.write_index(&index).map_err(|e| Error::io(e, "write", index.path()))?;
        index.sync()?;
        for (file, path) in [(self.file, &self.paths.ids), (index, &self.paths.index)] {
            if file.publish_new(path)? == Published::AlreadyExists {
                let text = "this file exists; choose another prefix or remove it";
                return Err(Error::new(ErrorKind::Exists, text).with_path(path));
            }
        }
        sync_folder(folder_of(&self.paths.index))
    }

    fn write_index(&self, index: &TempFile) -> std::io::Result<()> {
        let mut to = BufWriter::with_capacity(PIECE, &index.file);
        to.write_all(MAGIC)?;
        to.write_all(&1u64.to_le_bytes())?;
        to.write_all(&[self.kind.code()])?;
        to.write_all(&(self.lengths.len() as u64).to_le_bytes())?;
        to.write_all(&(self.begins.len() as u64).to_le_bytes())?;
        for length in &self.lengths {
            to.write_all(&length.to_le_bytes())?;
        }
        let mut pointer = 0i64;
        for &length in &self.lengths {
            to.write_all(&pointer.to_le_bytes())?;
            pointer += i64::from(length) * self.kind.bytes() as i64;
        }
        for begin in &self.begins {
            to.write_all(&begin.to_le_bytes())?;
        }
        to.flush()
    }
}

fn temporary(path: &Path) -> Result<TempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    TempFile::create(folder_of(path), &name)
}
