//! Reads a tar and makes its sidecar in memory. Writes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_base::check::{CheckLevel, Content, Fault, ImageSize, LARGE, ReadJpeg, Tray, is_jpeg};
use tarflume_base::{Columns, Problem, ProblemKind, Problems};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::tar::Member;
use tarflume_formats::{
    Error, ErrorKind, IrregularJpeg, IrregularJpegs, Reading, Result, TarReader, crc32c, name,
};

use super::options::Options;
use super::rows::{Rows, Skipped, part_of};
use crate::irregular::irregular_note;

/// Parts up to this length are checked whole in memory, longer ones in pieces. JPEGs that are to
/// have entry points may be as long as packing allows.
const WHOLE: u64 = 64 * 1024 * 1024;
/// Number of bytes between two progress reports.
const REPORT_STEP: u64 = 4 * 1024 * 1024;

/// A sidecar in memory, with the findings of the pass.
#[derive(Debug)]
pub(crate) struct Read {
    /// The sidecar's bytes.
    pub bytes: Vec<u8>,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// Members that belong to no sample.
    pub skipped: Skipped,
    /// True if some key is not after the one before it in byte order.
    pub unsorted: bool,
    /// Warnings for the user, one line each.
    pub warnings: Vec<Message>,
    /// JPEGs that have no entry points because they are damaged, JSON that cannot be read, and values that a column cannot hold.
    pub damaged: Problems,
}

