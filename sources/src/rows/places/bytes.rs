//! `Store`: the bytes of a source file while it is listed or decoded: through a window, or whole in
//! memory after decompression.
//!
//! A read past the end is an error that names the byte. Memory: 256 KiB or the longest read for a
//! window; [`whole_limit`] for decompressed bytes.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::{Failure, units};
use tarflume_formats::Place;
use tarflume_formats::files;
use tarflume_formats::frames::LargeWindow;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_table::gzip::ZstdFrames;

/// Limit on what one thread decompresses at once, of a file of any size.
pub(crate) const WHOLE_MAX: u64 = 1 << 30;
/// What one thread decompresses at once of any file.
const SMALL: u64 = 32 << 20;
/// Further bytes that it decompresses for each byte of the file.
const RATIO: u64 = 96;
/// Bytes that an array may have beside those that the filters can make of its file.
const UNPACKED: u64 = 64 << 20;
/// The best ratio of the filters of arrays.
const VALUES_RATIO: u64 = 1100;
/// Bytes of a read that follows the one before it.
const FAR: usize = 256 << 10;
/// Bytes of a read after a jump.
const NEAR: usize = 16 << 10;

/// The bytes of a source.
#[derive(Debug)]
pub(crate) enum Store {
    /// A file.
    File(Window),
    /// Bytes after decompression.
    Memory(Vec<u8>),
}

/// A file, and a piece of it.
#[derive(Debug)]
pub(crate) struct Window {
    file: Arc<File>,
    path: PathBuf,
    length: u64,
    at: u64,
    bytes: Vec<u8>,
}

impl Store {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or `path` is no regular file.
    pub(crate) fn open(path: &Path) -> Result<Store, Failure> {
        let (file, found) = files::open(path)?;
        let path = path.to_path_buf();
        let file = Arc::new(file);
        Ok(Store::File(Window { file, path, length: found.len(), at: 0, bytes: Vec::new() }))
    }

    /// Returns another window of the same open file; `None` of decompressed bytes.
    pub(crate) fn window(&self) -> Option<Store> {
        let Store::File(Window { file, path, length, .. }) = self else { return None };
        Some(Store::File(Window {
            file: Arc::clone(file),
            path: path.clone(),
            length: *length,
            at: 0,
            bytes: Vec::new(),
        }))
    }

    /// Opens a file that is one or more frames of zstd, of `size` bytes after decompression.
    ///
    /// # Errors
    /// Returns an error as [`Store::open`] does, and if the file is damaged or has another size.
    pub(crate) fn zstd(path: &Path, size: u64) -> Result<Store, Failure> {
        let packed = files::metadata(path, "examine")?.len();
        check_whole(size, packed, path, "")?;
        let store = Store::inflated(path, size, size as usize)?;
        if store.length() == size {
            return Ok(store);
        }
        let found =
            if store.length() > size { "more".to_string() } else { store.length().to_string() };
        let text = format!("it should have {size} bytes after decompression, and has {found}");
        Err(Failure::bad_data(text).in_file(path))
    }

    /// Opens a file that is one or more frames of zstd, of [`whole_limit`] bytes at most.
    ///
    /// # Errors
    /// Returns an error as [`Store::open`] does, and if the file is damaged or larger.
    pub(crate) fn zstd_of_any_size(path: &Path) -> Result<Store, Failure> {
        let packed = files::metadata(path, "examine")?.len();
        let store = Store::inflated(path, whole_limit(packed), 0)?;
        check_whole(store.length(), packed, path, "")?;
        Ok(store)
    }

    /// Decompresses up to one byte more than `most`; `room` are the bytes expected.
    fn inflated(path: &Path, most: u64, room: usize) -> Result<Store, Failure> {
        let (file, _) = files::open(path)?;
        let packed = BufReader::with_capacity(FAR, files::Patient(&file));
        let mut decoder = ZstdFrames::new(packed, LargeWindow::LOG).map_err(|e| wrong(e, path))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|_| no_memory(path))?;
        let read = decoder.by_ref().take(most + 1).read_to_end(&mut bytes);
        read.map_err(|e| wrong(e, path))?;
        Ok(Store::Memory(bytes))
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Store::File(window) => window.length,
            Store::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Returns `length` bytes from `at`.
    ///
    /// # Errors
    /// Returns an error if they are not in the file, or the operating system refuses.
    pub(crate) fn get(&mut self, at: u64, length: usize) -> Result<&[u8], Failure> {
        if at.checked_add(length as u64).is_none_or(|end| end > self.length()) {
            let path = match self {
                Store::File(window) => Some(window.path.clone()),
                Store::Memory(_) => None,
            };
            return Err(Failure::bad_data(format!(
                "{length} bytes are needed, and the file ends at byte {}",
                self.length()
            ))
            .in_place(Place { path, byte: Some(at), key: None }));
        }
        match self {
            Store::File(window) => window.get(at, length),
            Store::Memory(bytes) => Ok(&bytes[at as usize..at as usize + length]),
        }
    }

