//! `Feed`: the documents of a build as ids, in order: from the cache, or from Megatron files.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tarflume_base::{Failure, units};
use tarflume_formats::Digest;
use tarflume_formats::digest_of;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::publish::{create_folders, remove_if_exists, write_whole};
use tarflume_formats::shown::{self, ShowPath};

use super::options::{Input, Request};
use super::report::{Counter, Report};
use super::tokenize::{Tokenized, tokenize};
use crate::cache::Cache;
use crate::files::distinct::{GivenPlace, distinct};
use crate::files::given;
use crate::megatron::{IdType, Reader};
use crate::packing::DocumentId;
use crate::source::DocumentSource;
use crate::unit::BadDocument;

/// Takes the ids of a document.
pub(super) type Take<'a> = dyn FnMut(DocumentId, &[u32]) -> Result<(), Failure> + 'a;

/// The names of sources.
#[derive(Clone)]
pub(super) struct Names(Arc<[String]>);

impl Names {
    /// Returns the name of a document; with the number of an id if a part of it begins there.
    pub(super) fn document(&self, document: DocumentId, from: u64) -> String {
        let DocumentId { source, number } = document;
        let source = self.0.get(source as usize).map_or("", String::as_str);
        match from {
            0 => format!("{source}#{number}"),
            _ => format!("{source}#{number}+{from}"),
        }
    }
}

/// The documents of a build.
pub(super) struct Feed {
    names: Names,
    origin: Origin,
}

enum Origin {
    Cache(Cache, Vec<Tokenized>),
    /// Readers, with the digests of their files.
    Megatron(Vec<(Reader, [Digest; 2])>),
}

impl Feed {
    /// Tokenizes what is not in the cache, or opens the Megatron files.
    pub(super) fn open(
        request: &Request,
        counter: &Counter,
        report: &mut Report,
    ) -> Result<Feed, Failure> {
        match &request.input {
            Input::Text(sources, encoder) => {
                let cache = Cache::open(request.cache())?;
                report.notices.extend_from_slice(sources.notices());
                report.notices.extend(encoder.notices());
                report.tokenizer = encoder.path();
                let sources = sources.all();
                let all = tokenize(request, sources, encoder.as_ref(), &cache, counter)?;
                report.bad = all.bad.len() as u64;
                report.notices.extend(bad_notice(request, sources, &all.bad)?);
                let units = all.units;
                report.documents = units.iter().map(|unit| unit.documents).sum();
                report.units = units.len() as u64;
                for unit in &units {
                    report.text_bytes += unit.bytes;
                    if !unit.reused {
                        report.tokenized_bytes += unit.bytes;
                        report.tokenized_units += 1;
                    }
                }
                let names = sources.iter().map(|source| source.name().to_string()).collect();
                Ok(Feed { names: Names(names), origin: Origin::Cache(cache, units) })
            }
            Input::Megatron(prefixes) => {
                let readers = prefixes.iter().map(|prefix| opened(prefix));
                let readers = readers.collect::<Result<Vec<_>, Failure>>()?;
                report.documents = readers.iter().map(|(reader, _)| reader.documents()).sum();
                let places = (0..prefixes.len()).map(|given| GivenPlace { given, below: "" });
                let places: Vec<GivenPlace<'_>> = places.collect();
                let names = distinct(prefixes, &places).into();
                Ok(Feed { names: Names(names), origin: Origin::Megatron(readers) })
            }
        }
    }

    /// Returns the names of sources.
    pub(super) fn names(&self) -> Names {
        self.names.clone()
    }

    /// Returns the largest cached id; 0 for Megatron files.
    pub(super) fn most(&self) -> u32 {
        match &self.origin {
            Origin::Cache(_, units) => units.iter().map(|unit| unit.most).max().unwrap_or(0),
            Origin::Megatron(_) => 0,
        }
    }

