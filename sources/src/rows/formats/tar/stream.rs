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

use super::inner::{InnerCount, InnerTar};
use super::options::TarOptions;
use super::sample::{Grouping, SOME, TarSample};
use super::select::{JSON_MAX, Selected, StreamSamples, select};
use crate::rows::places::inflate::{Codec, Forward};

/// Lists the samples of a compressed tar, and of the tars in it.
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
    let mut pass = Pass {
        path,
        options,
        stop,
        stream: Forward::open(path, codec)?,
        members: 0,
        samples: Vec::new(),
        skipped: 0,
        inner: InnerCount::default(),
    };
    pass.walk(None)?;
    // The checksum of the compression is at its end.
    pass.stream.skip_to(u64::MAX)?;
    Ok(StreamSamples { samples: pass.samples, skipped: pass.skipped, inner: pass.inner })
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

/// Reads blocks of zeros from `at` to `end`. Returns the first other block, or `None` at the end of the data.
fn pass_zeros(stream: &mut Forward, mut at: u64, end: u64) -> Result<Option<Block>, Failure> {
    let mut bytes = vec![0; BLOCK as usize];
    loop {
        let wanted = end.saturating_sub(at).min(BLOCK) as usize;
        let got = stream.read_at(at, &mut bytes[..wanted])?;
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

/// One pass over the decompressed bytes.
struct Pass<'p> {
    path: &'p Path,
    options: TarOptions<'p>,
    stop: &'p Stop,
    stream: Forward,
    /// Members that were read.
    members: u64,
    samples: Vec<(TarSample, Selected)>,
    /// Members that belong to no sample.
    skipped: u64,
    inner: InnerCount,
}

impl Pass<'_> {
    /// Lists the tar, or the tar `inner` in it.
    fn walk(&mut self, inner: Option<&InnerTar>) -> Result<(), Failure> {
        let until = if self.options.ignore_zeros { u64::MAX } else { 0 };
        let mut walk = Walk::at(inner.map_or(0, |inner| inner.start)).ignoring_zeros(until);
        let end = inner.map_or(u64::MAX, |inner| inner.end);
        let mut grouping =
            Grouping::new(self.options, inner.map_or(&b""[..], |inner| inner.folder()));
        let mut buffer = Vec::new();
        // A block behind an end marker, which was read to be examined.
        let mut behind: Option<Block> = None;
        loop {
            let (offset, length) = walk.want();
            if offset.saturating_add(length as u64) > end {
                return Err(self.placed(walk.eof(end), inner));
            }
            let step = match behind.take().filter(|block| block.at == offset) {
                Some(block) => walk.step(&block.bytes),
                None => {
                    buffer.resize(length, 0);
                    let got = self.stream.read_at(offset, &mut buffer)?;
                    if self.stream.position() < offset {
                        return Err(self.placed(walk.eof(self.stream.position()), inner));
                    }
                    walk.step(&buffer[..got])
                }
            };
            match step.map_err(|error| self.placed(error, inner))? {
                Some(Event::End { offset }) => {
                    let from = offset + 2 * BLOCK;
                    let Some(block) = pass_zeros(&mut self.stream, from, end)? else { break };
                    if !self.options.ignore_zeros {
                        let error = behind_end(offset, block.first_nonzero(), &block.bytes);
                        return Err(self.placed(unpacked(&error), inner));
                    }
                    walk.read_on(block.at);
                    behind = Some(block);
                }
                Some(Event::Member(member)) => self.member(&member, &mut grouping, inner)?,
                None => {}
            }
        }
        let (last, skipped) = grouping.finish();
        self.skipped += skipped;
        last.map_or(Ok(()), |sample| self.close(sample))
    }

    /// Takes a member of the tar, or of the tar `within` in it.
    fn member(
        &mut self,
        member: &Member,
        grouping: &mut Grouping<'_>,
        within: Option<&InnerTar>,
    ) -> Result<(), Failure> {
        self.members += 1;
        if self.members.is_multiple_of(SOME) && self.stop.requested() {
            return Err(Failure::interrupted());
        }
        if let Some(inner) = InnerTar::of(member, within, self.options, self.path)? {
            self.inner.see(&inner, self.path);
            if let Some(sample) = grouping.close() {
                self.close(sample)?;
            }
            return self.walk(Some(&inner));
        }
        if let Some(sample) = grouping.take(member) {
            self.close(sample)?;
        }
        let mut wanted = self.options.scan.filters.iter().flat_map(Filter::parts);
        let name = name::without_dot(&member.name).to_ascii_lowercase();
        let is_wanted =
            wanted.any(|ext| name.strip_suffix(ext.as_bytes()).is_some_and(|n| n.ends_with(b".")));
        if member.size <= JSON_MAX && is_wanted {
            let mut bytes = vec![0; member.size as usize];
            let got = self.stream.read_at(member.data, &mut bytes)?;
            bytes.truncate(got); // the walk reports a tar that ends here
            if let Some(part) = grouping.newest().filter(|part| part.at == member.data) {
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

    /// Adds the path of the tar, and the inner tar, to an error.
    fn placed(&self, error: Error, inner: Option<&InnerTar>) -> Failure {
        let error = error.with_path(self.path);
        match inner {
            Some(inner) => inner.fault(error),
            None => error.into(),
        }
    }
}
