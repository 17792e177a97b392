//! `build`: from sources to a published data set of blocks.
//!
//! 1. Text is tokenized unit by unit in threads; ids go to the cache.
//! 2. Cached ids, or those of Megatron files, are filtered and packed in order by one thread, and
//!    written by [`DatasetWriter`](tarflume_packer::writer::DatasetWriter).
//!
//! A run that was killed is repeated with the same request: what is in the cache is not tokenized
//! again, and the blocks are written again with the same bytes. Memory: one unit and its ids for
//! each thread, the window of the packer, one shard's index, and about 48 bytes for each sample and
//! 64 for each unit.

mod census;
mod feed;
mod lengths;
mod mark;
mod options;
mod report;
mod resolve;
mod tokenize;
mod write;

use tarflume_base::Failure;

use self::feed::Feed;
pub use self::lengths::{Lengths, Longer};
pub use self::options::{Input, Request, Special, UNIT};
pub use self::report::{Built, Counter, Report};
use self::resolve::Resolved;
use crate::files::new_folder::NewFolder;

/// Builds the data set of a request.
///
/// # Errors
/// Returns an error if the request is impossible, the output folder holds another data set, a
/// source is damaged, no document is left, the operating system refuses, or a stop was requested.
pub fn build(request: &Request, counter: &Counter) -> Result<Built, Failure> {
    request.check()?;
    let new = NewFolder::of(&request.out)?;
    let built = made(request, counter);
    if let Err(failure) = &built {
        new.remove_after(failure, &request.folder());
    }
    built
}

fn made(request: &Request, counter: &Counter) -> Result<Built, Failure> {
    let published = mark::before(request)?;
    let mut report = Report { length: request.length as u64, ..Report::default() };
    let feed = Feed::open(request, counter, &mut report)?;
    let resolved = Resolved::of(request, &feed)?;
    report.dtype = resolved.layout.width.word().into();
    report.pad = resolved.layout.pad;
    report.packing = request.packing;
    let content = resolved.content(request, &feed);
    if let Some(manifest) = published {
        return mark::same(request, manifest, &content, report);
    }
    mark::begin(request, &content)?;
    let manifest = write::write(request, feed, &resolved, counter, &mut report)?;
    Ok(Built { manifest, report })
}

#[cfg(test)]
mod tests;
