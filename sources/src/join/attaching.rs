//! `Attaching`: adds matched rows to their samples, as a new part or to the fields of one.

use std::path::PathBuf;

use tarflume_base::json_rules::sentence;
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::Scan;
use tarflume_scan::attach::Attached;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundAt, FoundPart, FoundSample, Spot};

use super::known::Known;
use super::matching::{self, Verdict};
use super::members::{self, Unmerged};
use super::places::{self, Listed, Place, again, base};
use super::rules::MissingRow;
use crate::part_bytes::part_bytes;
use crate::present::{Left, Met};
use crate::rows::CellFault;
use crate::sorter::Sorted;

/// What a join adds to samples.
pub(super) struct JoinTerms<'a> {
    /// The tables.
    pub(super) files: &'a [PathBuf],
    /// The name of samples that rows have, or the field.
    pub(super) by: &'a str,
    /// The extension of the part.
    pub(super) ext: &'a str,
    /// The text of samples without row; if absent, [`Attaching::missing`] decides.
    pub(super) without: Option<Vec<u8>>,
    /// The flag, for messages.
    pub(super) flag: Name,
    /// Which texts are JSON.
    pub(super) json: JsonRules,
    /// Whether a part that a sample has gets the fields of the row.
    pub(super) merges: bool,
}

/// Adds the matched rows to their samples.
pub(super) struct Attaching<'a> {
    /// Records of rows, by the ids of samples.
    pub(super) found: Sorted,
    pub(super) terms: JoinTerms<'a>,
    /// What becomes of samples without row and without text.
    pub(super) missing: MissingRow,
    pub(super) known: Option<Known<'a>>,
}

