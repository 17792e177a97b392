//! `OutFile`: one output file, written in large pieces under a temporary name. It gets its final
//! name once it is complete, and replaces nothing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{Published, TempFile, folder_of};

/// Bytes of one write.
const PIECE: usize = 256 * 1024;

/// A file that is removed on drop unless it is published.
#[derive(Debug)]
pub(super) struct OutFile {
    temp: TempFile,
    target: PathBuf,
    buffer: Vec<u8>,
    /// Bytes that have left the buffer.
    written: u64,
}

impl OutFile {
    /// Creates the file that will be `target`, in the same folder.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn create(target: &Path) -> Result<OutFile, Failure> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temp = TempFile::create(folder_of(target), &name)?;
        let buffer = Vec::with_capacity(2 * PIECE);
        Ok(OutFile { temp, target: target.into(), buffer, written: 0 })
    }

    /// Returns its temporary path.
    #[cfg(feature = "tables")]
    pub(super) fn path(&self) -> &Path {
        self.temp.path()
    }

    /// Returns the number of bytes so far.
    #[cfg(test)]
    pub(super) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|e| Failure::io(e, "write", self.temp.path()))
    }

    fn empty(&mut self) -> io::Result<()> {
        self.temp.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Gives the complete file its name; returns its bytes.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if a file has the name.
    pub(super) fn publish(mut self, durability: Durability) -> Result<u64, Failure> {
        self.empty().map_err(|e| Failure::io(e, "write", self.temp.path()))?;
        if durability == Durability::Synced {
            self.temp.sync()?;
        }
        match self.temp.publish_new(&self.target)? {
            Published::New => Ok(self.written),
            Published::AlreadyExists => Err(Failure::usage(
                message!("it exists; remove it, or give another name with {out}"; out = Name::Out),
            )
            .in_file(&self.target)),
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.is_empty() && bytes.len() >= PIECE {
            self.temp.file.write_all(bytes)?;
            self.written += bytes.len() as u64;
            return Ok(bytes.len());
        }
        // Pieces of about this size stay in the cache between the two copies.
        let room = PIECE.saturating_sub(self.buffer.len()).max(1);
        let taken = if bytes.len() < PIECE { bytes.len() } else { room };
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() >= PIECE {
            self.empty()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_make_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let data: Vec<u8> = (0..3 * PIECE as u32).map(|i| ((i * 31) >> 3) as u8).collect();
        for (n, piece) in [1000, PIECE - 1, PIECE, PIECE + 1, data.len()].into_iter().enumerate() {
            let target = dir.path().join(format!("file-{n}"));
            let mut file = OutFile::create(&target).unwrap();
            data.chunks(piece).for_each(|piece| file.put(piece).unwrap());
            assert_eq!(file.position(), data.len() as u64);
            assert_eq!(file.publish(Durability::Cached).unwrap(), data.len() as u64);
            assert_eq!(std::fs::read(&target).unwrap(), data);
        }
    }

    #[test]
    fn an_existing_file_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), b"old").unwrap();
        let mut file = OutFile::create(&dir.path().join("x")).unwrap();
        file.put(b"new").unwrap();
        let failure = file.publish(Durability::Cached).unwrap_err();
        assert!(failure.text().contains("exists"), "{failure}");
        assert_eq!(std::fs::read(dir.path().join("x")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
