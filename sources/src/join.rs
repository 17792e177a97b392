//! Joins rows to the samples of a scan: each row becomes a JSON part of the sample that it names.
//!
//! Rows are sorted by the hash of the name, samples are visited in passes over ranges of hashes,
//! and what matches is sorted again in the order of the samples. Memory: 64 MiB for both sorts, 32
//! MiB or two bytes a sample for names. Equal hashes are compared by name. The samples of a data set
//! that gets more are a second side, by their keys, in the same passes and the same memory. Floors:
//! `options` and `rules` parse names and options, `source` declares rows, `on` derives names from samples, `reduced` the
//! same names from rows, `order` sorts samples, `known` compares them with a data set, `rows` reads tables, `members`
//! changes objects, `gather` sorts rows, `places` holds problems, `matching` pairs rows with samples, `attaching` attaches
//! them.

mod attaching;
mod auto;
mod gather;
mod known;
mod matching;
mod members;
mod names;
mod options;
mod places;
pub mod rows;
mod rules;
mod source;

use std::path::PathBuf;

use tarflume_base::{Choice, Failure, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_scan::Scan;
use tarflume_scan::folders::walk::Watch;

use self::attaching::{Attaching, JoinTerms};
pub use self::auto::image_folder;
use self::gather::Gathering;
pub use self::known::Known;
use self::matching::{Matches, Sides, hint};
use self::names::field::{ByField, FieldOf};
use self::names::order;
pub use self::names::reduced::reduce;
pub use self::options::{JoinOptions, On};
pub(crate) use self::places::Place;
use self::places::base;
pub use self::rules::{MissingRow, RowRules};
pub use self::source::{JoinRow, JoinRows, JoinSource};
use crate::present::Left;
use crate::sorter::Sorter;

/// Joins rows to samples. A sample without row and a row without sample are problems of the scan, unless the rules say
/// otherwise or the data set `known`, which gets more samples, has the sample. Returns what was left out because it has
/// no row and needs none.
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
    let JoinSource { mut rows, files, on, ext, without, flag, rules, key, json, merges } = source;
    let by_field = match &rules.field {
        Some(field) => {
            let of = FieldOf { field, ext: &ext, rules: json };
            Some(ByField::read(scan, roots, of, watch.stop)?)
        }
        None => None,
    };
    let gathering = Gathering {
        files: &files,
        on,
        rules: &rules,
        keys: rules.ordered.then(|| order::keys(scan)),
        by_field,
        json,
    };
    let mut gathered = gathering.gather(rows.as_mut(), Known::habits(known, scan), watch)?;
    drop(rows);
    let on = if rules.ordered || rules.field.is_some() { Some(On::Key) } else { on };
    let on = on.unwrap_or_else(|| gathered.habits.on());
    if gathered.rows == 0 {
        return Err(Failure::usage("the table has no rows").in_file(&files[0]));
    }
    if rules.collects {
        gathered.sorted = gather::collected(gathered.sorted, key.as_deref(), json)?;
    }
    if let Some(known) = known {
        gathered.sorted = known.sorted(gathered.sorted, on, matching::name_of)?;
    }
    let mut matches =
        matching::matches(Sides { scan, on, known }, &mut gathered.sorted, watch.stop)?;
    drop(gathered.sorted);
    let hint = hint::of(&matches, scan, on, gathered.habits.exts());
    if matches.samples + matches.known == 0 && !scan.samples.is_empty() {
        let advice = hint.unwrap_or_else(|| advice(flag));
        return Err(match &rules.field {
            Some(field) => no_value(&matches, &files, field),
            None if matches.first().is_none() => no_one(&files, on),
            None => nothing(scan, &matches, &files, on, advice),
        });
    }
    let found = std::mem::replace(&mut matches.found, Sorter::new()).finish()?;
    let by = rules.field.as_deref().unwrap_or(if rules.ordered { "order" } else { on.word() });
    let terms = JoinTerms { files: &files, by, ext: &ext, without, flag, json, merges };
    let attaching = Attaching { found, terms, missing: rules.missing, known };
    let (left, skipped) = attaching.attach(scan, roots, &mut matches.repeated)?;
    let mut note = joined_note(&matches, gathered.rows, &files, by);
    if rules.ignores_orphans {
        note +=
            &left_out(matches.orphans.count(), "row without sample is", "rows without sample are");
    } else {
        let reason = hint.map_or(Message::default(), |hint| message!("; {hint}"; hint = hint));
        matches.orphans.report(scan, &files, &reason);
    }
    note += &left_out(skipped, "sample without row is", "samples without row are");
    matches.repeated.report(scan, &files, &Message::default());
    scan.notes.push(note.into());
    Ok(left)
}

/// The line about the rows that were joined.
fn joined_note(matches: &Matches, rows: u64, files: &[PathBuf], name: &str) -> String {
    let mut note = format!(
        "{} of {} joined to {} by {name}",
        units::counted(rows, "row", "rows"),
        if files.len() == 1 { base(&files[0]) } else { format!("{} tables", files.len()) },
        units::counted(matches.samples, "sample", "samples"),
    );
    if let rows @ 1.. = matches.known {
        let rows = units::counted(rows, "row names", "rows name");
        note += &format!("; {rows} samples that only the data set has");
    }
    note
}

/// What a line about a join says of rows or samples that were left out; nothing for none.
fn left_out(count: u64, one: &str, several: &str) -> String {
    if count == 0 {
        return String::new();
    }
    format!("; {} left out", units::counted(count, one, several))
}

/// Returns how the user states which names the rows have.
fn advice(flag: Name) -> Message {
    message!("{given} names the column, on=key|stem|basename|path the name";
        given = flag.is("FILE:key=COLUMN"))
}

/// Returns the error for rows whose values no sample has.
fn no_value(matches: &Matches, files: &[PathBuf], field: &str) -> Failure {
    let named = matches.first().map_or("no value".to_string(), |(place, name)| {
        format!("{} in {}", places::quoted(name), place.shown(files))
    });
    Failure::usage(message!(
        "no row of {table} has a value that a sample has at {field} of its JSON: the first is {named}; an earlier table, or \
         the samples' JSON, must have the field, and key=COLUMN names the column of the values";
        table = &files[0]
    ))
    .with_file(&files[0])
}

/// Returns the error for rows that name several samples each.
fn no_one(files: &[PathBuf], on: On) -> Failure {
    Failure::usage(message!(
        "each row of {table} that names a sample by its {} names several; give on=key or on=path",
        on.word();
        table = &files[0]
    ))
    .with_file(&files[0])
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
