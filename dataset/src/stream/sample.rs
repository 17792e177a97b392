//! `StreamSample`: one complete sample of a stream, in memory.
//!
//! Dropping it returns its memory to the stream that read it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tarflume_formats::name;

use super::buffers::{Body, BufferPool};
use tarflume_formats::shown::ShowPath;

/// A sample: its key and its parts in one buffer, which returns to the stream when this is dropped.
///
/// ```
/// use tarflume::Stream;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?;
/// let sample = stream.samples(0)?.next().unwrap()?;
/// assert_eq!((sample.key(), sample.part("txt")), (&b"photo/000"[..], Some(&b"photo 0"[..])));
/// # Ok(())
/// # }
/// ```
pub struct StreamSample {
    pub(super) shard: Arc<Path>,
    pub(super) shard_number: u64,
    pub(super) row: u64,
    pub(super) first: u64,
    pub(super) body: Body,
    pub(super) pool: Arc<BufferPool>,
    /// Bytes that the queue was charged.
    pub(super) charged: u64,
}

impl StreamSample {
    /// The shard: a path, or the name that was given for it.
    pub fn shard(&self) -> &Path {
        &self.shard
    }

    /// Number of the shard in the stream's list.
    pub fn shard_number(&self) -> u64 {
        self.shard_number
    }

    /// Number of the sample in its shard, counting bad samples.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Byte offset of its first header in the (unpacked) tar.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.body.names[..self.body.key]
    }

    /// The parts in the order of the tar: extension in ASCII lower case, and bytes.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.body.parts.iter().map(|span| {
            let ext = &self.body.names[span.ext.0..span.ext.1];
            (ext, &self.body.data[span.data.0..span.data.1])
        })
    }

    /// The bytes of the part with extension `ext`.
    pub fn part(&self, ext: &str) -> Option<&[u8]> {
        self.parts().find(|(found, _)| *found == ext.as_bytes()).map(|(_, data)| data)
    }

    /// The bytes of the `n`th part, and their offset in the (unpacked) tar.
    #[doc(hidden)]
    #[inline]
    pub fn nth(&self, n: usize) -> (&[u8], u64) {
        let span = &self.body.parts[n];
        (&self.body.data[span.data.0..span.data.1], span.at)
    }

    /// Bytes of the stream's memory that it is charged for while the caller holds it.
    #[doc(hidden)]
    #[inline]
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// Total bytes of its parts.
    pub fn bytes(&self) -> u64 {
        self.body.used as u64
    }

    /// Bytes of memory that it uses.
    pub fn cost(&self) -> u64 {
        self.body.cost()
    }
}

impl Drop for StreamSample {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.body), self.charged);
    }
}

impl fmt::Debug for StreamSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shard = self.shard.shown();
        let key = name::shown(self.key());
        write!(f, "StreamSample({shard}, {key}, {} parts)", self.body.parts.len())
    }
}
