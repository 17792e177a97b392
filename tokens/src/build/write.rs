//! Documents to blocks to samples of a data set.

use tarflume_base::Failure;
use tarflume_base::check::CheckLevel;
use tarflume_formats::Manifest;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_packer::writer::{DatasetWriter, Options, Rejected};

use super::census::Census;
use super::feed::{Feed, Names};
use super::lengths::Fitted;
use super::options::Request;
use super::report::{Counter, Report};
use super::resolve::Resolved;
use crate::packing::{Block, DocumentId, Packer, Packing};
use crate::sample::{self, CU_SEQLENS, IDS, LOSS, Parts};

/// Packs all documents and publishes the data set.
pub(super) fn write(
    request: &Request,
    mut feed: Feed,
    resolved: &Resolved,
    counter: &Counter,
    report: &mut Report,
) -> Result<Manifest, Failure> {
    let options = Options {
        prefix: request.prefix.clone(),
        shard_size: request.shard_size,
        shard_samples: request.shard_samples,
        compress: request.compress,
        check: CheckLevel::None, // every byte is made here
        entry_points: false,
        durability: request.durability,
        fresh: true, // what is unfinished is that of an earlier run; see `mark`
        ..Options::default()
    };
    let mut output = Output {
        writer: DatasetWriter::create(&request.out, options)?,
        resolved,
        counter,
        sources: feed.names(),
        parts: Parts::default(),
        tokens: 0,
        longest: 0,
    };
    let packed = pack(request, &mut feed, &mut output, report);
    if let Err(failure) = packed {
        output.writer.abandon()?;
        return Err(failure);
    }
    report.tokens = output.tokens;
    report.samples = output.writer.samples();
    if request.packing == Packing::Rows {
        report.length = output.longest;
    }
    if !request.has_marks() {
        report.loss_tokens = report.tokens;
    }
    if report.samples == 0 {
        output.writer.abandon()?;
        return Err(nothing_left(report));
    }
    output.writer.finish()
}

fn nothing_left(report: &Report) -> Failure {
    let mut text = message!("no document is left to pack: {} read, {} without ids, {} left out by {where_option}", report.documents, report.empty, report.filtered; where_option = Name::Where);
    for (count, setting) in [
        (report.longer, Name::DropLonger),
        (report.shorter, Name::MinLength),
        (report.without_loss, Name::MaskPrompt),
    ] {
        if count > 0 {
            text += message!(", {count} by {setting}"; setting = setting);
        }
    }
    Failure::usage(text)
}

/// Filters and packs the documents in order.
fn pack(
    request: &Request,
    feed: &mut Feed,
    output: &mut Output<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut packer = Packer::with_window(request.packing, request.length, request.window);
    let resolved = output.resolved;
    let mut census = Census::of(&request.input);
    let mut ended = Vec::new();
    let names = output.sources.clone();
    let mut emit = |block: Block| output.sample(&block);
    feed.each(request, &mut |document: DocumentId, ids: &[u32]| {
        if ids.is_empty() {
            report.empty += 1;
            return Ok(());
        }
        census.count(ids);
        if request.condition.as_ref().is_some_and(|condition| !condition.holds(ids.len() as u64)) {
            report.filtered += 1;
            return Ok(());
        }
        let ids = resolved.ended(ids, &mut ended, report);
        let Some(fitted) = request.lengths.fitted(ids) else {
            return Err(too_long(&names.document(document, 0), ids.len(), request));
        };
        match left(fitted, ids, report) {
            Some((ids, first)) if resolved.has_loss(ids, report) => {
                packer.push_from(document, first, ids, &mut emit)
            }
            _ => Ok(()),
        }
    })?;
    census.tell(report);
    packer.finish(&mut emit)
}

/// Returns the ids of a document that stay, and the number of the first; counts what does not.
fn left<'a>(fitted: Fitted<'a>, ids: &'a [u32], report: &mut Report) -> Option<(&'a [u32], u64)> {
    match fitted {
        Fitted::Whole => return Some((ids, 0)),
        Fitted::Cut(ids, first) => {
            report.truncated += 1;
            return Some((ids, first));
        }
        Fitted::TooLong => report.longer += 1,
        Fitted::TooShort => report.shorter += 1,
    }
    None
}

/// Returns the failure for a document with too many ids.
fn too_long(name: &str, ids: usize, request: &Request) -> Failure {
    let most = request.lengths.most.unwrap_or(ids) as u64;
    Failure::bad_data(message!(
        "{name} has {ids} ids, and {max_length} is the limit; give {right} or {left} to cut such documents, or \
         {drop_longer} to leave them out";
        max_length = Name::MaxLength.is(most),
        right = Name::Truncate.is("right"),
        left = Name::Truncate.is("left"),
        drop_longer = Name::DropLonger.on()
    ))
}

/// The data set that is written.
struct Output<'a> {
    writer: DatasetWriter,
    resolved: &'a Resolved,
    counter: &'a Counter,
    sources: Names,
    parts: Parts,
    tokens: u64,
    /// Ids of the longest sample, without padding.
    longest: u64,
}

impl Output<'_> {
    /// Writes a block as the next sample. Keys are numbers: blocks have no better name.
    fn sample(&mut self, block: &Block) -> Result<(), Failure> {
        let names: Vec<String> = block
            .pieces
            .iter()
            .map(|piece| self.sources.document(piece.document, piece.from))
            .collect();
        sample::write(block, &names, &self.resolved.layout, &mut self.parts)?;
        let key = format!("{:09}", self.writer.samples());
        let mut parts: Vec<(&[u8], &[u8])> =
            vec![(IDS.as_bytes(), &self.parts.ids), (b"json", &self.parts.json)];
        for (ext, part) in [(CU_SEQLENS, &self.parts.cu_seqlens), (LOSS, &self.parts.loss)] {
            if !part.is_empty() {
                parts.push((ext.as_bytes(), part));
            }
        }
        let written = self.writer.write(key.as_bytes(), &parts);
        written.map_err(|rejected| match rejected {
            Rejected::Failure(failure) => failure,
            Rejected::Problem(problem) => Failure::bad_data(problem.to_string()),
        })?;
        self.tokens += block.tokens() as u64;
        self.longest = self.longest.max(block.tokens() as u64);
        Counter::add(&self.counter.samples, 1);
        Ok(())
    }
}
