//! Joins rows to the samples of a scan: each row becomes a JSON part of the sample that it names.
//!
//! Rows are sorted by the hash of the name, samples are visited in passes over ranges of hashes,
//! and what matches is sorted again in the order of the samples. Memory: 64 MiB for both sorts, 32
//! MiB or two bytes a sample for names. Equal hashes are compared by name. Floors: `options` parses
//! names and options, `source` declares rows, `on` derives names from samples, `rows` reads tables, `places` holds
//! problems, `matching` pairs rows with samples, this file attaches them.

mod auto;
mod matching;
mod on;
mod options;
mod places;
pub(crate) mod rows;
mod source;

use std::path::{Path, PathBuf};

use tarflume_formats::name;
use tarflume_formats::plan::PlannedExt;
use tarflume_formats::shown::ShowPath;

pub(crate) use self::auto::image_folder;
use self::matching::{Matches, Verdict};
use self::on::Habits;
pub(crate) use self::options::JoinOptions;
pub(crate) use self::options::On;
pub(crate) use self::places::Place;
use self::places::{Listed, again};
pub(crate) use self::source::{JoinRow, JoinRows, Source};
use crate::choice::Choice;
use crate::failure::Failure;
use crate::problem::ProblemKind;
use crate::scan::attach::Attached;
use crate::scan::list::FoundSample;
use crate::scan::{Scan, ScanCounter};
use crate::sorter::{Sorted, Sorter};
use crate::source::shown_path;
use crate::stop::Stop;
use crate::units;

/// Rows between two looks at the request to stop.
const ROWS: u64 = 8192;

/// Joins rows to samples. A sample without row and a row without sample are problems of the scan.
///
/// # Errors
/// Returns an error if no row matches, if a sample has the part already, for malformed rows, and
/// for failures of the machine.
pub(crate) fn join(
    scan: &mut Scan,
    roots: &[PathBuf],
    source: Source,
    (counter, stop): (&ScanCounter, &Stop),
) -> Result<(), Failure> {
    let Source { mut rows, files, on, ext, without, flag } = source;
    let mut gathered = gather(rows.as_mut(), scan, (counter, stop))?;
    drop(rows);
    let on = on.unwrap_or_else(|| gathered.habits.on());
    if gathered.rows == 0 {
        return Err(Failure::usage(format!("{}: the table has no rows", files[0].shown())));
    }
    let mut matches = matching::matches(scan, &mut gathered.sorted, on, stop)?;
    drop(gathered.sorted);
    let hint = matches.hint(scan, on);
    if matches.samples == 0 && !scan.samples.is_empty() {
        return Err(nothing(scan, &matches, &files, (on, flag), hint.as_deref()));
    }
    let Matches { found, samples, orphans, repeated, .. } = &mut matches;
    let found = std::mem::replace(found, Sorter::new()).finish()?;
    let attaching = Attaching { found, files: &files, on, ext: &ext, without, flag };
    attaching.attach(scan, roots, repeated)?;
    let reason = hint.map_or(String::new(), |hint| format!("; {hint}"));
    orphans.report(scan, &files, &reason);
    repeated.report(scan, &files, "");
    scan.notes.push(format!(
        "{} of {} joined to {} by {}",
        units::counted(gathered.rows, "row", "rows"),
        if files.len() == 1 { base(&files[0]) } else { format!("{} tables", files.len()) },
        units::counted(*samples, "sample", "samples"),
        on.word()
    ));
    Ok(())
}

/// The rows of a source, sorted by the hash of the name.
struct Gathered {
    sorted: Sorted,
    rows: u64,
    habits: Habits,
}

