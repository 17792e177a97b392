//! Places of rows, and bounded lists of problems: the first ones with their places, then a count.

use std::path::{Path, PathBuf};

use tarflume_base::{Problem, ProblemKind, units};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{name, varint};
use tarflume_scan::Scan;
use tarflume_scan::attach::Attached;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::source::shown_path;

/// Number of problems of one kind that are listed one by one.
const LISTED: u64 = 10_000;
/// Bytes of a name that a message quotes.
const QUOTED: usize = 120;

/// Where a row is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of its file.
    pub(crate) table: u32,
    /// Its number, from 1.
    pub(crate) row: u64,
    /// Its first byte, if known.
    pub(crate) byte: Option<u64>,
}

impl Place {
    /// Appends the place to a record.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        varint::put(out, u64::from(self.table));
        varint::put(out, self.row);
        varint::put(out, self.byte.map_or(0, |byte| byte + 1));
    }

    /// Decodes the place at the start of a record, and returns the rest with it.
    pub(super) fn take(record: &[u8]) -> (Place, &[u8]) {
        let mut at = 0;
        let [table, row, byte] = [(); 3]
            .map(|()| varint::take(record, &mut at).expect("`Place::put` has written this record"));
        let place = Place { table: table as u32, row, byte: byte.checked_sub(1) };
        (place, &record[at..])
    }

    /// Returns the place as text: `row 7 of labels.csv`.
    pub(super) fn shown(self, files: &[PathBuf]) -> String {
        let file = files[self.table as usize].file_name().unwrap_or_default();
        format!("row {} of {}", self.row, name::shown(file.as_encoded_bytes()))
    }
}

/// Problems of rows.
#[derive(Debug)]
pub(super) struct Listed {
    kind: ProblemKind,
    listed: Vec<(Place, Message)>,
    more: u64,
}

impl Listed {
    pub(super) fn new(kind: ProblemKind) -> Listed {
        Listed { kind, listed: Vec::new(), more: 0 }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.listed.len() as u64 + self.more
    }

    pub(super) fn push(&mut self, place: Place, reason: impl FnOnce() -> Message) {
        if (self.listed.len() as u64) < LISTED {
            self.listed.push((place, reason()));
        } else {
            self.more += 1;
        }
    }

    /// Adds the problems to those of the scan, in the order of the rows; `end` ends each reason.
    pub(super) fn report(&mut self, scan: &mut Scan, files: &[PathBuf], end: &Message) {
        self.listed.sort_by_key(|(place, _)| (place.table, place.row));
        for (place, reason) in self.listed.drain(..) {
            let path = shown_path(&files[place.table as usize]);
            let reason = message!("row {}: {reason}{end}", place.row; reason = reason, end = end);
            let problem = Problem::new(self.kind, path, reason).at(place.byte);
            scan.problems.push(ScanProblem::new(problem, 0, Vec::new()));
        }
        more(scan, self.kind, LISTED + self.more, &files[0], "rows have the same fault");
    }
}

/// Returns the reason for a second row of a sample.
pub(super) fn again(key: &[u8], first: Place) -> String {
    format!("it names '{}' again, as row {} does; remove one", name::shown(key), first.row)
}

/// Refuses a sample: with a problem, or counted only after many.
pub(super) fn bounded(
    count: &mut u64,
    problem: impl FnOnce() -> (ProblemKind, Message),
) -> Attached {
    *count += 1;
    if *count > LISTED {
        return Attached::LeftOut;
    }
    let (kind, reason) = problem();
    Attached::Refused(kind, reason)
}

/// Adds one problem for those of `count` that are not listed one by one.
pub(super) fn more(scan: &mut Scan, kind: ProblemKind, count: u64, file: &Path, what: &str) {
    if let Some(rest @ 1..) = count.checked_sub(LISTED) {
        let reason = format!("{} more {what}", units::count(rest));
        let problem = Problem::new(kind, shown_path(file), reason);
        scan.problems.push(ScanProblem::new(problem, 0, Vec::new()));
    }
}

/// Returns a name in quotes, shortened.
pub(super) fn quoted(text: &[u8]) -> String {
    match text.get(..QUOTED) {
        Some(start) if text.len() > QUOTED => format!("'{}...'", name::shown(start)),
        _ => format!("'{}'", name::shown(text)),
    }
}

/// Returns the name of a file without its folder.
pub(super) fn base(path: &Path) -> String {
    name::shown(path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes())
}
