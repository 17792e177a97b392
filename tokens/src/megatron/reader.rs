//! `Reader`: documents of a data set of Megatron-LM, in order.

use std::fs::File;
use std::path::Path;

use tarflume_formats::{Error, ErrorKind, Result, files};

use super::index::{Bytes, IdType, Index, Sequence};
use super::layout::MegatronPaths;

/// Limit on the bytes of a document's ids.
const LONGEST: u64 = 1 << 30;

/// The two files, opened. A method that reads a document holds its ids and 2 MiB of the index.
#[derive(Debug)]
pub struct Reader {
    data: File,
    index: Index<File>,
    paths: MegatronPaths,
    bytes: Vec<u8>,
}

impl Reader {
    /// Opens `PREFIX.bin` and `PREFIX.idx`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be opened or the index is none.
    pub fn open(prefix: &Path) -> Result<Reader> {
        let paths = MegatronPaths::of(prefix);
        let (data, found) = files::open(&paths.ids)?;
        let (index, _) = files::open(&paths.index)?;
        let index = Index::open(index, found.len()).map_err(|e| e.with_path(&paths.index))?;
        Ok(Reader { data, index, paths, bytes: Vec::new() })
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> u64 {
        self.index.documents
    }

    /// Returns the number of sequences.
    pub fn sequences(&self) -> u64 {
        self.index.sequences
    }

    /// Returns the type of ids.
    pub fn kind(&self) -> IdType {
        self.index.kind
    }

    /// Returns the paths of ids and index.
    pub fn paths(&self) -> &MegatronPaths {
        &self.paths
    }

    /// Replaces `into` by the sequences of a document, each as a list of ids.
    ///
    /// # Errors
    /// Returns an error with path and byte if the index is wrong there, an id is negative or larger
    /// than `u32::MAX`, the document is longer than 1 GiB, or reading fails.
    pub fn document(&mut self, number: u64, into: &mut Vec<Vec<u32>>) -> Result<()> {
        into.clear();
        let mut total = 0u64;
        for sequence in self.index.document(number).map_err(|e| e.with_path(&self.paths.index))? {
            let Sequence { at, count } =
                self.index.sequence(sequence).map_err(|e| e.with_path(&self.paths.index))?;
            let bytes = count * self.index.kind.bytes(); // at most the bytes of the file
            total = total.saturating_add(bytes);
            if total > LONGEST {
                let text = format!("document {number} has more than {LONGEST} bytes");
                return Err(Error::new(ErrorKind::Limit, text).with_path(&self.paths.ids));
            }
            self.bytes.resize(bytes as usize, 0);
            let read = Bytes::read(&self.data, &mut self.bytes, at);
            read.map_err(|e| Error::io(e, "read the ids", &self.paths.ids).with_byte(at))?;
            into.push(self.ids(at)?);
        }
        Ok(())
    }

    /// Returns the ids in the buffer, which begins at byte `at` of the file.
    fn ids(&self, at: u64) -> Result<Vec<u32>> {
        let kind = self.index.kind;
        let width = kind.bytes() as usize;
        let mut ids = Vec::with_capacity(self.bytes.len() / width);
        for (number, own) in self.bytes.chunks_exact(width).enumerate() {
            let value = own.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
            let negative = kind.is_signed() && own.last().is_some_and(|byte| byte & 0x80 != 0);
            let id = u32::try_from(value).ok().filter(|_| !negative);
            ids.push(id.ok_or_else(|| {
                let text = "an id is negative or larger than 4,294,967,295";
                Error::new(ErrorKind::Limit, text)
                    .with_path(&self.paths.ids)
                    .with_byte(at + (number * width) as u64)
            })?);
        }
        Ok(ids)
    }
}
