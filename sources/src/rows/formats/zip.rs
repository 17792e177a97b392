//! `zip:a.zip`: the files in zips, grouped into samples like those of a folder.
//!
//! Stored members are ranges of the zip. Deflated ones are cells: the row is the byte of the
//! member's record in the zip's directory. Their crc32 is checked when they are packed.

use std::path::Path;

use tarflume_base::{Failure, ProblemKind, units};
use tarflume_foreign::zip::{self, Directory, END64, End, LOCAL, Member, RECORD, TAIL};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{name, panics};
use tarflume_scan::names::rules::{Action, NameRules, Rule, is_of_file_manager};
use tarflume_scan::options::ScanOptions;
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};

use crate::rows::Listing;
use crate::rows::places::bytes::{Store, whole_limit};
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::url::SourceUrl;

/// The folder of the forks that macOS puts beside each file.
const FORKS: &[u8] = b"__MACOSX";
/// Members between two looks at the stop.
const SOME: usize = 4096;
/// Bytes that deflate makes of one byte, at most.
const RATIO: u64 = 1032;

/// A member that cannot be read, and why.
pub(crate) struct Unfit {
    pub(crate) name: Vec<u8>,
    /// The byte of its record in the directory.
    pub(crate) record: u64,
    pub(crate) reason: Message,
    /// True if other members have the same fault for the same reason: how the zip was made.
    is_general: bool,
}

impl Unfit {
    /// A member whose fault other members do not have.
    fn own(member: &Member<'_>, record: u64, why: String) -> Unfit {
        Unfit { name: member.path().into_owned(), record, reason: why.into(), is_general: false }
    }

    /// A member with a fault of the whole zip.
    fn general(member: &Member<'_>, record: u64, reason: Message) -> Unfit {
        Unfit { name: member.path().into_owned(), record, reason, is_general: true }
    }
}

/// Members that cannot be read for one reason.
struct Alike {
    /// The first of them.
    first: Unfit,
    members: u64,
}

/// A member that can be a part.
#[derive(Debug)]
pub(crate) struct FoundMember {
    /// Its path, with slashes between folders.
    pub(crate) name: Vec<u8>,
    /// The byte of its record in the directory.
    pub(crate) record: u64,
    pub(crate) size: u64,
    pub(crate) place: Place,
}

/// Where a member's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Stored, from this byte.
    Stored(u64),
    /// Deflated.
    Deflated,
}

/// An open zip.
#[derive(Debug)]
pub(crate) struct Zip {
    /// For headers and data of members.
    store: Store,
    /// For the directory: a window of its own.
    records: Store,
    directory: Directory,
}

/// Lists the files of zips as samples.
///
/// # Errors
/// Returns an error for a file that is not a zip or has a damaged directory, and if the operating
/// system refuses.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some((option, _)) = source.options.first() {
        return Err(Failure::usage(format!("zip: has no option '{option}'")));
    }
    let Listing { root, builder, watch } = listing;
    builder.call_rows("sample");
    let mut samples = 0;
    for (n, path) in source.files.iter().enumerate() {
        let root = Root { number: root + n as u32, path };
        let number = builder.source(root, "", "zip", Default::default())?;
        let mut found = Vec::new();
        let mut unfits = Vec::new();
        Zip::open(path)?.members(path, |member| {
            let name = match &member {
                Ok(member) => &member.name,
                Err(unfit) => &unfit.name,
            };
            if name.ends_with(b"/") {
                return Ok(()); // a folder
            }
            if is_left_behind(name, builder.options().names) {
                builder.skip(1);
                return Ok(());
            }
            if builder.leaves_out(name) {
                return Ok(());
            }
            match member {
                Ok(member) => found.push(member),
                Err(unfit) => gather(unfit, &mut unfits),
            }
            if found.len() % SOME == 0 {
                watch.counter.add(SOME as u64);
                if watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
            }
            Ok(())
        })?;
        for Alike { first, members } in unfits {
            let others = match members - 1 {
                0 => String::new(),
                more => format!(" and {}", units::counted(more, "other", "others")),
            };
            let reason = message!("member '{}'{others}: {why}", name::shown(&first.name); why = &first.reason);
            builder.refuse_at(number, Some(first.record), ProblemKind::Unsupported, None, reason);
        }
        group(number, found, &mut samples, builder)?;
    }
    Ok(())
}

/// Adds a member that cannot be read. Those of a zip that was made in a way that is not read are one problem.
fn gather(unfit: Unfit, unfits: &mut Vec<Alike>) {
    let alike = unfits.iter_mut().find(|other| {
        unfit.is_general && other.first.is_general && other.first.reason == unfit.reason
    });
    match alike {
        Some(alike) => alike.members += 1,
        None => unfits.push(Alike { first: unfit, members: 1 }),
    }
}

