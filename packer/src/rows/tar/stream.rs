//! Lists a compressed tar in one pass over its decompressed bytes.
//!
//! The bytes are not kept: packing decompresses the tar again. JSON that a condition reads is evaluated in
//! passing.

use std::path::Path;

use tarflume_formats::Error;
use tarflume_formats::tar::{Event, Member, Walk};

use super::sample::{Grouping, SOME, TarSample, plain_name};
use super::select::{JSON_MAX, Selected, StreamSamples, select};
use crate::failure::Failure;
use crate::filter::Filter;
use crate::rows::inflate::{Codec, Forward};
use crate::scan::options::ScanOptions;
use crate::stop::Stop;

/// Lists the samples of a compressed tar.
///
/// # Errors
/// Returns an error if the compression or the tar is damaged, or the operating system refuses.
pub(super) fn list(
    path: &Path,
    codec: Codec,
    options: &ScanOptions,
    stop: &Stop,
) -> Result<StreamSamples, Failure> {
    let mut stream = Forward::open(path, codec)?;
    let mut listing = Pass { options, grouping: Grouping::new(options), samples: Vec::new() };
    let (mut walk, mut buffer, mut members) = (Walk::new(), Vec::new(), 0u64);
    loop {
        let (offset, length) = walk.want();
        buffer.resize(length, 0);
        let got = stream.read_at(offset, &mut buffer)?;
        if stream.position() < offset {
            return Err(placed(walk.eof(stream.position()), path).into());
        }
        match walk.step(&buffer[..got]).map_err(|e| placed(e, path))? {
            Some(Event::End { .. }) => break,
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

fn placed(error: Error, path: &Path) -> Error {
    error.with_path(path)
}

struct Pass<'o> {
    options: &'o ScanOptions,
    grouping: Grouping<'o>,
    samples: Vec<(TarSample, Selected)>,
}

impl Pass<'_> {
    fn member(&mut self, member: &Member, stream: &mut Forward) -> Result<(), Failure> {
        if let Some(sample) = self.grouping.take(member) {
            self.close(sample)?;
        }
        let wanted = self.options.filters.iter().flat_map(Filter::parts);
        let name = plain_name(member).to_ascii_lowercase();
        let ends =
            |ext: &String| name.strip_suffix(ext.as_bytes()).is_some_and(|n| n.ends_with(b"."));
        if member.size <= JSON_MAX && wanted.clone().any(ends) {
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
        let selected =
            select(&sample, (&self.options.filters, self.options.json), |_| Ok(Vec::new()))?;
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