    /// Returns the N bytes at `at`.
    ///
    /// # Errors
    /// Returns the errors of [`Store::get`].
    pub(crate) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Failure> {
        let mut out = [0; N];
        out.copy_from_slice(self.get(at, N)?);
        Ok(out)
    }
}

fn wrong(e: std::io::Error, path: &Path) -> Failure {
    // The decoder reports damage as an error of no system call.
    match e.raw_os_error() {
        Some(_) => Failure::io(e, "read", path),
        None if e.kind() == std::io::ErrorKind::OutOfMemory => no_memory(path),
        None if LargeWindow::is(&e) => Failure::usage(LargeWindow::REMEDY).in_file(path),
        None => Failure::bad_data(format!("its zstd data is damaged: {e}")).in_file(path),
    }
}

impl Window {
    fn get(&mut self, at: u64, length: usize) -> Result<&[u8], Failure> {
        let end = self.at + self.bytes.len() as u64;
        if at < self.at || at + length as u64 > end {
            // Reading on takes a large piece; a jump takes a small one.
            let piece = if at >= self.at && at <= end + FAR as u64 { FAR } else { NEAR };
            let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
            let piece = piece.max(length).min(left);
            self.bytes.resize(piece, 0);
            self.bytes.shrink_to(FAR.max(piece));
            self.at = at;
            let read = files::read_exact_at(&self.file, &mut self.bytes, at);
            if let Err(error) = read {
                self.bytes.clear();
                return Err(Failure::io(error, "read", &self.path));
            }
        }
        let start = (at - self.at) as usize;
        Ok(&self.bytes[start..start + length])
    }
}

/// Returns the limit on the values of arrays, and so on their rows, for files of `length` bytes. A file of few bytes
/// can declare any number of rows.
pub(crate) fn most_values(length: u64) -> u64 {
    UNPACKED.saturating_add(length.saturating_mul(VALUES_RATIO))
}

/// Returns the limit on what one thread decompresses at once of a file of `packed` bytes: few bytes cannot take much
/// memory.
pub(crate) fn whole_limit(packed: u64) -> u64 {
    SMALL.saturating_add(packed.saturating_mul(RATIO)).min(WHOLE_MAX)
}

/// Refuses a size over the limit of a file of `packed` bytes. `what` follows the path in the message and says what has
/// this size; nothing if the file has it.
///
/// # Errors
/// Returns an error with the size and the remedy.
pub(crate) fn check_whole(size: u64, packed: u64, path: &Path, what: &str) -> Result<(), Failure> {
    let most = whole_limit(packed);
    if size <= most {
        return Ok(());
    }
    Err(Failure::usage(message!(
        "{path}{what} has {} after decompression, and of a file of {} each thread decompresses up to {} at once; write it \
         again without compression, or in smaller pieces",
        units::bytes(size),
        units::bytes(packed),
        units::bytes(most);
        path = path
    ))
    .with_file(path))
}

fn no_memory(path: &Path) -> Failure {
    let error = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
    Failure::io(error, "decompress", path)
        .with_remedy(message!("use fewer threads with {jobs}"; jobs = Name::Jobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_take_little_memory_and_many_take_no_more_than_a_limit() {
        assert!(whole_limit(1 << 20) <= 128 << 20);
        assert_eq!(whole_limit(30 << 20), WHOLE_MAX);
        assert_eq!(whole_limit(u64::MAX), WHOLE_MAX);
    }

    #[test]
    fn a_window_gives_the_bytes_of_the_file_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let all: Vec<u8> = (0..1_000_000u32).map(|i| (i / 7) as u8 ^ (i / 1000) as u8).collect();
        std::fs::write(&path, &all).unwrap();
        let mut store = Store::open(&path).unwrap();
        let mut at = 0usize;
        for n in 0..2000usize {
            at = (at * 31 + n * 7919) % all.len();
            let length = (n * 613 % 40_000).min(all.len() - at);
            assert!(store.get(at as u64, length).unwrap() == &all[at..at + length]);
        }
        assert!(store.get(0, all.len()).unwrap() == all);
        assert!(store.get(999_999, 2).unwrap_err().text().contains("ends at byte 1000000"));
        assert!(store.get(u64::MAX, 2).is_err());
    }

    #[test]
    fn zstd_of_another_size_or_damaged_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.zstd");
        let packed = zstd::bulk::compress(&[7; 5000], 3).unwrap();
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(Store::zstd(&path, 5000).unwrap().get(4999, 1).unwrap(), [7]);
        for size in [4999, 5001] {
            assert!(Store::zstd(&path, size).unwrap_err().text().contains("should have"));
        }
        assert!(
            Store::zstd(&path, WHOLE_MAX + 1).unwrap_err().text().contains("without compression")
        );
        std::fs::write(&path, b"no zstd").unwrap();
        assert!(Store::zstd(&path, 5000).unwrap_err().text().contains("damaged"));
    }
}
