//! One pass over all bytes of a tar: every header, every part against the sidecar, the digest.
//!
//! After a damaged header the pass continues behind the damaged part if the sidecar still matches,
//! so that each damaged sample is named. Without a sidecar it ends there, and reports that.

mod begin;
mod compare;
mod inside;
mod long;
mod opening;
pub(crate) mod sliced;
mod undecoded;

use std::path::Path;

use tarflume_base::{Problem, ProblemKind, Problems, Stop};
use tarflume_formats::index::TarFacts;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message::Message;
use tarflume_formats::tar::{BLOCK, Member, MemberKind};
use tarflume_formats::{Error, ErrorKind, Index, IrregularJpegs, Result, TarReader, crc32c, name};
use tarflume_shards::cursor::{Cursor, Listed};
use tarflume_shards::index::rows::{Rows, part_of};
use tarflume_shards::kinds;

pub(crate) use self::long::LongParts;
use self::opening::Opened;
use self::undecoded::Undecoded;
use super::options::Options;
use super::policed::{Measure, Measured};
use crate::class_field::{ClassCounts, ClassField};
use crate::schema::PartSchema;
use crate::verify::contents::bad_name::bad_name;
use crate::verify::contents::class_names::ClassNames;
use crate::verify::contents::objects::Objects;
use crate::verify::contents::parts::{Parts, ShardParts};
use crate::verify::contents::points::{Jpegs, PointFault};
use crate::verify::contents::values::StoredValues;

/// Parts up to this length are checked whole in memory, longer ones in pieces.
pub(crate) const WHOLE: u64 = 256 * 1024 * 1024;
/// Number of bytes between two progress reports.
const REPORT_STEP: u64 = 4 * 1024 * 1024;

/// The result of a pass over a tar.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The problems found.
    pub problems: Problems,
    /// Length and digest of the tar; `None` if it could not be read to its end.
    pub facts: Option<TarFacts>,
    /// The rows in the order of the tar.
    pub rows: Rows,
    /// True if the walk reached the end marker.
    pub ended: bool,
    /// True if a sidecar was given and lists another tar's parts.
    pub other_tar: bool,
    /// Samples by class, if they are counted.
    pub classes: ClassCounts,
    /// What is unusual and no problem.
    pub warning: Option<Problem>,
    /// JPEGs that break rules of their format without losing a pixel, if their codes were read.
    pub irregular: IrregularJpegs,
    /// Parts that were not looked into.
    pub long: LongParts,
    /// Objects of samples, if they are checked.
    pub objects: u64,
    /// What the parts show.
    pub parts: ShardParts,
    /// What the parts have that the policy has bounds for.
    pub measured: Measured,
}

struct Pass<'a> {
    tar: &'a Path,
    reader: TarReader,
    cursor: Option<Cursor<'a>>,
    /// True if the tar has the length that the sidecar states: then every listed part must exist.
    same_length: bool,
    /// True if the tar has fewer bytes than the sidecar states.
    is_shorter: bool,
    /// The walk ends here: `u64::MAX` for the end of the tar.
    until: u64,
    /// The first byte of padding that is not zero, if padding is looked at.
    padding: Option<sliced::Padding>,
    /// Length and digest of the file, if it is compressed.
    packed: Option<TarFacts>,
    decode: bool,
    /// The most bytes of a part that is looked into.
    whole: u64,
    long: LongParts,
    undecoded: Undecoded,
    parts: Parts<'a>,
    schemas: &'a [PartSchema],
    json: JsonRules,
    class: Option<&'a ClassField>,
    class_names: Option<ClassNames<'a>>,
    values: Option<StoredValues<'a>>,
    objects: Option<Objects<'a>>,
    measure: Option<Measure<'a>>,
    classes: ClassCounts,
    stop: &'a Stop,
    rows: Rows,
    problems: Problems,
    jpegs: Jpegs<'a>,
    on_bytes: &'a (dyn Fn(u64) + Sync),
    reported: u64,
}

