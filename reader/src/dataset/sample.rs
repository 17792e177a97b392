//! `DatasetSample`: a sample with its parts in memory, as a data set hands it out.
//!
//! Where the source is mapped or in memory, parts are views that keep it alive; else they share one
//! buffer. Which bytes these are was decided before.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use tarflume_formats::checksum::crc32c;
use tarflume_formats::name;

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Bytes that are shared: a clone copies none.
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
pub struct SampleBytes(Held);

#[derive(Clone)]
enum Held {
    View { source: Arc<dyn Source>, at: u64, length: usize },
    Owned { buffer: Arc<Vec<u8>>, range: Range<usize> },
}

impl SampleBytes {
    /// The `length` bytes at `at`, if the source lends them.
    pub(crate) fn view(source: &Arc<dyn Source>, at: u64, length: usize) -> Option<SampleBytes> {
        source.view(at, length)?;
        Some(SampleBytes(Held::View { source: source.clone(), at, length }))
    }

    pub(crate) fn owned(buffer: &Arc<Vec<u8>>, range: Range<usize>) -> SampleBytes {
        SampleBytes(Held::Owned { buffer: buffer.clone(), range })
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            // What was lent once is lent again.
            Held::View { source, at, length } => source.view(*at, *length).unwrap_or_default(),
            Held::Owned { buffer, range } => &buffer[range.clone()],
        }
    }

    /// Asks whether the file that these bytes are a view of still is what was opened: what a file
    /// loses while it is mapped reads as zeros. To be called after the bytes were used.
    ///
    /// # Errors
    /// The shard was cut, replaced or written to.
    pub fn check(&self) -> Result<()> {
        match &self.0 {
            Held::View { source, .. } => source.check(),
            Held::Owned { .. } => Ok(()),
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
#[derive(Debug, Clone)]
pub struct SamplePart {
    pub(crate) ext: Box<[u8]>,
    pub(crate) bytes: SampleBytes,
    /// Byte of the tar at which it begins.
    pub(crate) at: u64,
    pub(crate) checksum: Option<u32>,
    pub(crate) entry_points: Option<Box<[u8]>>,
}

impl SamplePart {
    /// Its extension; what is not UTF-8 in it is escaped.
    pub fn ext(&self) -> String {
        name::shown(&self.ext)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &SampleBytes {
        &self.bytes
    }

    /// The entry points of a JPEG, if its sidecar has them.
    pub fn entry_points(&self) -> Option<&[u8]> {
        self.entry_points.as_deref()
    }

    /// Compares the bytes with the checksum of the sidecar, which a tar that was indexed by its
    /// headers alone does not have.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if they differ; what [`SampleBytes::check`] finds.
    pub fn verify(&self) -> Result<()> {
        match_checksum(&self.bytes, self.checksum, &self.ext, || self.bytes.check())
            .map_err(|e| e.with_byte(self.at))
    }
}

/// Compares bytes with their checksum. `check` asks the source: a file that was cut is that, and not
/// damaged.
pub(crate) fn match_checksum(
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
    let text = format!(
        "the part '{}' has checksum {found:08x}, not {want:08x} as in the sidecar: its bytes have \
         decayed, or the sidecar is of another tar; `pack verify` tells which",
        name::shown(ext)
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
#[derive(Debug, Clone)]
pub struct DatasetSample {
    pub(crate) key: Box<[u8]>,
    pub(crate) ordinal: u64,
    pub(crate) parts: Vec<SamplePart>,
    pub(crate) path: Arc<std::path::Path>,
}

impl DatasetSample {
    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its place in the data set.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Its parts: all in the order of the tar, or those that were asked for, in that order.
    pub fn parts(&self) -> &[SamplePart] {
        &self.parts
    }

    /// The bytes of the part with this extension.
    pub fn part(&self, ext: &str) -> Option<&SampleBytes> {
        self.find(ext).map(|part| &part.bytes)
    }

    /// The entry points of the part with this extension; `None` if it, or they, are not there.
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
