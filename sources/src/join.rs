//! Joins rows to the samples of a scan: each row becomes a JSON part of the sample that it names.
//!
//! Rows are sorted by the hash of the name, samples are visited in passes over ranges of hashes,
//! and what matches is sorted again in the order of the samples. Memory: 64 MiB for both sorts, 32
//! MiB or two bytes a sample for names. Equal hashes are compared by name. The samples of a data set
//! that gets more are a second side, by their keys, in the same passes and the same memory. Floors:
//! `options` parses names and options, `source` declares rows, `on` derives names from samples, `known`
//! compares them with a data set, `rows` reads tables, `places` holds problems, `matching` pairs rows
//! with samples, this file attaches them.

mod auto;
mod known;
mod matching;
mod on;
mod options;
mod places;
pub mod rows;
mod source;

use std::path::{Path, PathBuf};

use tarflume_base::{Choice, Failure, ProblemKind, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::Scan;
use tarflume_scan::attach::Attached;
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundSample, Spot};

pub use self::auto::image_folder;
pub use self::known::Known;
use self::matching::{Matches, Sides, Verdict};
use self::on::Habits;
pub use self::options::JoinOptions;
pub(crate) use self::options::On;
pub(crate) use self::places::Place;
use self::places::{Listed, again};
pub use self::source::{JoinRow, JoinRows, JoinSource};
use crate::present::{Left, Met};
use crate::sorter::{Sorted, Sorter};

/// Rows between two looks at the request to stop.
const ROWS: u64 = 8192;

/// Joins rows to samples. A sample without row and a row without sample are problems of the scan,
/// unless the data set `known`, which gets more samples, has the sample. Returns what was left out
/// because it has no row and needs none.
///
/// # Errors
/// Returns an error if no row matches, if a sample has the part already, for malformed rows, and
/// for failures of the machine.
pub fn join(
    scan: &mut Scan,
    roots: &[PathBuf],
    source: JoinSource,
    known: Option<Known<'_>>,
    watch: Watch<'_>,
) -> Result<Left, Failure> {
    let JoinSource { mut rows, files, on, ext, without, flag } = source;
    let mut gathered = gather(rows.as_mut(), Known::habits(known, scan), watch)?;
    drop(rows);
    let on = on.unwrap_or_else(|| gathered.habits.on());
    if gathered.rows == 0 {
        return Err(Failure::usage("the table has no rows").in_file(&files[0]));
    }
    if let Some(known) = known {
        gathered.sorted = known.sorted(gathered.sorted, on, matching::name_of)?;
    }
    let mut matches =
        matching::matches(Sides { scan, on, known }, &mut gathered.sorted, watch.stop)?;
    drop(gathered.sorted);
    let hint = matches.hint(scan, on);
    if matches.samples + matches.known == 0 && !scan.samples.is_empty() {
        let advice = hint.unwrap_or_else(|| advice(flag));
        return Err(nothing(scan, &matches, &files, on, advice));
    }
    let Matches { found, samples, orphans, repeated, .. } = &mut matches;
    let found = std::mem::replace(found, Sorter::new()).finish()?;
    let attaching = Attaching { found, files: &files, on, ext: &ext, without, flag, known };
    let left = attaching.attach(scan, roots, repeated)?;
    let reason = hint.map_or(Message::default(), |hint| message!("; {hint}"; hint = hint));
    orphans.report(scan, &files, &reason);
    repeated.report(scan, &files, &Message::default());
    let mut note = format!(
        "{} of {} joined to {} by {}",
        units::counted(gathered.rows, "row", "rows"),
        if files.len() == 1 { base(&files[0]) } else { format!("{} tables", files.len()) },
        units::counted(*samples, "sample", "samples"),
        on.word()
    );
    if let rows @ 1.. = matches.known {
        let rows = units::counted(rows, "row names", "rows name");
        note += &format!("; {rows} samples that only the data set has");
    }
    scan.notes.push(note.into());
    Ok(left)
}

/// The rows of a source, sorted by the hash of the name.
struct Gathered {
    sorted: Sorted,
    rows: u64,
    habits: Habits,
}

