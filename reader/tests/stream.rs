//! Streams of tars without a sidecar, compared with other readers, and with every fault that a tar can
//! have.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuts;
mod false_claims;
mod foreign;
mod joined;
mod memory;
mod mixing;
mod stalls;

use std::io::{Cursor, Write};

use tarflume::{Result, Stream, StreamSample};

/// A sample as tests compare it: key, then extension and bytes of each part.
pub(crate) type Plain = (Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>);

pub(crate) fn plain(sample: &StreamSample) -> Plain {
    let parts = sample.parts().map(|(ext, data)| (ext.to_vec(), data.to_vec()));
    (sample.key().to_vec(), parts.collect())
}

/// All that a stream of these bytes gives.
pub(crate) fn read(tar: &[u8]) -> Vec<Result<Plain>> {
    let stream = Stream::from_reader("memory.tar", Cursor::new(tar.to_vec()));
    stream.samples(0).unwrap().map(|item| item.map(|s| plain(&s))).collect()
}

/// The samples before the first error, and that error.
pub(crate) fn read_until(tar: &[u8]) -> (Vec<Plain>, Option<tarflume::Error>) {
    let mut samples = Vec::new();
    for item in read(tar) {
        match item {
            Ok(sample) => samples.push(sample),
            Err(error) => return (samples, Some(error)),
        }
    }
    (samples, None)
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
    out.include_checksum(true).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}