fn gather(
    rows: &mut dyn JoinRows,
    scan: &Scan,
    (counter, stop): (&ScanCounter, &Stop),
) -> Result<Gathered, Failure> {
    let (mut sorter, mut habits) = (Sorter::new(), Habits::new(&scan.exts));
    let (mut row, mut content, mut count) = (JoinRow::default(), Vec::new(), 0);
    while rows.next(&mut row)? {
        if count % ROWS == 0 {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            counter.add(ROWS);
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
    flag: &'static str,
}

impl Attaching<'_> {
    fn attach(
        mut self,
        scan: &mut Scan,
        roots: &[PathBuf],
        repeated: &mut Listed,
    ) -> Result<(), Failure> {
        let is_taken = |ext: &PlannedExt| ext.shard == self.ext;
        let taken: Vec<bool> = scan.exts.iter().map(is_taken).collect();
        let (mut missing, mut several) = (0, 0);
        scan.attach(self.ext, roots, |spot, sample, text| {
            let has_part =
                sample.parts.iter().any(|p| taken.get(p.ext as usize).is_some_and(|t| *t));
            let mut verdict = None;
            while self.found.peek()? == Some(spot.id()) {
                let Some((_, content)) = self.found.next()? else { break };
                let (place, found) = matching::verdict(content);
                match (&verdict, found) {
                    (None, Verdict::Row(json)) => {
                        text.extend_from_slice(json);
                        verdict = Some((place, true));
                    }
                    (None, Verdict::Several) => verdict = Some((place, false)),
                    (Some((first, _)), _) => {
                        repeated.push(place, || again(&sample.key, *first));
                    }
                }
            }
            match verdict {
                Some((place, _)) if has_part => {
                    Err(twice(sample, place, self.files, (self.ext, self.flag)))
                }
                Some((_, true)) => Ok(Attached::Text),
                Some((place, false)) => {
                    Ok(places::bounded(&mut several, || self.ambiguous(sample, place)))
                }
                None => match &self.without {
                    Some(_) if has_part => Ok(Attached::Nothing),
                    Some(without) => {
                        text.extend_from_slice(without);
                        Ok(Attached::Text)
                    }
                    None => Ok(places::bounded(&mut missing, || self.missing())),
                },
            }
        })?;
        let file = &self.files[0];
        places::more(scan, ProblemKind::MissingRow, missing, file, "samples have no row");
        let what = "samples share their name in a row with others";
        places::more(scan, ProblemKind::AmbiguousRow, several, file, what);
        Ok(())
    }

    fn missing(&self) -> (ProblemKind, String) {
        let file = if self.files.len() == 1 { base(&self.files[0]) } else { "the tables".into() };
        let reason = format!("no row of {file} names the sample by its {}", self.on.word());
        (ProblemKind::MissingRow, reason)
    }

    fn ambiguous(&self, sample: &FoundSample, place: Place) -> (ProblemKind, String) {
        let reason = format!(
            "{} names its {}, which other samples have, too; give on=key or on=path, with such names in \
             the table",
            place.shown(self.files),
            self.on.word(),
        );
        let _ = sample;
        (ProblemKind::AmbiguousRow, reason)
    }
}

/// Returns the error for a sample that has the part that a row would become.
fn twice(
    sample: &FoundSample,
    place: Place,
    files: &[PathBuf],
    (ext, flag): (&str, &str),
) -> Failure {
    Failure::usage(format!(
        "'{}' has a part '{ext}' already, and {} would be a second one; {flag} {}:as=meta.json gives the \
         rows another extension",
        name::shown(&sample.key),
        place.shown(files),
        files[place.table as usize].shown(),
    ))
}

/// Returns the error for rows of which none matches.
fn nothing(
    scan: &Scan,
    matches: &Matches,
    files: &[PathBuf],
    (on, flag): (On, &str),
    hint: Option<&str>,
) -> Failure {
    let mut first = String::new();
    scan.samples.visit(|_, sample| {
        on.each_name(sample, &scan.exts, &mut Vec::new(), &mut |name| {
            if first.is_empty() {
                first = places::quoted(name);
            }
        });
        first.is_empty()
    });
    let named = matches.first_name().map_or(String::new(), places::quoted);
    let sample = match first.is_empty() {
        true => "the samples have no such name".to_string(),
        false => format!("the first sample's is {first}"),
    };
    let advice = hint.map_or_else(
        || format!("{flag} FILE:key=COLUMN names the column, on=key|stem|basename|path the name"),
        str::to_string,
    );
    Failure::usage(format!(
        "no row of {} names a sample by its {}: the first row has {named}, {sample}; {advice}",
        shown_path(&files[0]),
        on.word(),
    ))
}

fn base(path: &Path) -> String {
    name::shown(path.file_name().unwrap_or_default().as_encoded_bytes())
}
