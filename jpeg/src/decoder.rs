//! `Decoder`: the door to pictures, one by one or in groups.

use crate::error::Result;
use crate::group::{Group, Hands};
use crate::job::{Job, Report};

/// Decodes JPEGs. What it needs for one picture is kept for the next; a thread should keep one.
#[derive(Debug, Default)]
pub struct Decoder(Hands);

impl Decoder {
    /// A decoder that uses what this processor has.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Decodes one picture.
    ///
    /// # Errors
    /// As [`Decoder::decode_group`] tells them.
    pub fn decode(&mut self, job: Job<'_>) -> Result<Report> {
        let mut result = Ok(Report::default());
        self.decode_group([job], |_, found| result = found);
        result
    }

    /// Decodes several pictures at once, in this thread: while one stream waits for its tables, others
    /// go on. Jobs are taken as streams become free; four or more keep all busy to the end but for the
    /// last. `done` is told of each, by its number, in any order. A picture that can't be decoded has
    /// no effect on the others; its own output is then of no use.
    ///
    /// The errors that `done` is told:
    /// - [`crate::ErrorKind::Damaged`]: byte and row of MCUs are named;
    /// - [`crate::ErrorKind::Unsupported`]: this kind is not decoded;
    /// - [`crate::ErrorKind::Limit`]: there is no memory for it, or more than [`Decoder::set_memory`] allows;
    /// - [`crate::ErrorKind::Usage`]: the region is not within the picture, or the output too small.
    pub fn decode_group<'a>(
        &mut self,
        jobs: impl IntoIterator<Item = Job<'a>>,
        done: impl FnMut(usize, Result<Report>),
    ) {
        Group::new(&mut self.0, jobs.into_iter(), done).run();
    }

    /// Gives back buffers of more than `bytes` bytes, which one huge picture made so large.
    pub fn drop_large(&mut self, bytes: usize) {
        self.0.drop_large(bytes);
    }

    /// The most bytes that one job may take, as [`crate::Header::memory`] says it beforehand; no limit unless
    /// set. Progressive pictures take two bytes and more a pixel.
    pub fn set_memory(&mut self, bytes: u64) {
        self.0.set_memory(bytes);
    }

    /// Which kernels it found for this processor: `avx512`, `avx2`, `sse4.1`, `neon` or `portable`.
    pub fn kernels(&self) -> &'static str {
        self.0.kernels()
    }

    /// The most streams that are decoded in turn, 1 to 4; 4 unless said. For measurements.
    pub fn set_streams(&mut self, streams: usize) {
        self.0.set_streams(streams);
    }
}