/// Samples that are refused.
#[derive(Debug, Default)]
struct Refused {
    /// They have no row.
    missing: u64,
    /// They share a row with others.
    several: u64,
    /// They have no row and are left out without a problem.
    skipped: u64,
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
#[derive(Debug)]
struct Finding {
    /// The row that names it.
    row: Option<NamingRow>,
    /// Whether it has the part already.
    has_part: bool,
    /// The part, if the row is put together with it.
    part: Option<Vec<u8>>,
}

/// What the data set has of a sample: how it differs from it, if it does; `None` if it is new.
type Standing = Option<Option<ScanProblem>>;

impl Attaching<'_> {
    /// Adds the rows. Returns what the data set has, and the number of samples that were left out without a problem.
    ///
    /// # Errors
    /// Returns an error if a sample has the part already, and for failures of the machine.
    pub(super) fn attach(
        mut self,
        scan: &mut Scan,
        roots: &[PathBuf],
        repeated: &mut Listed,
    ) -> Result<(Left, u64), Failure> {
        let taken: Vec<bool> = scan.exts.iter().map(|ext| ext.shard == self.terms.ext).collect();
        let mut refused = Refused::default();
        let mut left = Left::default();
        let mut differ = Vec::new();
        let ext = self.terms.ext;
        let merges = self.terms.merges;
        let known = self.known;
        scan.attach(
            ext,
            roots,
            |scan, sample| {
                let part = scan.part(sample, ext);
                // The fields of a row of a source are in the plan, as those of an earlier table are.
                let of_row = !scan.sources.is_empty();
                let part =
                    part.filter(|part| merges || (of_row && matches!(part.at, FoundAt::Text(_))));
                let part = part.map(|part| part_of(scan, roots, sample, &part)).transpose()?;
                Ok((standing(known, scan, sample, roots, ext)?, part))
            },
            |spot, sample, (standing, part), text| {
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
                    _ => self.attached(sample, Finding { row, has_part, part }, &mut refused, text),
                }
            },
        )?;
        scan.problems.extend(differ);
        let file = &self.terms.files[0];
        let what = "samples have no row";
        places::more(scan, ProblemKind::MissingRow, refused.missing, file, what);
        let what = "samples share their name in a row with others";
        places::more(scan, ProblemKind::AmbiguousRow, refused.several, file, what);
        Ok((left, refused.skipped))
    }

    /// Returns what a sample gets: the row in `text`, the text of samples without row, or a problem.
    fn attached(
        &self,
        sample: &FoundSample,
        finding: Finding,
        refused: &mut Refused,
        text: &mut Vec<u8>,
    ) -> Result<Attached, Failure> {
        let Finding { row, has_part, part } = finding;
        let without = self.terms.without.as_deref();
        Ok(match (row, without) {
            (Some(row), _) if has_part && part.is_none() => {
                return Err(self.terms.twice(sample, row.place()));
            }
            (Some(NamingRow::Joined(place)), _) => {
                self.terms.merge(sample, Some(place), part, text)?;
                Attached::Text
            }
            (Some(NamingRow::Ambiguous(place)), _) => {
                places::bounded(&mut refused.several, || self.ambiguous(place))
            }
            (None, Some(_)) if has_part && part.is_none() => Attached::Nothing,
            (None, Some(without)) => {
                text.extend_from_slice(without);
                self.terms.merge(sample, None, part, text)?;
                Attached::Text
            }
            (None, None) if self.missing == MissingRow::Skip => {
                refused.skipped += 1;
                Attached::LeftOut
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
        let file = if self.terms.files.len() == 1 {
            base(&self.terms.files[0])
        } else {
            "the tables".into()
        };
        let reason = format!("no row of {file} names the sample by its {}", self.terms.by);
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
            place.shown(self.terms.files),
            self.terms.by,
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

impl JoinTerms<'_> {
    /// Puts the fields of a row, which `text` has, behind those of the part that the sample has.
    fn merge(
        &self,
        sample: &FoundSample,
        place: Option<Place>,
        part: Option<Vec<u8>>,
        text: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let Some(part) = part else { return Ok(()) };
        let key = name::shown(&sample.key);
        let table = place.map_or_else(|| base(&self.files[0]), |place| place.shown(self.files));
        let file = place.map_or(0, |place| place.table as usize);
        *text = members::merged(&part, text, self.json).map_err(|unmerged| {
            let why = match unmerged {
                Unmerged::Differs(field) => {
                    let option = format!("{}:fields=NAME|NAME", self.files[file].shown());
                    message!(
                        "{table} has the field '{field}' of '{key}', which an earlier table has with another value; {given} \
                         takes the named fields only"; given = self.flag.is(option)
                    )
                }
                Unmerged::Fault(fault) => message!("the JSON of '{key}': {why}"; why = sentence(&fault)),
            };
            Failure::usage(why).with_file(&self.files[file])
        })?;
        Ok(())
    }

    /// Returns the error for a sample that has the part that a row would become.
    fn twice(&self, sample: &FoundSample, place: Place) -> Failure {
        let path = &self.files[place.table as usize];
        let table = format!("{}:as=meta.json", path.shown());
        let key = name::shown(&sample.key);
        let found = tarflume_formats::Place {
            path: Some(path.clone()),
            byte: None,
            key: Some(key.clone()),
        };
        let ext = self.ext;
        Failure::usage(message!(
            "'{key}' has a part '{ext}' already, and {} would be a second one; {given} gives the rows another extension",
            place.shown(self.files);
            given = self.flag.is(table)
        ))
        .with_place(found)
    }
}

/// Returns the bytes of a part that a row is put together with.
fn part_of(
    scan: &Scan,
    roots: &[PathBuf],
    sample: &FoundSample,
    part: &FoundPart,
) -> Result<Vec<u8>, Failure> {
    part_bytes(scan, roots, sample, part).map_err(|fault| match fault {
        CellFault::Failure(failure) => failure,
        CellFault::Data(reason) | CellFault::Placed(reason) => Failure::bad_data(
            message!("'{}': its JSON: {reason}", name::shown(&sample.key); reason = reason),
        ),
    })
}