/// Reads a tar and makes its sidecar in memory. End markers before byte `listed_until` are passed over.
///
/// # Errors
/// Returns an error if the tar is damaged, ambiguous or compressed, if it has files but no samples, if more than zeros
/// follows its end marker and zeros are not ignored, and after an interruption.
pub(crate) fn read_tar(
    tar: &Path,
    options: &Options,
    listed_until: u64,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Read> {
    let mut making = Making {
        tar,
        reader: TarReader::open(tar, options.reading)?
            .ignore_zeros(options.ignore_zeros)
            .read_on_until(listed_until),
        rows: Rows::with_columns(&options.columns),
        entry_points: options.entry_points,
        columns: &options.columns,
        tray: Tray::default(),
        has_image: false,
        waiting: Vec::new(),
        damaged: Problems::default(),
        irregular: IrregularJpegs::default(),
    };
    let mut warnings: Vec<Message> = Vec::new();
    let mut reported = 0;
    loop {
        if options.stop.requested() {
            let ended = std::io::Error::from(std::io::ErrorKind::Interrupted);
            return Err(Error::io(ended, "read on", tar));
        }
        match making.reader.next_member() {
            Ok(Some(member)) => {
                making.member(&member, options.reading).map_err(|e| at(e, tar, &member))?;
                let end = member.end().min(making.reader.length());
                if end - reported >= REPORT_STEP {
                    on_bytes(end - reported);
                    reported = end;
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::MissingEnd && options.allow_missing_end => {
                warnings
                    .push(message!("the end marker is missing: {error}"; error = error.placed()));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    making.settle();
    warnings.extend(irregular_note(&making.irregular));
    warnings.extend(making.reader.joined().map(|at| {
        message!("byte {at}: another tar begins here, behind an end marker: readers without this sidecar stop \
                 there; make one tar of them with `{reshard}`"; reshard = Call::of(Task::Reshard).with(Name::IgnoreZeros.on()))
    }));
    on_bytes(making.reader.length().saturating_sub(reported));
    making.finish(warnings)
}

struct Making<'a> {
    tar: &'a Path,
    reader: TarReader,
    rows: Rows,
    entry_points: bool,
    columns: &'a Columns,
    tray: Tray,
    /// Whether the open sample has an image: only the first one sets the dimensions.
    has_image: bool,
    /// The JPEGs on the tray.
    waiting: Vec<Waiting>,
    damaged: Problems,
    irregular: IrregularJpegs,
}

/// A JPEG whose codes will be read later.
struct Waiting {
    /// The number of its part.
    part: u64,
    /// The byte of the tar at which it begins.
    at: u64,
    key: Vec<u8>,
}

impl Making<'_> {
    fn member(&mut self, member: &Member, reading: Reading) -> Result<()> {
        let Some((key, ext)) = part_of(member) else {
            self.rows.skip(member);
            return Ok(());
        };
        if reading == Reading::Headers {
            return self.rows.part(member, key, &ext, None);
        }
        let content = Content::of(&ext);
        let has_image = self.has_image && self.rows.open_key() == Some(key);
        let looked_at = if has_image { Content::Other } else { content };
        self.has_image = has_image || content.is_image();
        let (checksum, dimensions) = self.look(member, looked_at)?;
        self.rows.part(member, key, &ext, Some(checksum))?;
        if let Some(size) = dimensions {
            self.rows.dimensions(size.width, size.height);
        }
        let is_read = content != Content::Json || self.json(member, key)?;
        if is_read && self.columns.is_in(&ext) {
            self.values(member, key, &ext)?;
        }
        if self.entry_points && member.size <= TarReader::MAX_WHOLE {
            // As for packing, the content decides whether a picture of another extension is a JPEG.
            let named = content == Content::Jpeg;
            if named || (content.is_image() && is_jpeg(self.reader.data(member)?)) {
                self.jpeg(member, key)?;
            }
        }
        Ok(())
    }

    /// Returns the checksum of a part, and its dimensions if it is an image.
    fn look(&mut self, member: &Member, content: Content) -> Result<(u32, Option<ImageSize>)> {
        if member.size > WHOLE {
            return Ok((self.reader.checksum(member)?, None));
        }
        let data = self.reader.data(member)?;
        let dimensions = if content.is_image() { content.dimensions(data) } else { None };
        Ok((crc32c(data), dimensions))
    }

    /// Checks a JSON; returns false, and notes the problem, if it cannot be read.
    fn json(&mut self, member: &Member, key: &[u8]) -> Result<bool> {
        if member.size > TarReader::MAX_WHOLE {
            return Ok(true); // no reader of values takes it
        }
        let rules = self.columns.rules();
        let Err(fault) =
            Content::Json.check(self.reader.data(member)?, CheckLevel::Structure, rules)
        else {
            return Ok(true);
        };
        let problem = Problem::new(fault.kind, self.tar.display().to_string(), fault.reason);
        self.damaged.push(problem.at(member.data + fault.byte).of(name::shown(key)));
        Ok(false)
    }

    /// Notes the values of the columns that are in the newest part.
    fn values(&mut self, member: &Member, key: &[u8], ext: &[u8]) -> Result<()> {
        let Making { tar, reader, rows, columns, damaged, .. } = self;
        let mut refuse = |Fault { kind, byte, reason }| {
            let reason = message!("{reason}; the sample gets no value"; reason = reason);
            let problem = Problem::new(kind, tar.display().to_string(), reason);
            damaged.push(problem.at(member.data + byte).of(name::shown(key)));
        };
        if member.size > TarReader::MAX_WHOLE {
            let reason = format!("{} bytes are too many for a column", member.size);
            refuse(Fault { kind: ProblemKind::Schema, byte: 0, reason: reason.into() });
            return Ok(());
        }
        columns.each(ext, reader.data(member)?, |column, found| match found {
            Ok(Some(value)) => rows.value(column, value),
            Ok(None) => {}
            Err(fault) => refuse(fault),
        });
        Ok(())
    }

    /// Checks the JPEG of the newest part, and puts it on the tray if it can have entry points.
    fn jpeg(&mut self, member: &Member, key: &[u8]) -> Result<()> {
        let large = member.size > LARGE;
        if large || self.tray.is_full() {
            self.settle(); // entry points come in the order of parts
        }
        let jpeg = Waiting { part: self.rows.parts() - 1, at: member.data, key: key.to_vec() };
        let data = self.reader.data(member)?;
        match Content::Jpeg
            .check(data, CheckLevel::Structure, JsonRules::Strict)
            .map(|found| found.codes)
        {
            Ok(None) => {}
            Ok(Some(header)) if large => match self.tray.read_one(data, &header) {
                Ok(read) => {
                    count_irregular(self.tar, &jpeg, read, &mut self.irregular);
                    self.rows.entry_points(jpeg.part, data, read.entry_points);
                }
                Err(fault) => self.damaged.push(bad_jpeg(self.tar, &jpeg, fault)),
            },
            Ok(Some(header)) => {
                self.tray.put(data, header, None);
                self.waiting.push(jpeg);
            }
            Err(fault) => self.damaged.push(bad_jpeg(self.tar, &jpeg, fault)),
        }
        Ok(())
    }

    /// Reads the codes of all waiting JPEGs.
    fn settle(&mut self) {
        self.tray.read();
        for (number, jpeg) in self.waiting.drain(..).enumerate() {
            match self.tray.found(number) {
                Ok(read) => {
                    count_irregular(self.tar, &jpeg, read, &mut self.irregular);
                    let data = self.tray.jpeg(number);
                    self.rows.entry_points(jpeg.part, data, read.entry_points);
                }
                Err(fault) => self.damaged.push(bad_jpeg(self.tar, &jpeg, fault)),
            }
        }
        self.tray.clear();
    }

    fn finish(mut self, mut warnings: Vec<Message>) -> Result<Read> {
        let unsorted = self.rows.are_unsorted();
        let tar = self.tar;
        let skipped = self.rows.skipped();
        if self.rows.samples() == 0 {
            if skipped.total() > skipped.directories {
                let text = "there is no sample in this tar: no file of it has a name like key.ext";
                return Err(Error::new(ErrorKind::WrongFormat, text).with_path(tar));
            }
            warnings
                .push("there is no file in this tar; it becomes a shard without samples".into());
        }
        let facts = self.reader.finish()?;
        let extensions = self.rows.ext_counts();
        let bytes = self.rows.encode(&facts).map_err(|e| e.with_path(tar))?;
        // Findings of JPEGs on the tray come after findings of later parts.
        self.damaged.listed.sort_by_key(|problem| problem.byte);
        Ok(Read { bytes, extensions, skipped, unsorted, warnings, damaged: self.damaged })
    }
}

fn count_irregular(tar: &Path, jpeg: &Waiting, read: ReadJpeg<'_>, counted: &mut IrregularJpegs) {
    let Some(fault) = read.irregular else { return };
    counted.add(|| IrregularJpeg {
        path: tar.display().to_string(),
        byte: jpeg.at + fault.byte,
        key: name::shown(&jpeg.key),
        reason: fault.reason.text(),
    });
}

fn bad_jpeg(tar: &Path, jpeg: &Waiting, fault: Fault) -> Problem {
    let reason = message!("{why}; it gets no entry points"; why = &fault.reason);
    let problem = Problem::new(fault.kind, tar.display().to_string(), reason);
    problem.at(jpeg.at + fault.byte).of(name::shown(&jpeg.key))
}

fn at(error: Error, tar: &Path, member: &Member) -> Error {
    error.with_path(tar).with_byte(member.first).with_key(name::shown(&member.name))
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};
    use tarflume_formats::{Durability, Index, ShardWriter};

    use super::*;
    use tarflume_base::Stop;

    #[test]
    fn dimensions_are_those_of_the_first_image_or_of_none() {
        let folder = tempfile::tempdir().unwrap();
        let photo = Photo::tiny(PhotoKind::Yuv444).encode(1).unwrap();
        let mut shard = ShardWriter::create(folder.path(), "a.tar").unwrap();
        let samples: [&[(&str, &[u8])]; 4] = [
            &[("tif", b"II no header"), ("thumb.jpg", &photo)],
            &[("json", b"{}"), ("jpg", &photo), ("thumb.jpg", b"no JPEG")],
            &[("json", b"{}")],
            &[("jpg", &photo)],
        ];
        for (n, parts) in samples.into_iter().enumerate() {
            shard.begin(format!("{n}").as_bytes());
            for (ext, bytes) in parts {
                shard.part(ext.as_bytes(), bytes.len() as u64).unwrap().copy_from_slice(bytes);
            }
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(folder.path(), "a.tar", Durability::Cached).unwrap();
        let options = Options {
            reading: Reading::Everything,
            entry_points: false,
            force: false,
            accept_edits: false,
            allow_missing_end: false,
            splits: false,
            ignore_zeros: false,
            columns: Columns::default(),
            jobs: 1,
            stop: Stop::new(),
            storage: Vec::new(),
        };
        let read = read_tar(&folder.path().join("a.tar"), &options, 0, &|_| {}).unwrap();
        let index = Index::from_bytes(read.bytes).unwrap();
        let known = index.iter().map(|sample| sample.unwrap().dimensions.is_some());
        assert_eq!(known.collect::<Vec<_>>(), [false, true, false, true]);
    }
}
