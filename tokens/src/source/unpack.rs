//! Opens a file of text that may be compressed with gzip or zstd, as its first bytes show.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::frames::LargeWindow;
use tarflume_formats::panics::GuardedRead;
use tarflume_table::gzip::{GzipMembers, ZstdFrames};

/// Bytes per read.
const PIECE: usize = 256 * 1024;

/// An open file whose reads are repeated after errors that may pass.
struct Steady(File);

impl Read for Steady {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        patiently(|| (&self.0).read(into))
    }
}

/// Opens the file at `path` and returns its text, decompressed.
///
/// # Errors
/// Returns an error if the operating system refuses or `path` is not a regular file.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    let (file, _) = files::open(path)?;
    let mut packed = BufReader::with_capacity(PIECE, Steady(file));
    let first = packed.fill_buf().map_err(|e| refused(e, path))?;
    Ok(match first {
        [0x1f, 0x8b, ..] => {
            Box::new(BufReader::with_capacity(PIECE, GuardedRead(GzipMembers::new(packed))))
        }
        // A zstd frame (RFC 8878, 3.1.1) or a skippable frame (3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let decoder =
                ZstdFrames::new(packed, LargeWindow::LOG).map_err(|e| refused(e, path))?;
            Box::new(BufReader::with_capacity(PIECE, decoder))
        }
        _ => Box::new(packed),
    })
}

/// Returns the failure for an error of a read: the operating system's, or that of a decoder.
pub(super) fn refused(error: io::Error, path: &Path) -> Failure {
    if error.raw_os_error().is_some() {
        return Failure::io(error, "read", path);
    }
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Failure::io(error, "decompress", path);
    }
    if LargeWindow::is(&error) {
        return Failure::usage(LargeWindow::REMEDY).in_file(path);
    }
    let text = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the compressed data ends too early; copy or make the file again".into()
        }
        _ => format!("the compressed data is damaged: {error}; make the file again"),
    };
    Failure::bad_data(text).in_file(path)
}
