//! Lists a compressed tar in one pass over its decompressed bytes.
//!
//! The bytes are not kept: packing decompresses the tar again. JSON that a condition reads is evaluated in
//! passing.

use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::message;
use tarflume_formats::tar::{BLOCK, Event, Member, Walk, behind_end};
use tarflume_formats::{Error, name};
use tarflume_scan::filter::Filter;

use super::options::TarOptions;
use super::sample::{Grouping, SOME, TarSample};
use super::select::{JSON_MAX, Selected, StreamSamples, select};
use crate::rows::places::inflate::{Codec, Forward};

/// Lists the samples of a compressed tar.
///
/// # Errors
/// Returns an error if the compression or the tar is damaged, if more than zeros follows the end marker and
/// zeros are not ignored, or if the operating system refuses.
pub(super) fn list(
    path: &Path,
    codec: Codec,
    options: TarOptions<'_>,
    stop: &Stop,
) -> Result<StreamSamples, Failure> {
    let mut stream = Forward::open(path, codec)?;
    let mut listing = Pass { options, grouping: Grouping::new(options), samples: Vec::new() };
    let until = if options.ignore_zeros { u64::MAX } else { 0 };
    let mut walk = Walk::new().ignoring_zeros(until);
    let mut buffer = Vec::new();
    let mut members = 0u64;
    // A block behind an end marker, which was read to be examined.
    let mut behind: Option<Block> = None;
    loop {
        let (offset, length) = walk.want();
        let step = match behind.take().filter(|block| block.at == offset) {
            Some(block) => walk.step(&block.bytes),
            None => {
                buffer.resize(length, 0);
                let got = stream.read_at(offset, &mut buffer)?;
                if stream.position() < offset {
                    return Err(placed(walk.eof(stream.position()), path).into());
                }
                walk.step(&buffer[..got])
            }
        };
        match step.map_err(|e| placed(e, path))? {
            Some(Event::End { offset }) => {
                let Some(block) = pass_zeros(&mut stream, offset + 2 * BLOCK)? else { break };
                if !options.ignore_zeros {
                    let error = behind_end(offset, block.first_nonzero(), &block.bytes);
                    return Err(placed(unpacked(&error), path).into());
                }
                walk.read_on(block.at);
                behind = Some(block);
            }
            Some(Event::Member(member)) => {
                members += 1;
                if members.is_multiple_of(SOME) && stop.requested() {
                    return Err(Failure::interrupted());
                }
                listing.member(&member, &mut stream)?;
            }
            None => {}
        }
    }
    // The checksum of the compression is at its end.
    stream.skip_to(u64::MAX)?;
    listing.finish()
}

/// A block of the decompressed tar, shorter at its end.
struct Block {
    at: u64,
    bytes: Vec<u8>,
}

impl Block {
    /// Returns the byte of the tar that is the first but zeros in the block.
    fn first_nonzero(&self) -> u64 {
        self.at + self.bytes.iter().take_while(|&&byte| byte == 0).count() as u64
    }
}

/// Reads blocks of zeros from `at` on. Returns the first other block, or `None` at the end of the data.
fn pass_zeros(stream: &mut Forward, mut at: u64) -> Result<Option<Block>, Failure> {
    let mut bytes = vec![0; BLOCK as usize];
    loop {
        let got = stream.read_at(at, &mut bytes)?;
        if bytes[..got].iter().any(|&byte| byte != 0) {
            bytes.truncate(got);
            return Ok(Some(Block { at, bytes }));
        }
        if got < bytes.len() {
            return Ok(None);
        }
        at += BLOCK;
    }
}

/// Adds that the byte is counted in the decompressed tar.
fn unpacked(error: &Error) -> Error {
    let text =
        message!("{told} (bytes are counted in the decompressed tar)"; told = error.message());
    let unpacked = Error::new(error.kind(), text);
    match error.place().byte {
        Some(byte) => unpacked.with_byte(byte),
        None => unpacked,
    }
}

fn placed(error: Error, path: &Path) -> Error {
    error.with_path(path)
}

struct Pass<'o> {
    options: TarOptions<'o>,
    grouping: Grouping<'o>,
    samples: Vec<(TarSample, Selected)>,
}

impl Pass<'_> {
    fn member(&mut self, member: &Member, stream: &mut Forward) -> Result<(), Failure> {
        if let Some(sample) = self.grouping.take(member) {
            self.close(sample)?;
        }
        let mut wanted = self.options.scan.filters.iter().flat_map(Filter::parts);
        let name = name::without_dot(&member.name).to_ascii_lowercase();
        let is_wanted =
            wanted.any(|ext| name.strip_suffix(ext.as_bytes()).is_some_and(|n| n.ends_with(b".")));
        if member.size <= JSON_MAX && is_wanted {
            let mut bytes = vec![0; member.size as usize];
            let got = stream.read_at(member.data, &mut bytes)?;
            bytes.truncate(got); // the walk reports a tar that ends here
            if let Some(part) = self.grouping.newest().filter(|part| part.at == member.data) {
                part.bytes = Some(bytes);
            }
        }
        Ok(())
    }

    fn close(&mut self, mut sample: TarSample) -> Result<(), Failure> {
        let selected = select(&sample, self.options.scan, |_| Ok(Vec::new()))?;
        sample.parts.iter_mut().for_each(|part| part.bytes = None);
        self.samples.push((sample, selected));
        Ok(())
    }

    fn finish(mut self) -> Result<StreamSamples, Failure> {
        let grouping = std::mem::replace(&mut self.grouping, Grouping::new(self.options));
        let (last, skipped) = grouping.finish();
        last.map_or(Ok(()), |sample| self.close(sample))?;
        Ok(StreamSamples { samples: self.samples, skipped })
    }
}
