//! `to_megatron`: the documents of token blocks as `PREFIX.bin` and `PREFIX.idx` of Megatron-LM.
//!
//! A block names its documents and the first id of each piece, so that documents leave in the order of
//! their sources and whole, in whatever order they were packed. Holds 40 bytes for each piece, the
//! names of sources, and one sample or document.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use tarflume_base::{Failure, Stop};
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};
use tarflume_formats::npy::Header;
use tarflume_formats::output::must_be_outside;
use tarflume_formats::{Error, ErrorKind, Place, files, name};
use tarflume_shards::listing::{Listing, Shard, copy_bytes};

use crate::megatron::{IdType, MegatronPaths, Writer};
use crate::sample::{CU_SEQLENS, IDS, little_endian, numbers};

/// What an export to Megatron-LM wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Number of documents.
    pub documents: u64,
    /// Number of ids.
    pub tokens: u64,
    /// Bytes of both files.
    pub bytes: u64,
}

/// The place of a piece of a document. The order of the fields is the order of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PiecePlace {
    source: u32,
    shard: u32,
    document: u64,
    from: u64,
    /// The byte of the tar where its ids begin.
    at: u64,
    count: u32,
}

/// The JSON of a block.
#[derive(Deserialize)]
struct Described {
    documents: Vec<String>,
}

/// Writes the documents of the token blocks in `listing` to `PREFIX.bin` and `PREFIX.idx`, one
/// sequence each, sources in the order of their names. `on_bytes` gets the bytes of the parts that were
/// read since its last call.
///
/// # Errors
/// Returns an error if a file of one of the names exists, if a sample is no block that `pack tokens`
/// wrote, if a part is damaged or a document incomplete, or if the operating system refuses. No file
/// has its name then.
pub fn to_megatron(
    listing: &Listing,
    prefix: &Path,
    stop: &Stop,
    on_bytes: &dyn Fn(u64),
) -> Result<Exported, Failure> {
    let paths = MegatronPaths::of(prefix);
    for path in [&paths.ids, &paths.index] {
        must_be_outside(path)?;
        if files::exists(path)? {
            return Err(Failure::usage(
                message!("{path} exists; choose another prefix or remove the file"; path = path),
            )
            .with_file(path));
        }
    }
    let found = Pieces::of(listing, stop, on_bytes)?;
    let kind = if found.width > 2 { IdType::I32 } else { IdType::U16 };
    let mut writer = Writer::create(prefix, kind)?;
    let copied = PieceCopier { listing, found: &found, stop }.run(&mut writer)?;
    writer.finish()?;
    let bytes = length(&paths.ids)? + length(&paths.index)?;
    Ok(Exported { documents: copied.documents, tokens: copied.tokens, bytes })
}

fn length(path: &Path) -> Result<u64, Failure> {
    Ok(files::metadata(path, "open")?.len())
}

/// The pieces of all samples, in the order of the export.
struct Pieces {
    places: Vec<PiecePlace>,
    /// The names of sources, in their order.
    sources: Vec<String>,
    /// The most bytes of an id.
    width: usize,
}