fn gather(
    rows: &mut dyn JoinRows,
    mut habits: Habits,
    watch: Watch<'_>,
) -> Result<Gathered, Failure> {
    let mut sorter = Sorter::new();
    let mut row = JoinRow::default();
    let mut content = Vec::new();
    let mut count = 0;
    while rows.next(&mut row)? {
        if count % ROWS == 0 {
            if watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            watch.counter.add(ROWS);
        }
        count += 1;
        habits.see(&row.name);
        content.clear();
        row.place.put(&mut content);
        matching::put_row(&row, &mut content);
        sorter.push(matching::hash(&row.name), &content)?;
    }
    Ok(Gathered { sorted: sorter.finish()?, rows: count, habits })
}

/// Adds the matched rows to their samples.
struct Attaching<'a> {
    found: Sorted,
    files: &'a [PathBuf],
    on: On,
    ext: &'a str,
    without: Option<Vec<u8>>,
    flag: Name,
    known: Option<Known<'a>>,
}

/// Samples that are refused.
#[derive(Debug, Default)]
struct Refused {
    /// They have no row.
    missing: u64,
    /// They share a row with others.
    several: u64,
}

/// The first row that names a sample.
#[derive(Debug, Clone, Copy)]
enum NamingRow {
    /// It becomes the sample's part.
    Joined(Place),
    /// It names other samples, too.
    Ambiguous(Place),
}

impl NamingRow {
    fn place(self) -> Place {
        match self {
            NamingRow::Joined(place) | NamingRow::Ambiguous(place) => place,
        }
    }
}

/// What was found for a sample.
#[derive(Debug, Clone, Copy)]
struct Finding {
    /// The row that names it.
    row: Option<NamingRow>,
    /// Whether it has the part already.
    has_part: bool,
}

/// What the data set has of a sample: how it differs from it, if it does; `None` if it is new.
type Standing = Option<Option<ScanProblem>>;

impl Attaching<'_> {
    fn attach(
        mut self,
        scan: &mut Scan,
        roots: &[PathBuf],
        repeated: &mut Listed,
    ) -> Result<Left, Failure> {
        let taken: Vec<bool> = scan.exts.iter().map(|ext| ext.shard == self.ext).collect();
        let mut refused = Refused::default();
        let mut left = Left::default();
        let mut differ = Vec::new();
        let ext = self.ext;
        let known = self.known;
        scan.attach(
            ext,
            roots,
            |scan, sample| standing(known, scan, sample, roots, ext),
            |spot, sample, standing, text| {
                let has_part =
                    sample.parts.iter().any(|p| taken.get(p.ext as usize).is_some_and(|t| *t));
                let listed = standing.is_none().then_some(&mut *repeated);
                let row = self.row_of(spot, &sample.key, text, listed)?;
                match standing {
                    // The data set has the sample, which needs no row.
                    Some(difference) if !matches!(row, Some(NamingRow::Joined(_))) => {
                        differ.extend(left.count(difference));
                        Ok(Attached::LeftOut)
                    }
                    _ => self.attached(sample, Finding { row, has_part }, &mut refused, text),
                }
            },
        )?;
        scan.problems.extend(differ);
        let file = &self.files[0];
        let what = "samples have no row";
        places::more(scan, ProblemKind::MissingRow, refused.missing, file, what);
        let what = "samples share their name in a row with others";
        places::more(scan, ProblemKind::AmbiguousRow, refused.several, file, what);
        Ok(left)
    }

    /// Returns what a sample gets: the row in `text`, the text of samples without row, or a problem.
    fn attached(
        &self,
        sample: &FoundSample,
        finding: Finding,
        refused: &mut Refused,
        text: &mut Vec<u8>,
    ) -> Result<Attached, Failure> {
        let Finding { row, has_part } = finding;
        Ok(match (row, &self.without) {
            (Some(row), _) if has_part => {
                return Err(twice(sample, row.place(), self.files, self.ext, self.flag));
            }
            (Some(NamingRow::Joined(_)), _) => Attached::Text,
            (Some(NamingRow::Ambiguous(place)), _) => {
                places::bounded(&mut refused.several, || self.ambiguous(place))
            }
            (None, Some(_)) if has_part => Attached::Nothing,
            (None, Some(without)) => {
                text.extend_from_slice(without);
                Attached::Text
            }
            (None, None) => places::bounded(&mut refused.missing, || self.missing()),
        })
    }

    /// Returns the row that names a sample. If it becomes the sample's JSON, this is put into `text`.
    /// Further rows are `repeated`.
    fn row_of(
        &mut self,
        spot: Spot,
        key: &[u8],
        text: &mut Vec<u8>,
        mut repeated: Option<&mut Listed>,
    ) -> Result<Option<NamingRow>, Failure> {
        let mut row: Option<NamingRow> = None;
        while self.found.peek()? == Some(spot.id()) {
            let Some((_, content)) = self.found.next()? else { break };
            let (place, found) = matching::verdict(content);
            match (&row, found) {
                (None, Verdict::Row(json)) => {
                    text.extend_from_slice(json);
                    row = Some(NamingRow::Joined(place));
                }
                (None, Verdict::Several) => row = Some(NamingRow::Ambiguous(place)),
                (Some(first), _) => {
                    if let Some(repeated) = &mut repeated {
                        repeated.push(place, || again(key, first.place()).into());
                    }
                }
            }
        }
        Ok(row)
    }

    fn missing(&self) -> (ProblemKind, Message) {
        let file = if self.files.len() == 1 { base(&self.files[0]) } else { "the tables".into() };
        let reason = format!("no row of {file} names the sample by its {}", self.on.word());
        (ProblemKind::MissingRow, reason.into())
    }

    fn ambiguous(&self, place: Place) -> (ProblemKind, Message) {
        let remedy = match self.known {
            None => "give on=key or on=path, with such names in the table",
            Some(_) => {
                "rename its files, or, if the first build had no on=, give on=key or on=path"
            }
        };
        let reason = format!(
            "{} names its {}, which other samples have, too; {remedy}",
            place.shown(self.files),
            self.on.word(),
        );
        (ProblemKind::AmbiguousRow, reason.into())
    }
}