/// Reads the tar at `tar` once and compares it with `sidecar`, if there is one.
///
/// # Errors
/// Returns an error if the operating system refuses to open the tar, the sidecar is damaged, or the
/// machine failed during the pass.
pub(crate) fn over(
    tar: &Path,
    sidecar: Option<&Index>,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Passed> {
    within(WHOLE, tar, sidecar, options, on_bytes)
}

/// As [`over`]; looks into parts of at most `whole` bytes.
///
/// # Errors
/// As [`over`].
pub(super) fn within(
    whole: u64,
    tar: &Path,
    sidecar: Option<&Index>,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Passed> {
    let (reader, packed, damaged) = opening::open(tar, sidecar)?;
    let mut pass = Pass::begin(
        Opened { tar, reader, packed, sidecar, problems: options.problems() },
        whole,
        options,
        on_bytes,
    )?;
    for error in damaged {
        pass.report(error)?;
    }
    let ended = match pass.walk() {
        Ok(ended) => ended,
        Err(error) => {
            pass.report(error)?;
            false
        }
    };
    pass.finish(ended)
}

impl<'a> Pass<'a> {
    /// Visits all members; returns true if the end marker was reached.
    fn walk(&mut self) -> Result<bool> {
        loop {
            if self.stop.requested() {
                return Ok(false); // no report will be made
            }
            if self.reader.position() >= self.until {
                return Ok(true);
            }
            match self.reader.next_member() {
                Ok(Some(member)) => {
                    self.member(&member)?;
                    self.look_at_padding(&member)?;
                }
                Ok(None) => match self.early_end() {
                    Some(error) if self.step_over(&error)? => {}
                    _ => return Ok(true),
                },
                Err(error) if error.kind() == ErrorKind::AfterEnd => {
                    if self.reads_on(&error) {
                        continue;
                    }
                    match self.early_end() {
                        Some(early) if self.step_over(&early)? => {}
                        _ => {
                            self.stop(error);
                            return Ok(true);
                        }
                    }
                }
                Err(error) => {
                    // Only a bad header can be stepped over; after a cut nothing follows.
                    let broken = matches!(
                        error.kind(),
                        ErrorKind::BadHeader | ErrorKind::Unsupported | ErrorKind::Limit
                    );
                    if !broken || !self.step_over(&error)? {
                        self.stop(kinds::of_data(error)?);
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn member(&mut self, member: &Member) -> Result<()> {
        self.report_progress(member.end());
        let Some((key, ext)) = part_of(member) else {
            self.passed_over(member);
            self.rows.skip(member);
            return Ok(());
        };
        if let Some(why) = bad_name(&member.name) {
            self.push(ProblemKind::BadName, member.first, key, why);
        }
        let listed = match &mut self.cursor {
            Some(cursor) => cursor.meet(member, key, &ext)?,
            None => None,
        };
        let checksum = if member.size > self.whole {
            self.reader.checksum(member)?
        } else {
            crc32c(self.reader.data(member)?)
        };
        let points = match listed {
            Some(Listed { part, .. }) => self.compare(&part, member, key, checksum)?,
            None => None,
        };
        if member.size > self.whole {
            self.pass_by(member, key, &ext);
        } else {
            if self.decode {
                self.decode(member, key, &ext, points)?;
            }
            self.look_inside(member, key, &ext)?;
        }
        match self.rows.part(member, key, &ext, Some(checksum)) {
            Err(error) if error.kind() == ErrorKind::Repeated => {
                self.push(ProblemKind::RepeatedPart, member.first, key, error.message());
                return Ok(());
            }
            other => other?,
        }
        match listed {
            Some(listed) => self.compare_values(member, &listed, &ext),
            None => Ok(()),
        }
    }

    /// Reports a link or device with the name of a part, which all readers skip.
    fn passed_over(&mut self, member: &Member) {
        if member.kind == MemberKind::File && member.name.is_empty() {
            self.push(ProblemKind::BadName, member.first, b"", "this file has no name");
        }
        if matches!(member.kind, MemberKind::File | MemberKind::Directory) {
            return;
        }
        if let Some((key, _)) = name::split(&member.name) {
            let text = format!("this member is {}, which readers of shards skip", member.kind);
            self.push(ProblemKind::NotRegular, member.first, key, &text);
        }
    }

    /// Returns the error for an end marker before parts that the sidecar lists.
    fn early_end(&self) -> Option<Error> {
        let cursor = self.cursor.as_ref().filter(|c| self.same_length && !c.is_other_tar())?;
        let next = cursor.next()?;
        let end = self.reader.end().filter(|&end| next.part.offset > end)?;
        let text = "zeros where the sidecar lists a part";
        Some(Error::new(ErrorKind::BadHeader, text).with_path(self.tar).with_byte(end))
    }

    /// Continues behind an end marker if the sidecar lists a part in the tar that begins there; returns
    /// false if it does not. If zeros replace the header of a listed part, they are no end marker.
    fn reads_on(&mut self, error: &Error) -> bool {
        let Some(at) = error.place().byte else { return false };
        let listed = match &self.cursor {
            Some(cursor) if self.same_length && !cursor.is_other_tar() => cursor.next(),
            _ => None,
        };
        let header = at / BLOCK * BLOCK;
        if listed.is_none_or(|next| header + BLOCK > next.part.offset) {
            return false;
        }
        self.reader.resume_at(header);
        true
    }

    /// Reports a damaged header and continues after its part, by the sidecar; returns false if that
    /// is not possible.
    fn step_over(&mut self, error: &Error) -> Result<bool> {
        let at = self.reader.position().min(error.place().byte.unwrap_or(u64::MAX));
        let Some(listed) = self.next_behind(at)? else { return Ok(false) };
        let part = listed.part;
        // The part ends after the damage, so the walk advances and terminates.
        if part.end() > self.reader.length() {
            return Ok(false);
        }
        let mut problem = kinds::in_tar(error);
        problem.key = Some(name::shown(listed.key));
        if let Some(expected) = part.checksum {
            let member = Member {
                name: Vec::new(),
                kind: MemberKind::File,
                first: at,
                data: part.offset,
                size: part.length,
            };
            let found = self.reader.checksum(&member)?;
            let ext = name::shown(part.ext);
            problem.reason += &if found == expected {
                format!("; the data of part '{ext}' is whole")
            } else {
                format!("; {}", kinds::differs(part.ext, found, expected))
            };
        }
        self.problems.push(problem);
        if let Some(cursor) = &mut self.cursor {
            cursor.advance()?;
        }
        self.reader.resume_at(part.end());
        Ok(true)
    }

    /// Returns the sidecar's first part whose data is after `at`, while the sidecar matches the
    /// tar.
    fn next_behind(&mut self, at: u64) -> Result<Option<Listed<'a>>> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        if !self.same_length || cursor.is_other_tar() {
            return Ok(None);
        }
        while cursor.next().is_some_and(|next| next.part.offset <= at) {
            cursor.advance()?;
        }
        Ok(cursor.next())
    }

    /// Ends a walk that cannot continue: reports what is lost after this place.
    fn stop(&mut self, error: Error) {
        let mut problem = kinds::in_tar(&error);
        // The kind that level quick finds: it has been whole, so its writer was not killed.
        if problem.kind == ProblemKind::MissingEnd && self.is_shorter {
            problem.kind = ProblemKind::Truncated;
        }
        let cut = matches!(error.kind(), ErrorKind::Truncated | ErrorKind::MissingEnd);
        match &self.cursor {
            Some(cursor) if cut && !cursor.is_other_tar() => {
                if let Some(next) = cursor.next() {
                    let key = name::shown(next.key);
                    problem.reason += &format!(
                        "; of the samples that the sidecar lists, {} are missing or cut, from key \
                         {key} on",
                        cursor.samples_left()
                    );
                    problem.key.get_or_insert(key);
                }
            }
            _ if cut => {
                if let Some(key) = self.rows.open_key()
                    && problem.key.is_none()
                {
                    problem.key = Some(name::shown(key));
                    problem.reason += "; this sample is the last one there, and may lack parts";
                }
            }
            _ if error.kind() == ErrorKind::Io => {}
            _ => problem.reason += "; the bytes after this place were not examined",
        }
        self.problems.push(problem);
    }

    fn finish(mut self, ended: bool) -> Result<Passed> {
        self.jpegs.settle().into_iter().for_each(|wrong| self.wrong(wrong));
        let checked = self.last_objects();
        if self.decode {
            // Findings of JPEGs that waited for others come late.
            self.problems.listed.sort_by_key(|problem| problem.byte.unwrap_or(u64::MAX));
        }
        let differing = self.class_names.take().map(ClassNames::problems);
        differing.into_iter().flatten().for_each(|problem| self.problems.push(problem));
        let mut other_tar = false;
        if let Some(cursor) = &mut self.cursor {
            other_tar = cursor.is_other_tar();
            // A truncated tar was reported already; a tar of another length has its own problem.
            if self.same_length
                && let Some(error) = cursor.difference()
            {
                let sidecar = tarflume_formats::index_path(self.tar);
                self.problems.push(kinds::in_index(&kinds::of_data(error)?.with_path(sidecar)));
            }
        }
        self.report_progress(u64::MAX);
        let facts = match self.reader.finish() {
            Ok(facts) => Some(self.packed.unwrap_or(facts)),
            Err(error) => {
                self.problems.push(kinds::in_tar(&kinds::of_data(error)?));
                None
            }
        };
        Ok(Passed {
            problems: self.problems,
            facts,
            rows: self.rows,
            ended,
            other_tar,
            classes: self.classes,
            warning: self.undecoded.warning(),
            irregular: self.jpegs.irregular,
            long: self.long,
            objects: checked,
            parts: self.parts.finish(),
            measured: self.measure.map(|measure| measure.measured).unwrap_or_default(),
        })
    }

    fn report(&mut self, error: Error) -> Result<()> {
        self.problems.push(kinds::in_tar(&kinds::of_data(error)?));
        Ok(())
    }

    fn wrong(&mut self, wrong: PointFault) {
        self.problems.push(wrong.in_shard(&self.tar.display().to_string()));
    }

    fn push(&mut self, kind: ProblemKind, byte: u64, key: &[u8], reason: impl Into<Message>) {
        let path = self.tar.display().to_string();
        self.problems.push(Problem::new(kind, path, reason).at(byte).of(name::shown(key)));
    }

    fn report_progress(&mut self, done: u64) {
        let done = done.min(self.reader.length());
        if done >= self.reported + REPORT_STEP || done == self.reader.length() {
            (self.on_bytes)(done - self.reported);
            self.reported = done;
        }
    }
}
