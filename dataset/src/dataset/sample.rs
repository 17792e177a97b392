//! `DatasetSample`: a sample with its parts in memory, as `Dataset::get` returns it.
//!
//! Parts are views that keep the source alive if it is mapped or in memory; otherwise they share one
//! buffer. Reads nothing itself.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::shown::Quoted;
use tarflume_formats::{crc32c, name};
use tarflume_types::{Error, ErrorKind, Result};

use crate::source::Source;

/// Shared bytes. Cloning copies no bytes.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let sample = Dataset::open(shards)?.get(0)?;
/// let text = sample.part("txt").unwrap().clone(); // keeps its memory alive, copies nothing
/// assert_eq!(text.as_slice(), b"photo 0");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SampleBytes(Storage);

#[derive(Clone)]
enum Storage {
    View { source: Arc<dyn Source>, at: u64, length: usize },
    Owned { buffer: Arc<Vec<u8>>, range: Range<usize> },
}

impl SampleBytes {
    /// A view of `length` bytes at `at`; `None` if the source does not support views.
    pub(crate) fn view(source: &Arc<dyn Source>, at: u64, length: usize) -> Option<SampleBytes> {
        source.view(at, length)?;
        Some(SampleBytes(Storage::View { source: source.clone(), at, length }))
    }

    pub(crate) fn owned(buffer: &Arc<Vec<u8>>, range: Range<usize>) -> SampleBytes {
        SampleBytes(Storage::Owned { buffer: buffer.clone(), range })
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Storage::View { source, at, length } => {
                source.view(*at, *length).expect("a source that gave a view gives it again")
            }
            Storage::Owned { buffer, range } => &buffer[range.clone()],
        }
    }

    /// Checks that the mapped file is unchanged. Call it after using the bytes: bytes that a mapped
    /// file loses read as zeros.
    ///
    /// # Errors
    /// Returns an error if the shard was truncated, replaced or written to.
    pub fn check(&self) -> Result<()> {
        match &self.0 {
            Storage::View { source, .. } => source.check(),
            Storage::Owned { .. } => Ok(()),
        }
    }
}

impl Deref for SampleBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for SampleBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SampleBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleBytes({})", self.len())
    }
}

/// One part of a sample.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let sample = Dataset::open(shards)?.get(0)?;
/// let exts: Vec<String> = sample.parts().iter().map(|part| part.ext()).collect();
/// assert_eq!(exts, ["jpg", "json", "txt"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SamplePart {
    pub(crate) ext: Box<[u8]>,
    pub(crate) bytes: SampleBytes,
    /// Byte of the tar at which the part begins.
    pub(crate) at: u64,
    pub(crate) checksum: Option<u32>,
    pub(crate) entry_points: Option<Box<[u8]>>,
}

impl fmt::Debug for SamplePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SamplePart");
        shown.field("ext", &Quoted(&self.ext)).field("at", &self.at).field("bytes", &self.bytes);
        let points = self.entry_points.as_ref().map(|points| points.len());
        shown.field("checksum", &self.checksum).field("bytes_of_entry_points", &points).finish()
    }
}

impl SamplePart {
    /// The extension. Bytes that are not UTF-8 are escaped.
    pub fn ext(&self) -> String {
        name::shown(&self.ext)
    }

    /// The bytes of the part.
    pub fn bytes(&self) -> &SampleBytes {
        &self.bytes
    }

    /// The entry points of a JPEG, if the sidecar has them.
    pub fn entry_points(&self) -> Option<&[u8]> {
        self.entry_points.as_deref()
    }

    /// The byte of the tar at which the part begins.
    #[doc(hidden)]
    pub fn first(&self) -> u64 {
        self.at
    }

    /// Compares the bytes with the checksum in the sidecar. A tar that was indexed by its headers only
    /// has no checksums; then this succeeds.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if they differ. As [`SampleBytes::check`].
    pub fn verify(&self) -> Result<()> {
        match_checksum(&self.bytes, self.checksum, &self.ext, || self.bytes.check())
            .map_err(|e| e.with_byte(self.at))
    }
}

/// Compares bytes with their checksum. On a mismatch, `check` runs first, so that a truncated file is
/// reported as truncated and not as damaged.
pub fn match_checksum(
    bytes: &[u8],
    checksum: Option<u32>,
    ext: &[u8],
    check: impl Fn() -> Result<()>,
) -> Result<()> {
    let Some(want) = checksum else { return Ok(()) };
    let found = crc32c(bytes);
    if found == want {
        return Ok(());
    }
    check()?;
    let text = message!(
        "the part '{}' has checksum {found:08x}, not {want:08x} as in the sidecar: its bytes are \
         damaged, or the sidecar belongs to another tar; `{verify}` tells which",
        name::shown(ext);
        verify = Call::of(Task::Verify)
    );
    Err(Error::new(ErrorKind::Damaged, text))
}

/// One sample.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let sample = Dataset::open(shards)?.get_key("photo/005")?.unwrap();
/// assert_eq!((sample.ordinal(), sample.parts().len()), (5, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DatasetSample {
    pub(crate) key: Box<[u8]>,
    pub(crate) ordinal: u64,
    pub(crate) parts: Vec<SamplePart>,
    pub(crate) path: Arc<std::path::Path>,
}

impl fmt::Debug for DatasetSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatasetSample")
            .field("key", &Quoted(&self.key))
            .field("ordinal", &self.ordinal)
            .field("path", &self.path)
            .field("parts", &self.parts)
            .finish()
    }
}

impl DatasetSample {
    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The ordinal in the data set.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// The parts: all in the order of the tar, or the requested ones in the requested order.
    pub fn parts(&self) -> &[SamplePart] {
        &self.parts
    }

    /// The bytes of the part with this extension.
    pub fn part(&self, ext: &str) -> Option<&SampleBytes> {
        self.find(ext).map(|part| &part.bytes)
    }

    /// The entry points of the part with this extension; `None` if the part or its entry points do not exist.
    pub fn entry_points(&self, ext: &str) -> Option<&[u8]> {
        self.find(ext).and_then(SamplePart::entry_points)
    }

    fn find(&self, ext: &str) -> Option<&SamplePart> {
        self.parts.iter().find(|part| part.ext.eq_ignore_ascii_case(ext.as_bytes()))
    }

    /// Compares every part with its checksum.
    ///
    /// # Errors
    /// As [`SamplePart::verify`], with path and key.
    pub fn verify(&self) -> Result<()> {
        for part in &self.parts {
            part.verify().map_err(|e| e.with_path(&self.path).with_key(name::shown(&self.key)))?;
        }
        Ok(())
    }
}