    /// Returns the number of ids that the type of Megatron files can hold.
    pub(super) fn vocabulary(&self) -> Option<u64> {
        let Origin::Megatron(readers) = &self.origin else { return None };
        let sizes = readers.iter().map(|(reader, _)| match reader.kind() {
            IdType::U8 | IdType::I8 => 1 << 8,
            IdType::I16 | IdType::U16 => 1 << 16,
            IdType::I32 | IdType::I64 => 1u64 << 32,
        });
        sizes.max()
    }

    /// Adds everything that the documents and their names depend on.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        for name in self.names.0.iter() {
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        }
        match &self.origin {
            Origin::Cache(_, units) => {
                for unit in units {
                    let place = [u64::from(unit.source), unit.first, unit.documents];
                    for number in place {
                        hasher.update(&number.to_le_bytes());
                    }
                    hasher.update(&unit.key.0);
                    if !unit.bad.is_empty() {
                        let numbers: Vec<u8> =
                            unit.bad.iter().flat_map(|n| n.to_le_bytes()).collect();
                        hasher.update(b"without").update(&numbers);
                    }
                }
            }
            Origin::Megatron(readers) => {
                for digest in readers.iter().flat_map(|(_, digests)| digests) {
                    hasher.update(digest.as_bytes());
                }
            }
        }
    }

    /// Calls `take` with each document in order. `stop` is asked between documents.
    pub(super) fn each(&mut self, request: &Request, take: &mut Take<'_>) -> Result<(), Failure> {
        match &mut self.origin {
            Origin::Cache(cache, units) => {
                for unit in units {
                    stopped(request)?;
                    let ids = cache.load(&unit.key)?.ok_or_else(|| {
                        Failure::try_again(
                            "cached ids were removed or damaged meanwhile; run the same command \
                             again",
                        )
                        .in_file(request.cache())
                    })?;
                    for (number, document) in (0..).zip(ids.iter()) {
                        if unit.bad.binary_search(&number).is_err() {
                            let number = unit.first + number;
                            take(DocumentId { source: unit.source, number }, document)?;
                        }
                    }
                }
            }
            Origin::Megatron(readers) => {
                let mut sequences = Vec::new();
                for (source, (reader, _)) in readers.iter_mut().enumerate() {
                    for number in 0..reader.documents() {
                        stopped(request)?;
                        reader.document(number, &mut sequences)?;
                        let source = source as u32;
                        take(DocumentId { source, number }, &sequences.concat())?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Lists the bad documents in a file beside the cache; returns a notice with the first.
fn bad_notice(
    request: &Request,
    sources: &[DocumentSource],
    bad: &[BadDocument],
) -> Result<Option<Message>, Failure> {
    let path = request.folder().join("problems.jsonl");
    let Some(first) = bad.first() else {
        remove_if_exists(&path)?;
        return Ok(None);
    };
    create_folders(request.folder())?;
    let lines: String = bad.iter().map(|bad| problem_line(sources, bad)).collect();
    write_whole(&path, lines.as_bytes())?;
    let count = units::counted(bad.len() as u64, "document", "documents");
    let reason = &first.reason;
    Ok(Some(
        message!("{count} left out, listed in {}; the first: {reason}", path.shown(); reason = reason),
    ))
}

fn problem_line(sources: &[DocumentSource], bad: &BadDocument) -> String {
    let source = sources.get(bad.source as usize).map_or("", DocumentSource::name);
    let problem = json!({"source": source, "document": bad.number, "reason": bad.reason.text()});
    shown::json(&problem) + "\n"
}

fn opened(prefix: &Path) -> Result<(Reader, [Digest; 2]), Failure> {
    let reader = Reader::open(prefix).map_err(given::failure)?;
    let paths = reader.paths();
    let digests = [digest_of(&paths.ids)?, digest_of(&paths.index)?];
    Ok((reader, digests))
}

fn stopped(request: &Request) -> Result<(), Failure> {
    if request.stop.requested() { Err(Failure::interrupted()) } else { Ok(()) }
}
