//! `Decoder`: the public entry point, for single pictures and groups.

use crate::decoding::group::{DecoderState, Group};
use crate::error::Result;
use crate::picture::job::{Job, Report};

/// Decodes JPEGs. It reuses its memory from picture to picture, so each thread should keep one.
#[derive(Debug, Default)]
pub struct Decoder(DecoderState);

impl Decoder {
    /// Creates a decoder with the best kernels for this processor.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Decodes one picture.
    ///
    /// # Errors
    /// Returns the errors that [`Decoder::decode_group`] describes.
    pub fn decode(&mut self, job: Job<'_>) -> Result<Report> {
        let mut result = Ok(Report::default());
        self.decode_group([job], |_, found| result = found);
        result
    }

    /// Decodes several pictures at once, in this thread: while one stream waits for its tables, the
    /// others continue. Jobs are taken as streams become free; with four or more all streams stay
    /// busy until the last ones. `done` is called for each job with its number, in any order. A
    /// picture that cannot be decoded has no effect on the others; the content of its output is
    /// then unspecified.
    ///
    /// `done` gets these errors:
    /// - [`crate::ErrorKind::Damaged`]: the JPEG is damaged; byte and row of MCUs are named;
    /// - [`crate::ErrorKind::Unsupported`]: this kind is not decoded;
    /// - [`crate::ErrorKind::Limit`]: memory is exhausted, or the job needs more than
    ///   [`Decoder::set_memory`] allows;
    /// - [`crate::ErrorKind::Excerpt`]: the job has an excerpt that cannot be used;
    /// - [`crate::ErrorKind::Usage`]: the region is not within the picture, or the output is too
    ///   small.
    pub fn decode_group<'a>(
        &mut self,
        jobs: impl IntoIterator<Item = Job<'a>>,
        done: impl FnMut(usize, Result<Report>),
    ) {
        Group::new(&mut self.0, jobs.into_iter(), done).run();
    }

    /// Frees buffers of more than `bytes` bytes, which a single huge picture may have caused.
    pub fn drop_large(&mut self, bytes: usize) {
        self.0.drop_large(bytes);
    }

    /// Limits the bytes that one job may take, as computed in advance by [`crate::Header::memory`],
    /// with [`crate::Header::memory_to_keep`] if damaged pictures are kept; unlimited by default.
    /// Progressive pictures take two bytes per pixel and more.
    pub fn set_memory(&mut self, bytes: u64) {
        self.0.set_memory(bytes);
    }

    /// Returns the name of the kernels for this processor: `avx512`, `avx2`, `sse4.1`, `neon` or
    /// `portable`.
    pub fn kernels(&self) -> &'static str {
        self.0.kernels()
    }

    /// Limits the number of streams that are decoded in turn, 1 to 4; 4 by default. For
    /// measurements.
    pub fn set_streams(&mut self, streams: usize) {
        self.0.set_streams(streams);
    }
}