impl Pieces {
    /// Reads every sample once and compares the checksums of its parts.
    fn of(listing: &Listing, stop: &Stop, on_bytes: &dyn Fn(u64)) -> Result<Pieces, Failure> {
        let mut numbers_of: BTreeMap<String, u32> = BTreeMap::new();
        let mut places = Vec::new();
        let mut width = 0;
        for (number, shard) in listing.shards.iter().enumerate() {
            let file = shard.data()?;
            for row in 0..shard.index.samples() {
                if stop.requested() {
                    return Err(Failure::interrupted());
                }
                let Some(sample) = shard.index.sample(row)? else { continue };
                let block = Block::read(shard, &file, &sample)?;
                on_bytes(block.bytes);
                width = width.max(block.width);
                for (name, begins) in block.names.iter().zip(block.begins.windows(2)) {
                    let name = PieceName::parse(name).ok_or_else(|| {
                        foreign(shard, &sample, format!("'{name}' names no document"))
                    })?;
                    let next = numbers_of.len() as u32;
                    let source = *numbers_of.entry(name.source.to_string()).or_insert(next);
                    let at = block.data + u64::from(begins[0]) * block.width as u64;
                    let count = begins[1] - begins[0];
                    places.push(PiecePlace {
                        source,
                        shard: number as u32,
                        document: name.document,
                        from: name.from,
                        at,
                        count,
                    });
                }
            }
        }
        if places.is_empty() {
            return Err(Failure::usage("there is no document in the samples; nothing was written"));
        }
        let mut rank = vec![0; numbers_of.len()];
        for (sorted, &number) in (0u32..).zip(numbers_of.values()) {
            rank[number as usize] = sorted;
        }
        places.iter_mut().for_each(|place| place.source = rank[place.source as usize]);
        places.sort_unstable_by_key(|place| (place.source, place.document, place.from));
        Ok(Pieces { places, sources: numbers_of.into_keys().collect(), width })
    }
}

/// The parts of one sample, without its ids.
struct Block {
    names: Vec<String>,
    begins: Vec<u32>,
    /// The byte of the tar where the ids begin.
    data: u64,
    width: usize,
    bytes: u64,
}

impl Block {
    fn read(shard: &Shard, file: &File, sample: &Sample<'_>) -> Result<Block, Failure> {
        let (place, ids) = read_part(shard, file, sample, IDS)?;
        let begins = match sample.part(CU_SEQLENS.as_bytes())? {
            Some(_) => Some(read_part(shard, file, sample, CU_SEQLENS)?),
            None => None, // a sample of one document
        };
        let (json_part, json) = read_part(shard, file, sample, "json")?;
        let begins_bytes = begins.as_ref().map_or(0, |(part, _)| part.length);
        let bytes = place.length + begins_bytes + json_part.length;
        let described: Described = serde_json::from_slice(&json)
            .map_err(|e| foreign(shard, sample, format!("its JSON lists no documents ({e})")))?;
        let count = numbers(&ids, 'u').map_err(|e| foreign(shard, sample, e.placed()))?.len();
        let begins = match begins {
            Some((_, begins)) => {
                numbers(&begins, 'i').map_err(|e| foreign(shard, sample, e.placed()))?
            }
            None => vec![0, count as u32],
        };
        let rises = begins.first() == Some(&0) && begins.is_sorted();
        let last = begins.last().map_or(0, |&last| last as usize);
        if !rises || last > count || begins.len() != described.documents.len() + 1 {
            return Err(foreign(shard, sample, "its parts disagree about its documents"));
        }
        let header = Header::parse(&ids).map_err(|e| foreign(shard, sample, e.placed()))?;
        let data = place.offset + header.data;
        let width = header.dtype.size as usize;
        Ok(Block { names: described.documents, begins, data, width, bytes })
    }
}

/// Returns a part that each sample has, and its bytes.
fn read_part<'a>(
    shard: &Shard,
    file: &File,
    sample: &Sample<'a>,
    ext: &str,
) -> Result<(Part<'a>, Vec<u8>), Failure> {
    let Some(part) = sample.part(ext.as_bytes())? else {
        return Err(foreign(shard, sample, format!("there is no part '{ext}'")));
    };
    let content = content(shard, file, sample, &part)?;
    Ok((part, content))
}

/// Returns the bytes of a part, compared with their checksum.
fn content(
    shard: &Shard,
    file: &File,
    sample: &Sample<'_>,
    part: &Part<'_>,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let crc = copy_bytes(&shard.tar, file, part.offset, part.length, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    if part.checksum.is_some_and(|expected| expected != crc) {
        let text = format!("part '{}' does not have its checksum", name::shown(part.ext));
        return Err(Error::new(ErrorKind::Damaged, text)
            .with_path(&shard.tar)
            .with_byte(part.offset)
            .with_key(sample.shown_key())
            .into());
    }
    Ok(bytes)
}

