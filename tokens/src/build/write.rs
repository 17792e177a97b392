//! Documents to blocks to samples of a data set.

use tarflume_base::Failure;
use tarflume_base::check::CheckLevel;
use tarflume_formats::Manifest;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_packer::writer::{DatasetWriter, Options, Rejected};

use super::census::Census;
use super::feed::{Feed, Names};
use super::options::Request;
use super::report::{Counter, Report};
use super::resolve::Resolved;
use crate::packing::{Block, DocumentId, Packer};
use crate::sample::{self, CU_SEQLENS, IDS, Parts};

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
    };
    let packed = pack(request, &mut feed, &mut output, report);
    if let Err(failure) = packed {
        output.writer.abandon()?;
        return Err(failure);
    }
    report.tokens = output.tokens;
    report.samples = output.writer.samples();
    if report.samples == 0 {
        output.writer.abandon()?;
        let text = message!("no document is left to pack: {} read, {} without ids, {} left out by {where_option}", report.documents, report.empty, report.filtered; where_option = Name::Where);
        return Err(Failure::usage(text));
    }
    output.writer.finish()
}

/// Filters and packs the documents in order.
fn pack(
    request: &Request,
    feed: &mut Feed,
    output: &mut Output<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut packer = Packer::with_window(request.packing, request.length, request.window);
    let eos = output.resolved.eos;
    let mut emit = |block: Block| output.sample(&block);
    let mut census = Census::of(&request.input);
    let mut ended = Vec::new();
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
        let Some(eos) = eos else { return packer.push(document, ids, &mut emit) };
        if ids.last() == Some(&eos) {
            report.ended += 1;
            return packer.push(document, ids, &mut emit);
        }
        ended.clear();
        ended.extend_from_slice(ids);
        ended.push(eos);
        packer.push(document, &ended, &mut emit)
    })?;
    census.tell(report);
    packer.finish(&mut emit)
}

/// The data set that is written.
struct Output<'a> {
    writer: DatasetWriter,
    resolved: &'a Resolved,
    counter: &'a Counter,
    sources: Names,
    parts: Parts,
    tokens: u64,
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
        let parts: [(&[u8], &[u8]); 3] = [
            (IDS.as_bytes(), &self.parts.ids),
            (CU_SEQLENS.as_bytes(), &self.parts.cu_seqlens),
            (b"json", &self.parts.json),
        ];
        let written = self.writer.write(key.as_bytes(), &parts);
        written.map_err(|rejected| match rejected {
            Rejected::Failure(failure) => failure,
            Rejected::Problem(problem) => Failure::bad_data(problem.to_string()),
        })?;
        self.tokens += block.tokens() as u64;
        Counter::add(&self.counter.samples, 1);
        Ok(())
    }
}