/// Returns what the data set has of a sample, which need not have the part `ext`.
fn standing(
    known: Option<Known<'_>>,
    scan: &Scan,
    sample: &FoundSample,
    roots: &[PathBuf],
    ext: &str,
) -> Result<Standing, Failure> {
    let Some(Known { present, options, .. }) = known else { return Ok(None) };
    let met = present.met(&sample.key, &options.names)?;
    match met {
        Met::Same(_) => {
            let what = present.difference(scan, sample, met, ext)?;
            Ok(Some(
                what.map(|what| scan.problem(ProblemKind::Differs, sample, roots, what.into())),
            ))
        }
        _ => Ok(None),
    }
}

/// Returns the error for a sample that has the part that a row would become.
fn twice(sample: &FoundSample, place: Place, files: &[PathBuf], ext: &str, flag: Name) -> Failure {
    let path = &files[place.table as usize];
    let table = format!("{}:as=meta.json", path.shown());
    let key = name::shown(&sample.key);
    let found =
        tarflume_formats::Place { path: Some(path.clone()), byte: None, key: Some(key.clone()) };
    Failure::usage(message!(
        "'{key}' has a part '{ext}' already, and {} would be a second one; {given} gives the rows another extension",
        place.shown(files);
        given = flag.is(table)
    ))
    .with_place(found)
}

/// Returns how the user states which names the rows have.
fn advice(flag: Name) -> Message {
    message!("{given} names the column, on=key|stem|basename|path the name";
        given = flag.is("FILE:key=COLUMN"))
}

/// Returns the error for rows of which none matches.
fn nothing(scan: &Scan, matches: &Matches, files: &[PathBuf], on: On, advice: Message) -> Failure {
    let mut first = String::new();
    scan.samples.visit(|_, sample| {
        on.each_name(sample, &scan.exts, &mut Vec::new(), &mut |name| {
            if first.is_empty() {
                first = places::quoted(name);
            }
        });
        first.is_empty()
    });
    let named = matches.first().map_or("no name".to_string(), |(place, name)| {
        format!("{} in {}", places::quoted(name), place.shown(files))
    });
    let sample = if first.is_empty() {
        "the samples have no such name".to_string()
    } else {
        format!("the first sample's is {first}")
    };
    Failure::usage(message!(
        "no row of {table} names a sample by its {}: the first is {named}, {sample}; {advice}",
        on.word();
        table = &files[0],
        advice = advice
    ))
    .with_file(&files[0])
}

fn base(path: &Path) -> String {
    name::shown(path.file_name().unwrap_or_default().as_encoded_bytes())
}
