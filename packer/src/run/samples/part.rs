//! Reads the parts of samples into given memory and checks them there.
//!
//! Does not know shards or their order: decides whether a file may stay, and reports its faults.

use std::path::PathBuf;

use tarflume_base::check::{CheckLevel, CheckedPart, Content, Fault};
use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::{Location, PlanFoot, PlannedExt, PlannedPart, PlannedSample};
use tarflume_formats::{Blame, Crc, IrregularJpeg, IrregularJpegs, TarReader, crc32c, name};
use tarflume_scan::links;
use tarflume_scan::source::{PlannedFile, ReadFault, UNKNOWN_TIME, part_path, shown_path};
use tarflume_sources::rows::{self, CellFault, SourceReader};

use super::refused::Refused;
use crate::run::folders::Folders;
use crate::run::options::Checks;
use crate::run::samples::sample_objects::SampleObjects;
use crate::run::samples::sample_part::SamplePart;

/// Returns the paths of all files of a sample. A row of a table or array has none.
pub(in crate::run) fn files(
    foot: &PlanFoot,
    roots: &[PathBuf],
    sample: &PlannedSample,
) -> Vec<PathBuf> {
    let root = &roots[sample.root as usize];
    sample
        .parts
        .iter()
        .filter_map(|part| match part.location {
            Location::File { .. } => {
                let ext = foot.exts[part.ext as usize].source.as_bytes();
                Some(part_path(root, &sample.source, ext))
            }
            Location::Path { .. } => sample.path_of(part).map(|path| part_path(root, path, b"")),
            _ => None,
        })
        .collect()
}

/// Reads parts for one thread.
#[derive(Debug)]
pub(in crate::run) struct Parts<'a> {
    foot: &'a PlanFoot,
    folders: Folders<'a>,
    pub(in crate::run) sources: SourceReader<'a>,
    checks: &'a Checks,
}

/// A part that is read piece by piece.
pub(in crate::run) enum PartStream {
    /// A file of its own.
    File(PlannedFile),
    /// Bytes of a source that remain, from this byte, and the checksum of those before it.
    Range(u64, Box<Crc>),
    /// A text or a decoded value, and the number of its bytes that were read.
    Memory(Vec<u8>, usize),
}

