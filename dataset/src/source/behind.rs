//! What follows the samples of a tar that is no file of this machine: `check_end` reads only that, and only if the sidecar
//! and the length of the tar leave room for more than the end marker.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tarflume_formats::{
    ErrorKind as FormatErrorKind, IgnorePoison, Index, ReadAt, Reading, TarReader, probe,
};
use tarflume_types::{Error, Result};

use crate::source::Source;

/// Bytes of the first request: more than the padding of GNU tar (10,240 bytes at most), so that it is the only one.
const WINDOW: u64 = 64 << 10;

/// Checks that the sidecar of a plain tar does not list the first of joined tars alone, as earlier versions made it.
///
/// # Errors
/// [`ErrorKind::Damaged`](tarflume_types::ErrorKind::Damaged) with the place: more than zeros follows the end marker behind the
/// last sample. Returns an error if the tar cannot be read.
pub(crate) fn check_end(source: &Arc<dyn Source>, tar: &Path, index: &Index) -> Result<()> {
    if index.is_compressed() || probe::ends_at_marker(index)? {
        return Ok(());
    }
    // Bytes that were damaged on their way, or in a cache of this machine, are no fault of the tar.
    match check_by(source, tar, index, false) {
        Err(error) if !error.spares_samples() => check_by(source, tar, index, true),
        checked => checked,
    }
}

fn check_by(source: &Arc<dyn Source>, tar: &Path, index: &Index, is_again: bool) -> Result<()> {
    let window = Mutex::new(Window::default());
    let bytes = BytesBehind { source: source.clone(), window, is_again };
    let mut reader = TarReader::of(Box::new(bytes), tar, source.len(), Reading::Headers);
    let checked = probe::check_end_in(index, &mut reader, tar);
    match checked.as_ref().err().and_then(of_source) {
        Some(error) => Err(error),
        None => only_joined(checked),
    }
}

/// The error of the source, if a read of it failed.
fn of_source(error: &tarflume_formats::Error) -> Option<Error> {
    error.io_error()?.get_ref()?.downcast_ref::<Error>().cloned()
}

/// Of what was found at the end of a tar, the errors of joined tars and of the machine. A sidecar may leave out samples,
/// and damage of the last one spoils no other.
///
/// # Errors
/// Those errors.
pub(crate) fn only_joined(checked: tarflume_formats::Result<()>) -> Result<()> {
    match checked {
        Err(error) if matches!(error.kind(), FormatErrorKind::AfterEnd | FormatErrorKind::Io) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// Bytes of a source that were read together.
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

/// A source whose small reads, one behind the other, are few requests.
struct BytesBehind {
    source: Arc<dyn Source>,
    window: Mutex<Window>,
    /// True if the bytes were read before, and may have been wrong.
    is_again: bool,
}

impl fmt::Debug for BytesBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BytesBehind").field(&self.source).finish()
    }
}

impl BytesBehind {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let read = if self.is_again {
            self.source.read_again(at, into)
        } else {
            self.source.read_at(at, into)
        };
        read.map_err(io::Error::other) // `of_source` takes it out
    }
}

impl ReadAt for BytesBehind {
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let mut window = self.window.lock().ignore_poison();
        let have = window.at..window.at + window.bytes.len() as u64;
        if at < have.start || at + into.len() as u64 > have.end {
            let length = WINDOW.max(into.len() as u64).min(self.source.len().saturating_sub(at));
            window.at = at;
            window.bytes.clear(); // after an error it is empty
            let mut bytes = vec![0; length as usize];
            self.read(at, &mut bytes)?;
            window.bytes = bytes;
        }
        let start = (at - window.at) as usize;
        let found = window.bytes.get(start..start + into.len());
        into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tarflume_fixtures::TarBytes;
    use tarflume_formats::index::{IndexBuilder, TarFacts};
    use tarflume_types::ErrorKind;

    use super::*;

    /// A tar in memory that counts its reads. The first of them may have a wrong byte.
    #[derive(Debug)]
    struct Counted {
        bytes: Vec<u8>,
        reads: AtomicUsize,
        wrong: Option<usize>,
    }

    impl Source for Counted {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
            let at = at as usize;
            into.copy_from_slice(&self.bytes[at..at + into.len()]);
            if self.reads.fetch_add(1, Ordering::Relaxed) == 0
                && let Some(place) = self.wrong
            {
                into[place - at] ^= 1;
            }
            Ok(())
        }
    }

    fn tar_of(name: &[u8], padded: usize) -> Vec<u8> {
        let mut tar = TarBytes::new().member(name, b"x").ended();
        tar.resize(padded, 0);
        tar
    }

    /// Checks the sidecar of the first member, and returns the number of reads.
    fn checked(bytes: Vec<u8>, wrong: Option<usize>) -> (Result<()>, usize) {
        let mut index = IndexBuilder::new();
        index.sample(b"a", 0);
        index.part(b"txt", 512, 1, None).unwrap();
        let facts = TarFacts { length: bytes.len() as u64, digest: None };
        let index = Index::from_bytes(index.encode(&facts).unwrap()).unwrap();
        let counted = Arc::new(Counted { bytes, reads: AtomicUsize::new(0), wrong });
        let source: Arc<dyn Source> = counted.clone();
        let checked = check_end(&source, Path::new("s3://bucket/a.tar"), &index);
        (checked, counted.reads.load(Ordering::Relaxed))
    }

    #[test]
    fn nothing_is_read_of_a_tar_without_padding_and_padding_is_one_read() {
        let (found, reads) = checked(tar_of(b"a.txt", 2048), None);
        assert_eq!((found.is_ok(), reads), (true, 0));
        let (found, reads) = checked(tar_of(b"a.txt", 10_240), None);
        assert_eq!((found.is_ok(), reads), (true, 1));
    }

    #[test]
    fn another_tar_behind_the_end_marker_is_an_error() {
        for padded in [2048, 10_240, 200_704] {
            let joined = [tar_of(b"a.txt", padded), tar_of(b"b.txt", padded)].concat();
            let (found, _) = checked(joined, None);
            let error = found.unwrap_err();
            assert_eq!(
                (error.kind(), error.place().byte),
                (ErrorKind::Damaged, Some(padded as u64))
            );
            let text = error.to_string();
            assert!(text.contains("s3://bucket/a.tar"), "{text}");
            assert!(text.contains("pack index --force --ignore-zeros s3://bucket`"), "{text}");
        }
    }

    /// A store that does not answer.
    #[derive(Debug)]
    struct Silent(u64);

    impl Source for Silent {
        fn len(&self) -> u64 {
            self.0
        }

        fn read_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
            Err(Error::new(ErrorKind::Network, "no answer").with_path("s3://bucket/a.tar"))
        }
    }

    #[test]
    fn a_source_that_fails_is_the_error_with_its_kind() {
        let mut index = IndexBuilder::new();
        index.sample(b"a", 0);
        index.part(b"txt", 512, 1, None).unwrap();
        let facts = TarFacts { length: 10_240, digest: None };
        let index = Index::from_bytes(index.encode(&facts).unwrap()).unwrap();
        let source: Arc<dyn Source> = Arc::new(Silent(10_240));
        let error = check_end(&source, Path::new("s3://bucket/a.tar"), &index).unwrap_err();
        assert_eq!((error.kind(), error.text()), (ErrorKind::Network, "no answer"));
    }

    #[test]
    fn bytes_that_are_wrong_once_are_read_again() {
        let (found, reads) = checked(tar_of(b"a.txt", 10_240), Some(9_000));
        assert_eq!((found.is_ok(), reads), (true, 2));
    }
}