/// A shard whose tar is open, decompressed.
struct OpenShard {
    shard: u32,
    tar: Arc<File>,
}

/// Shards that are open at a time: the pieces of a window of documents are in a few neighbors.
const OPEN: usize = 8;

/// What was copied.
#[derive(Default)]
struct Copied {
    documents: u64,
    tokens: u64,
}

/// Copies pieces to the writer.
struct PieceCopier<'a> {
    listing: &'a Listing,
    found: &'a Pieces,
    stop: &'a Stop,
}

impl PieceCopier<'_> {
    fn run(&self, writer: &mut Writer) -> Result<Copied, Failure> {
        let width = self.found.width;
        let mut open = VecDeque::new();
        let mut copied = Copied::default();
        let mut bytes = Vec::new();
        let mut ids = Vec::new();
        for pieces in
            self.found.places.chunk_by(|a, b| (a.source, a.document) == (b.source, b.document))
        {
            if self.stop.requested() {
                return Err(Failure::interrupted());
            }
            ids.clear();
            for piece in pieces {
                if piece.from != ids.len() as u64 {
                    return Err(self.incomplete(piece, ids.len()));
                }
                let tar = &self.listing.shards[piece.shard as usize].tar;
                let file = self.data(&mut open, piece.shard)?;
                bytes.resize(piece.count as usize * width, 0);
                files::read_exact_at(&file, &mut bytes, piece.at)
                    .map_err(|e| Error::io(e, "read", tar).with_byte(piece.at))?;
                ids.extend(bytes.chunks_exact(width).map(little_endian));
            }
            writer.sequence(&ids)?;
            writer.end_document();
            copied.documents += 1;
            copied.tokens += ids.len() as u64;
        }
        Ok(copied)
    }

    /// Returns the bytes of a shard's tar, which is opened or decompressed unless it is one of the last few.
    fn data(&self, open: &mut VecDeque<OpenShard>, shard: u32) -> Result<Arc<File>, Failure> {
        if let Some(found) = open.iter().find(|found| found.shard == shard) {
            return Ok(found.tar.clone());
        }
        if open.len() == OPEN {
            open.pop_front();
        }
        let tar = Arc::new(self.listing.shards[shard as usize].data()?);
        open.push_back(OpenShard { shard, tar: tar.clone() });
        Ok(tar)
    }

    fn incomplete(&self, piece: &PiecePlace, have: usize) -> Failure {
        let source = &self.found.sources[piece.source as usize];
        Failure::bad_data(format!(
            "document {source}#{} has {have} ids and then a piece that begins at id {}; export \
             the whole data set, not a part of it",
            piece.document, piece.from
        ))
        .in_file(&self.listing.shards[piece.shard as usize].tar)
    }
}

/// The name of a piece: `source#document`, or `source#document+from`.
struct PieceName<'a> {
    source: &'a str,
    document: u64,
    /// The number of its first id in the document.
    from: u64,
}

impl<'a> PieceName<'a> {
    fn parse(name: &'a str) -> Option<PieceName<'a>> {
        let (source, rest) = name.rsplit_once('#')?;
        let (number, from) = rest.split_once('+').unwrap_or((rest, "0"));
        Some(PieceName { source, document: number.parse().ok()?, from: from.parse().ok()? })
    }
}

/// Returns the failure for a sample that is no block of `pack tokens`.
fn foreign(shard: &Shard, sample: &Sample<'_>, why: impl Into<Message>) -> Failure {
    Failure::bad_data(
        message!("{tar}: key {}: {why}; megatron takes data sets of `{tokens}`", sample.shown_key(); tar = &shard.tar, why = why, tokens = Call::of(Task::Tokens)),
    )
    .with_place(Place { path: Some(shard.tar.clone()), byte: None, key: Some(sample.shown_key()) })
}

#[cfg(test)]
mod tests;