impl<'a> Parts<'a> {
    /// Creates a reader for the files of this plan under these folders.
    pub(in crate::run) fn new(
        foot: &'a PlanFoot,
        roots: &'a [PathBuf],
        checks: &'a Checks,
    ) -> Parts<'a> {
        let sources = rows::reader(&foot.sources, roots, checks.times);
        Parts { foot, folders: Folders::new(roots, checks.links), sources, checks }
    }

    /// Returns true if the Huffman codes of JPEGs are read.
    pub(in crate::run) fn reads_codes(&self) -> bool {
        match self.checks.level {
            CheckLevel::None => false,
            CheckLevel::Structure => self.foot.entry_points,
            CheckLevel::Decode => true,
        }
    }

    /// Begins the check of a sample's objects, if they are checked.
    pub(in crate::run) fn objects(&self) -> Option<SampleObjects> {
        self.checks.objects.then(SampleObjects::default)
    }

    /// Returns the plan without its samples.
    pub(in crate::run) fn foot(&self) -> &'a PlanFoot {
        self.foot
    }

    /// Returns true if sidecars get entry points.
    pub(in crate::run) fn notes_entry_points(&self) -> bool {
        self.foot.entry_points
    }

    fn ext(&self, part: &PlannedPart) -> &'a PlannedExt {
        &self.foot.exts[part.ext as usize]
    }

    /// Returns a part's extension in the shard.
    pub(in crate::run) fn shard_ext(&self, part: &PlannedPart) -> &'a [u8] {
        self.ext(part).shard.as_bytes()
    }

    /// Returns the content type that its extension implies.
    pub(in crate::run) fn content(&self, part: &PlannedPart) -> Content {
        Content::of(self.shard_ext(part))
    }

    /// Returns true if its content is checked, which needs all of it in memory.
    pub(in crate::run) fn is_looked_at(&self, part: &PlannedPart) -> bool {
        let content = self.content(part);
        content.is_looked_at(self.checks.level, self.checks.objects, part.size)
    }

    /// Begins to read a part piece by piece.
    pub(in crate::run) fn open(&mut self, part: SamplePart<'_>) -> Result<PartStream, Refused> {
        match part.planned.location {
            Location::File { stamp } | Location::Path { stamp, .. } => {
                Ok(PartStream::File(self.file(part, stamp)?))
            }
            Location::Range { at, .. } => Ok(PartStream::Range(at, Box::default())),
            Location::Text { .. } | Location::Cell { .. } => {
                let mut bytes = vec![0; part.planned.size as usize];
                self.fill(part, &mut bytes)?;
                Ok(PartStream::Memory(bytes, 0))
            }
        }
    }

    /// Returns the bytes of a part that is no file, to be set aside; `None` if they cannot be read.
    ///
    /// # Errors
    /// Returns an error if the machine failed or the source differs from the plan.
    pub(in crate::run) fn bytes_of(
        &mut self,
        part: SamplePart<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if part.planned.size > TarReader::MAX_WHOLE {
            return Ok(None);
        }
        let mut bytes = vec![0; part.planned.size as usize];
        match self.fill(part, &mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(Refused::Problem(_)) => Ok(None),
            Err(Refused::Failure(failure)) => Err(failure),
        }
    }

    /// Checks that a part can be opened, without reading it.
    pub(in crate::run) fn is_present(&mut self, part: SamplePart<'_>) -> Result<(), Refused> {
        match part.planned.location {
            Location::File { stamp } | Location::Path { stamp, .. } => {
                self.file(part, stamp).map(drop)
            }
            Location::Range { source, at } => {
                self.sources.range(source, at, &mut []).map_err(Refused::Failure)
            }
            Location::Text { .. } | Location::Cell { .. } => Ok(()),
        }
    }

    /// Fills `piece` with the next bytes of a part.
    pub(in crate::run) fn next(
        &mut self,
        stream: &mut PartStream,
        part: SamplePart<'_>,
        piece: &mut [u8],
    ) -> Result<(), Refused> {
        match (stream, part.planned.location) {
            (PartStream::File(file), _) => {
                file.fill(piece).map_err(|fault| self.refused(part, fault))
            }
            (PartStream::Range(at, crc), Location::Range { source, .. }) => {
                self.sources.range(source, *at, piece).map_err(Refused::Failure)?;
                crc.update(piece);
                *at += piece.len() as u64;
                Ok(())
            }
            (PartStream::Range(..), _) => Ok(()), // only a range is opened as one
            (PartStream::Memory(bytes, read), _) => {
                piece.copy_from_slice(&bytes[*read..*read + piece.len()]);
                *read += piece.len();
                Ok(())
            }
        }
    }

    /// Checks after the last byte that a part has not changed.
    pub(in crate::run) fn end(
        &mut self,
        stream: &PartStream,
        part: SamplePart<'_>,
    ) -> Result<(), Refused> {
        match stream {
            PartStream::File(file) => file.check().map_err(|fault| self.refused(part, fault)),
            // A source is compared with the plan at each read.
            PartStream::Range(_, crc) => self.compare(part, || crc.value()),
            PartStream::Memory(..) => Ok(()),
        }
    }

    /// Fills `space` with a whole part; returns its file, to be checked after the content.
    fn fill(
        &mut self,
        part: SamplePart<'_>,
        space: &mut [u8],
    ) -> Result<Option<PlannedFile>, Refused> {
        match part.planned.location {
            Location::File { stamp } | Location::Path { stamp, .. } => {
                let mut file = self.file(part, stamp)?;
                file.fill(space).map_err(|fault| self.refused(part, fault))?;
                return Ok(Some(file));
            }
            Location::Text { .. } => {
                let text =
                    part.sample.text_of(part.planned).expect("the plan's reader has checked it");
                space.copy_from_slice(text);
            }
            Location::Range { source, at } => {
                self.sources.range(source, at, space).map_err(Refused::Failure)?;
                self.compare(part, || crc32c(space))?;
            }
            Location::Cell { source, row, column } => {
                match self.sources.cell(source, row, column, space) {
                    Ok(()) => {}
                    Err(CellFault::Failure(failure)) => return Err(Refused::Failure(failure)),
                    Err(CellFault::Data(reason)) => {
                        let kind = ProblemKind::Unreadable;
                        return Err(Refused::bad(self.placed_in_row(part, kind, None, reason)));
                    }
                    Err(CellFault::Placed(reason)) => {
                        let kind = ProblemKind::Unreadable;
                        return Err(Refused::bad(self.placed(part, kind, None, reason)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Compares the checksum of a part with the sidecar of its source, if it has one.
    fn compare(
        &mut self,
        part: SamplePart<'_>,
        found: impl FnOnce() -> u32,
    ) -> Result<(), Refused> {
        let Location::Range { source, at } = part.planned.location else { return Ok(()) };
        let ext = self.ext(part.planned).shard.as_bytes();
        let facts = self.sources.facts(source, at).map_err(Refused::Failure)?;
        match facts.filter(|facts| facts.checksum.is_some()).map(|facts| facts.fault(ext, found()))
        {
            Some(Some(reason)) => {
                Err(self.problem(part, ProblemKind::Checksum, Some(0), reason.into()))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if a picture was decoded when its source was packed, and [`Parts::fill`] has compared it with the
    /// checksum of that time.
    fn was_decoded(&mut self, part: &PlannedPart) -> Result<bool, Refused> {
        let Location::Range { source, at } = part.location else { return Ok(false) };
        let facts = self.sources.facts(source, at).map_err(Refused::Failure)?;
        Ok(facts.is_some_and(|facts| facts.checksum.is_some() && facts.was_decoded))
    }

    /// Returns the entry points that the sidecar of the part's source has; `None` if they are to be found.
    ///
    /// # Errors
    /// Returns an error if the sidecar is missing or damaged, or the operating system refuses.
    pub(in crate::run) fn known_entry_points(
        &mut self,
        part: &PlannedPart,
    ) -> Result<Option<&[u8]>, Refused> {
        let Location::Range { source, at } = part.location else { return Ok(None) };
        // Level decode reads the codes in any case.
        if !self.foot.entry_points || self.checks.level != CheckLevel::Structure {
            return Ok(None);
        }
        let facts = self.sources.facts(source, at).map_err(Refused::Failure)?;
        Ok(facts.map(|facts| facts.entry_points).filter(|points| !points.is_empty()))
    }

    fn file(&mut self, part: SamplePart<'_>, stamp: u32) -> Result<PlannedFile, Refused> {
        let opened = match part.sample.path_of(part.planned) {
            Some(path) => self.folders.open(part.sample.root, path, ""),
            None => self.folders.open(
                part.sample.root,
                &part.sample.source,
                &self.ext(part.planned).source,
            ),
        };
        let stamp = Some(stamp).filter(|&stamp| self.checks.times && stamp != UNKNOWN_TIME);
        match opened {
            Ok(file) => Ok(PlannedFile::new(file, part.planned.size, stamp)),
            Err(error) => Err(self.refused(part, ReadFault::Refused(error))),
        }
    }

    /// Reads a whole part into `space`, which has its planned size, and checks it.
    pub(in crate::run) fn read(
        &mut self,
        part: SamplePart<'_>,
        space: &mut [u8],
    ) -> Result<CheckedPart, Refused> {
        let file = self.fill(part, space)?;
        let content = self.content(part.planned);
        let is_known = content == Content::Image && self.was_decoded(part.planned)?;
        let check = if is_known { Content::check_again } else { Content::check };
        let found = check(content, space, self.checks.level, self.checks.json);
        let found = found.map_err(|fault| self.fault(part, fault))?;
        if let Some(file) = file {
            file.check().map_err(|fault| self.refused(part, fault))?;
        }
        Ok(found)
    }

    /// Returns which texts are JSON.
    pub(in crate::run) fn json_rules(&self) -> JsonRules {
        self.checks.json
    }

    /// Returns the refusal for a fault of a part's content.
    pub(in crate::run) fn fault(&self, part: SamplePart<'_>, fault: Fault) -> Refused {
        self.problem(part, fault.kind, Some(fault.byte), fault.reason)
    }

    /// Counts a JPEG that breaks a rule of its format without losing a pixel, if this one does.
    #[allow(clippy::expect_used)] // `placed` keeps byte and key
    pub(in crate::run) fn count_irregular(
        &self,
        part: SamplePart<'_>,
        irregular: Option<&Fault>,
        counted: &mut IrregularJpegs,
    ) {
        let Some(Fault { kind, byte, reason }) = irregular else { return };
        counted.add(|| {
            let found = self.placed_in_row(part, *kind, Some(*byte), reason.clone());
            IrregularJpeg {
                path: found.path,
                byte: found.byte.expect("it was placed with a byte"),
                key: found.key.expect("it was placed with the key of the sample"),
                reason: found.reason.text(),
            }
        });
    }

    /// Returns the refusal for a part that cannot be checked because it exceeds the memory limit.
    pub(in crate::run) fn too_large(&self, part: SamplePart<'_>) -> Refused {
        let reason = message!("{} bytes are too many to be checked; give {check}", part.planned.size; check = Name::Check.is("none"));
        let kind = match self.content(part.planned) {
            Content::Json => ProblemKind::BadJson,
            _ => ProblemKind::BadImage,
        };
        self.problem(part, kind, None, reason)
    }

    /// Returns the file of a part, or of its source.
    pub(in crate::run) fn path(&self, part: SamplePart<'_>) -> PathBuf {
        match part.planned.location {
            Location::Range { source, .. } | Location::Cell { source, .. } => {
                self.sources.path(source)
            }
            Location::Path { .. } => self.folders.path(
                part.sample.root,
                part.sample.path_of(part.planned).expect("it has a path"),
                "",
            ),
            Location::File { .. } | Location::Text { .. } => self.folders.path(
                part.sample.root,
                &part.sample.source,
                &self.ext(part.planned).source,
            ),
        }
    }

    pub(in crate::run) fn problem(
        &self,
        part: SamplePart<'_>,
        kind: ProblemKind,
        byte: Option<u64>,
        reason: Message,
    ) -> Refused {
        Refused::bad(self.placed_in_row(part, kind, byte, reason))
    }

    /// Returns what was found in a part, with its place. Of a value in a table or an array, row and part are named.
    fn placed_in_row(
        &self,
        part: SamplePart<'_>,
        kind: ProblemKind,
        byte: Option<u64>,
        reason: Message,
    ) -> Problem {
        let reason = match part.planned.location {
            Location::Cell { row, .. } => {
                message!("row {row}, {}: {reason}", name::shown(self.shard_ext(part.planned)); reason = reason)
            }
            _ => reason,
        };
        self.placed(part, kind, byte, reason)
    }

    /// Returns what was found in a part, with file, byte and key.
    fn placed(
        &self,
        part: SamplePart<'_>,
        kind: ProblemKind,
        byte: Option<u64>,
        reason: Message,
    ) -> Problem {
        let path = shown_path(&self.path(part));
        let byte = match part.planned.location {
            Location::Range { at, .. } => byte.map(|byte| at + byte), // of the source
            _ => byte,
        };
        Problem::new(kind, path, reason).at(byte).of(name::shown(&part.sample.key))
    }

    /// Classifies an error: a file that changed or cannot be read is a problem, a machine that
    /// cannot read it is a failure.
    pub(in crate::run) fn refused(&self, part: SamplePart<'_>, fault: ReadFault) -> Refused {
        use std::io::ErrorKind as K;
        match fault {
            ReadFault::Changed(reason) => {
                self.problem(part, ProblemKind::Changed, None, reason.into())
            }
            ReadFault::Refused(e) if Blame::of(&e).is_machine() => {
                Refused::Failure(Failure::io(e, "read", self.path(part)))
            }
            ReadFault::Refused(e) => match e.kind() {
                K::NotFound | K::NotADirectory => {
                    let gone = "it was removed after it was planned".into();
                    Refused::gone(self.placed(part, ProblemKind::Changed, None, gone))
                }
                _ if self.checks.links.refuses(&e) => {
                    self.problem(part, ProblemKind::NotRegular, None, links::reason())
                }
                _ => self.problem(part, ProblemKind::Unreadable, None, e.to_string().into()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
