//! Decompression of tars that other programs compressed: gzip, bzip2, xz and zstd, from the start on.
//!
//! [`Forward`] reads at ascending positions of the decompressed bytes. A lower position starts again at the
//! first byte, so the caller's order determines the cost. Memory: the decoder's window.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, Patient};
use tarflume_formats::frames::LargeWindow;
use tarflume_formats::panics::GuardedRead;
use tarflume_table::gzip::{GzipMembers, MemberDecoder, Members, ZstdFrames};

/// The kind of a compressed source, in plans.
pub(crate) const STREAM: &str = "stream";
/// Bytes read from the file at a time.
const BUFFER: usize = 256 << 10;
/// Limit on the memory of an xz decoder, in KiB: the strongest preset needs 65 MiB.
const XZ_KIB: u32 = 256 << 10;

/// A compression of whole files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Codec {
    const ALL: [Codec; 4] = [Codec::Gzip, Codec::Bzip2, Codec::Xz, Codec::Zstd];

    /// Returns its name in plans and messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
            Codec::Zstd => "zstd",
        }
    }

    /// Returns the codec with this name.
    pub(crate) fn from_word(word: &str) -> Option<Codec> {
        Codec::ALL.into_iter().find(|codec| codec.word() == word)
    }

    /// Returns the codec of a file by its first bytes; `None` if it is none of these.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn of(path: &Path) -> Result<Option<Codec>, Failure> {
        let (file, found) = files::open(path)?;
        let mut head = [0; 6];
        let length = head.len().min(found.len() as usize);
        files::read_exact_at(&file, &mut head[..length], 0)
            .map_err(|e| Failure::io(e, "read", path))?;
        Ok(match head {
            [0x1f, 0x8b, ..] => Some(Codec::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Codec::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Codec::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Codec::Zstd),
            // A skippable frame of zstd.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Codec::Zstd),
            _ => None,
        })
    }
}

/// The decompressed bytes of a file, read at ascending positions.
pub(crate) struct Forward {
    path: PathBuf,
    codec: Codec,
    stream: Box<dyn Read + Send>,
    at: u64,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Forward { path, codec, at, .. } = self;
        write!(f, "Forward({} {}, byte {at})", codec.word(), path.display())
    }
}

impl Forward {
    /// Opens a file at the first decompressed byte.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open(path: &Path, codec: Codec) -> Result<Forward, Failure> {
        let stream = open(path, codec)?;
        Ok(Forward { path: path.to_path_buf(), codec, stream, at: 0 })
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Fills `space` with the bytes from `at`; returns the number of bytes before the end of the data.
    ///
    /// # Errors
    /// Returns an error if the compressed data is damaged or the operating system refuses.
    pub(crate) fn read_at(&mut self, at: u64, space: &mut [u8]) -> Result<usize, Failure> {
        if at < self.at {
            (self.stream, self.at) = (open(&self.path, self.codec)?, 0);
        }
        self.skip_to(at)?;
        let mut filled = 0;
        while filled < space.len() {
            match self.stream.read(&mut space[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.refused(e)),
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }

    /// Decompresses up to `at`, or to the end of the data.
    ///
    /// # Errors
    /// As [`Forward::read_at`].
    pub(crate) fn skip_to(&mut self, at: u64) -> Result<(), Failure> {
        let skipped = io::copy(&mut self.stream.by_ref().take(at - self.at), &mut io::sink());
        self.at += skipped.map_err(|e| self.refused(e))?;
        Ok(())
    }

    fn refused(&self, error: io::Error) -> Failure {
        match error.raw_os_error() {
            Some(_) => Failure::io(error, "read", &self.path),
            // The decoder of xz refuses to exceed its limit with the same kind.
            None if error.kind() == io::ErrorKind::OutOfMemory && self.codec == Codec::Xz => {
                Failure::usage(format!(
                    "its xz data needs more than {} MiB of memory; compress it with a smaller window",
                    XZ_KIB >> 10
                ))
                .in_file(&self.path)
            }
            None if error.kind() == io::ErrorKind::OutOfMemory => {
                Failure::io(error, "decompress", &self.path)
            }
            None if LargeWindow::is(&error) => {
                Failure::usage(LargeWindow::REMEDY).in_file(&self.path)
            }
            // Decoders report damage as an error of no system call.
            None => Failure::bad_data(format!(
                "its {} data is damaged after byte {} of the decompressed tar: {error}",
                self.codec.word(),
                self.at
            ))
            .in_file(&self.path),
        }
    }
}

fn open(path: &Path, codec: Codec) -> Result<Box<dyn Read + Send>, Failure> {
    let file = BufReader::with_capacity(BUFFER, PatientFile(files::open(path)?.0));
    Ok(match codec {
        Codec::Gzip => Box::new(GuardedRead(GzipMembers::new(file))),
        Codec::Bzip2 => Box::new(GuardedRead(Members::<_, Bzip2Member<_>>::new(file))),
        Codec::Xz => Box::new(GuardedRead(Members::<_, XzMember<_>>::new(file))),
        Codec::Zstd => {
            let frames = ZstdFrames::new(file, LargeWindow::LOG);
            Box::new(frames.map_err(|e| Failure::io(e, "decompress", path))?)
        }
    })
}

/// A decoder of one member of a bzip2 file.
struct Bzip2Member<R>(bzip2::bufread::BzDecoder<R>);

impl<R: BufRead> Read for Bzip2Member<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl<R: BufRead> MemberDecoder<R> for Bzip2Member<R> {
    fn begin(reader: R) -> Self {
        Bzip2Member(bzip2::bufread::BzDecoder::new(reader))
    }

    fn reader(&mut self) -> &mut R {
        self.0.get_mut()
    }

    fn into_reader(self) -> R {
        self.0.into_inner()
    }
}

/// A decoder of one stream of an xz file.
struct XzMember<R: Read>(lzma_rust2::XzReader<R>);

impl<R: BufRead> Read for XzMember<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl<R: BufRead> MemberDecoder<R> for XzMember<R> {
    fn begin(reader: R) -> Self {
        XzMember(lzma_rust2::XzReader::new_mem_limit(reader, false, XZ_KIB))
    }

    fn reader(&mut self) -> &mut R {
        self.0.inner_mut()
    }

    fn into_reader(self) -> R {
        self.0.into_inner()
    }
}

/// A file whose reads are repeated after transient errors.
struct PatientFile(File);

impl Read for PatientFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Patient(&self.0).read(into)
    }
}
