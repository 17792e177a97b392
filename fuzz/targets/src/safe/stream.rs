//! A tar read in order, plain, gzip or zstd: read to its end or rejected, within the stream's memory.

use std::io::Cursor;

use tarflume::Stream;

/// Reads the input as a tar in order, up to 1,000 samples.
pub fn stream(data: &[u8]) {
    let stream = Stream::from_reader("input", Cursor::new(data.to_vec()))
        .memory_limit(tarflume::Size::new(32 << 20));
    let Ok(samples) = stream.samples(0) else { return };
    // One that fails for good ends by itself.
    samples.take(1000).for_each(drop);
}