/// Returns true for files of file managers, in any folder: forks of macOS, thumbnails of Windows, and hidden files if
/// these are skipped.
fn is_left_behind(name: &[u8], rules: NameRules) -> bool {
    let skips_hidden = rules.action(Rule::Hidden) == Action::Skip;
    let mut components = name::without_dot(name).split(|&b| b == b'/').peekable();
    while let Some(component) = components.next() {
        let is_folder = components.peek().is_some();
        let hidden = component.starts_with(b".") && !matches!(component, b"." | b"..");
        if (is_folder && component == FORKS)
            || (!is_folder && is_of_file_manager(component))
            || (skips_hidden && hidden)
        {
            return true;
        }
    }
    false
}

/// Returns the name of a member without its extension.
fn stem<'n>(name: &'n [u8], options: &ScanOptions) -> &'n [u8] {
    let base = name.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    &name[..base + options.stem_of(&name[base..])]
}

/// Groups members by their stems.
fn group(
    source: u32,
    mut found: Vec<FoundMember>,
    samples: &mut u64,
    builder: &mut ScanBuilder<'_>,
) -> Result<(), Failure> {
    let options = builder.options();
    found.sort_by(|a, b| {
        let stems = stem(&a.name, options).cmp(stem(&b.name, options));
        stems.then_with(|| a.name.cmp(&b.name)).then(a.record.cmp(&b.record))
    });
    for files in found.chunk_by(|a, b| stem(&a.name, options) == stem(&b.name, options)) {
        let key = stem(&files[0].name, options);
        *samples += 1;
        let mut parts: Vec<(String, RowPart<'_>)> = Vec::new();
        let mut wrong = None;
        for file in files {
            let ext = file.name.get(key.len() + 1..).unwrap_or_default();
            let ext = String::from_utf8(options.exts.apply(ext));
            let problem = match ext {
                Ok(ext) if ext.is_empty() => {
                    let reason = message!("the file has no extension; leave it out with {exclude}"; exclude = Name::Exclude);
                    Some((ProblemKind::NoExtension, reason))
                }
                Ok(ext) if parts.iter().any(|(other, _)| *other == ext) => {
                    let reason =
                        message!("two files are its part '{}'", name::shown(ext.as_bytes()));
                    Some((ProblemKind::RepeatedPart, reason))
                }
                Ok(ext) => {
                    let at = file.place;
                    let size = file.size;
                    let part = match at {
                        Place::Stored(at) => RowPart::Range { source, at, size },
                        Place::Deflated => {
                            RowPart::Cell { source, row: file.record, column: 0, size }
                        }
                    };
                    parts.push((ext, part));
                    None
                }
                Err(_) => Some((ProblemKind::BadName, "its extension is not UTF-8".into())),
            };
            wrong = wrong.or(problem.map(|problem| (file.record, problem)));
        }
        if let Some((record, (kind, reason))) = wrong {
            builder.refuse_at(source, Some(record), kind, Some(key), reason);
            continue;
        }
        let parts: Vec<_> = parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        builder.push(RowName { source, row: *samples - 1 }, key, &parts)?;
    }
    Ok(())
}

impl Zip {
    /// Opens the zip at `path` and finds its directory.
    ///
    /// # Errors
    /// Returns an error if it has none, and if the operating system refuses.
    pub(crate) fn open(path: &Path) -> Result<Zip, Failure> {
        let mut store = Store::open(path)?;
        let length = store.length();
        let tail = length.min(TAIL as u64);
        let end = zip::end(store.get(length - tail, tail as usize)?, length - tail);
        let directory = match end.map_err(|e| Failure::from(e.with_path(path)))? {
            End::Directory(directory) => directory,
            End::Zip64(at) => zip::end64(&store.array::<END64>(at)?, at)
                .map_err(|e| Failure::from(e.with_path(path)))?,
        };
        Ok(Zip { store, records: Store::open(path)?, directory })
    }

    /// Calls `each` with every member that can be read, and with the reason of the others.
    ///
    /// # Errors
    /// Returns the errors of `each`, and an error for a damaged directory.
    pub(crate) fn members(
        mut self,
        path: &Path,
        mut each: impl FnMut(Result<FoundMember, Unfit>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut at = self.directory.at;
        for _ in 0..self.directory.members {
            let record = self.record(at)?;
            let member = zip::member(&record, at).map_err(|e| Failure::from(e.with_path(path)))?;
            each(self.found(&member, at, path)?)?;
            at += member.record as u64;
        }
        Ok(())
    }

    /// Returns the record of the directory at byte `at`, or less if the directory ends before.
    fn record(&mut self, at: u64) -> Result<Vec<u8>, Failure> {
        let end = self.directory.at + self.directory.bytes;
        let room = end.saturating_sub(at);
        let head = self.records.get(at, room.min(RECORD as u64) as usize)?;
        let length = zip::record_length(head);
        Ok(self.records.get(at, room.min(length as u64) as usize)?.to_vec())
    }

    fn found(
        &mut self,
        member: &Member<'_>,
        record: u64,
        path: &Path,
    ) -> Result<Result<FoundMember, Unfit>, Failure> {
        if member.encrypted {
            let why = Message::words("it is encrypted; zip the files again without a password");
            return Ok(Err(Unfit::general(member, record, why)));
        }
        if member.link {
            let why = message!("it is a symbolic link; zip the files again without `--symlinks`, or {exclude} it"; exclude = Name::Exclude);
            return Ok(Err(Unfit::general(member, record, why)));
        }
        let name = member.path().into_owned();
        let size = member.size;
        let place = match member.method {
            0 if member.packed != size => {
                let why = format!("{size} bytes are stored in {}", member.packed);
                return Ok(Err(Unfit::own(member, record, why)));
            }
            0 => Place::Stored(self.data(member, path)?),
            8 if size > whole_limit(self.store.length()) => {
                let why = format!(
                    "it has {}, and of a zip of {} deflated members of up to {} are read; zip it again with `zip -0`",
                    units::bytes(size),
                    units::bytes(self.store.length()),
                    units::bytes(whole_limit(self.store.length()))
                );
                return Ok(Err(Unfit::own(member, record, why)));
            }
            8 if size > member.packed.saturating_mul(RATIO) => {
                let packed = member.packed;
                let why = format!("{packed} bytes of deflate can't be {size} bytes");
                return Ok(Err(Unfit::own(member, record, why)));
            }
            8 => Place::Deflated,
            other => {
                let method = zip::method_name(other);
                let why = "zip it again with deflate, or with `zip -0`";
                let why = message!("it is compressed by {method}; {why}");
                return Ok(Err(Unfit::general(member, record, why)));
            }
        };
        Ok(Ok(FoundMember { name, record, size, place }))
    }

    /// Returns the first byte of a member's data.
    fn data(&mut self, member: &Member<'_>, path: &Path) -> Result<u64, Failure> {
        let local = self.store.array::<LOCAL>(member.header)?;
        let data = zip::data_of(member, &local, self.directory.at);
        data.map_err(|e| e.with_path(path).into())
    }

    /// Inflates the member whose record is at byte `record` into `space`, which has its size.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or has another size or crc32.
    pub(crate) fn inflate(
        &mut self,
        record: u64,
        space: &mut [u8],
        path: &Path,
    ) -> Result<(), CellFault> {
        let record_bytes = self.record(record)?;
        let member = zip::member(&record_bytes, record)
            .map_err(|e| CellFault::Failure(e.with_path(path).into()))?;
        if member.method != 8 || member.size != space.len() as u64 {
            return wrong("the zip differs from the plan", &member);
        }
        let data = self.data(&member, path)?;
        let inflated = panics::guarded(|| self.inflate_into(data, member.packed, space));
        let Ok(inflated) = inflated else { return wrong("its deflated data is damaged", &member) };
        let Inflated { filled, more } = inflated?;
        if filled != space.len() || more {
            return wrong(
                "its deflated data is damaged, or has another size than the directory has",
                &member,
            );
        }
        let mut crc = flate2::Crc::new();
        crc.update(space);
        if crc.sum() != member.crc {
            return wrong("its crc32 differs from that in the directory", &member);
        }
        Ok(())
    }

    fn inflate_into(
        &mut self,
        data: u64,
        packed: u64,
        space: &mut [u8],
    ) -> Result<Inflated, Failure> {
        let mut inflate = flate2::Decompress::new(false);
        let mut at = data;
        let mut more = false;
        let mut probe = [0u8; 1];
        let end = data + packed;
        loop {
            let filled = inflate.total_out() as usize;
            let piece = (end - at).min(64 << 10) as usize;
            let input = self.store.get(at, piece)?;
            let before = inflate.total_in();
            // Once the space is full, one more byte would be one too many.
            let full = filled >= space.len();
            let out = if full { &mut probe[..] } else { &mut space[filled..] };
            let flush = flate2::FlushDecompress::None;
            let status = inflate.decompress(input, out, flush);
            at += inflate.total_in() - before;
            more |= full && inflate.total_out() as usize > filled;
            let stuck = inflate.total_in() == before && inflate.total_out() as usize == filled;
            match status {
                Ok(flate2::Status::StreamEnd) => {
                    return Ok(Inflated { filled: filled_of(&inflate, space), more });
                }
                Ok(_) if !more && !stuck => {}
                _ => return Ok(Inflated { filled: filled_of(&inflate, space), more: true }),
            }
        }
    }
}

fn wrong(why: &str, member: &Member<'_>) -> Result<(), CellFault> {
    let name = name::shown(member.name);
    Err(CellFault::placed(format!("member '{name}': {why}")))
}

/// The result of inflating a member.
struct Inflated {
    filled: usize,
    /// True if the stream did not end with the space.
    more: bool,
}

fn filled_of(inflate: &flate2::Decompress, space: &[u8]) -> usize {
    (inflate.total_out() as usize).min(space.len())
}

/// Inflates members while a shard is packed.
#[derive(Debug)]
pub(crate) struct ZipCells {
    zip: Zip,
    path: std::path::PathBuf,
}

impl ZipCells {
    pub(crate) fn open(path: &Path) -> Result<ZipCells, Failure> {
        Ok(ZipCells { zip: Zip::open(path)?, path: path.to_path_buf() })
    }
}

impl CellReader for ZipCells {
    fn read(&mut self, row: u64, _: u16, space: &mut [u8]) -> Result<(), CellFault> {
        self.zip.inflate(row, space, &self.path)
    }
}
