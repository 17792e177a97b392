//! Reads all rows of a source, changes their names and fields as its rules say, and sorts them by the hash of the name.

use std::path::{Path, PathBuf};

use tarflume_base::json_rules::sentence;
use tarflume_base::{Failure, units};
use tarflume_formats::json::JsonRules;
use tarflume_scan::folders::walk::Watch;
use tarflume_table::bad_row;

use super::matching;
use super::members;
use super::names::field::ByField;
use super::names::on::Habits;
use super::names::reduced::reduce;
use super::options::On;
use super::places::Place;
use super::rules::RowRules;
use super::source::{JoinRow, JoinRows};
use crate::sorter::{Sorted, Sorter};

/// Rows between two looks at the request to stop.
const ROWS: u64 = 8192;

/// The rows of a source, sorted by the hash of the name.
pub(super) struct Gathered {
    pub(super) sorted: Sorted,
    pub(super) rows: u64,
    pub(super) habits: Habits,
}

/// What happens to rows while they are read.
pub(super) struct Gathering<'a> {
    /// The tables, for messages.
    pub(super) files: &'a [PathBuf],
    /// The name of samples that rows have, if it is given.
    pub(super) on: Option<On>,
    pub(super) rules: &'a RowRules,
    /// The keys of all samples, if rows are in their order.
    pub(super) keys: Option<Vec<Vec<u8>>>,
    /// The keys of samples by the value that rows have.
    pub(super) by_field: Option<ByField>,
    pub(super) json: JsonRules,
}

impl Gathering<'_> {
    /// Reads the rows.
    ///
    /// # Errors
    /// Returns the errors of the rows, an error for rows in order that are more or fewer than the samples, and for a
    /// failure of the machine.
    pub(super) fn gather(
        &self,
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
            self.change(&mut row, count, &habits)?;
            count += 1;
            let Some(by_field) = &self.by_field else {
                habits.see(&row.name);
                push(&row, &mut content, &mut sorter)?;
                continue;
            };
            for key in by_field.keys(&row.name) {
                row.name = key;
                push(&row, &mut content, &mut sorter)?;
            }
        }
        if let Some(keys) = self.keys.as_ref().filter(|keys| keys.len() as u64 != count) {
            return Err(self.unequal(count, keys.len() as u64));
        }
        Ok(Gathered { sorted: sorter.finish()?, rows: count, habits })
    }

    /// Changes the name and the fields of a row, which is the one after `before` others.
    fn change(&self, row: &mut JoinRow, before: u64, habits: &Habits) -> Result<(), Failure> {
        if let Some(keys) = &self.keys {
            row.name.clear();
            // Rows after the last sample are counted only: their number is the error.
            row.name.extend(keys.get(before as usize).into_iter().flatten());
        } else if self.by_field.is_none() {
            self.rules.rename(&mut row.name);
            if let Some(on) = self.on {
                reduce(&mut row.name, on, habits.exts());
            }
        }
        if !self.rules.fields.is_empty() {
            let only = members::only(&row.json, &self.rules.fields, self.json);
            row.json = only.map_err(|fault| {
                bad_row(self.file(row.place), row.place.row, row.place.byte, sentence(&fault))
            })?;
        }
        Ok(())
    }

    fn file(&self, place: Place) -> &Path {
        &self.files[place.table as usize]
    }

    fn unequal(&self, rows: u64, samples: u64) -> Failure {
        Failure::usage(format!(
            "rows=order gives row n to sample n, and there are {} and {}; header=none takes the first row as data, \
             skip=N leaves out lines before the rows, and samples that are no pictures of this table go into another \
             build",
            units::counted(rows, "row", "rows"),
            units::counted(samples, "sample", "samples"),
        ))
        .in_file(&self.files[0])
    }
}

/// Adds a row to those that are sorted. `content` is memory for its record.
fn push(row: &JoinRow, content: &mut Vec<u8>, sorter: &mut Sorter) -> Result<(), Failure> {
    content.clear();
    row.place.put(content);
    matching::put_row(row, content);
    sorter.push(matching::hash(&row.name), content)
}

/// Rows with one name.
struct SameName {
    name: Vec<u8>,
    place: Place,
    objects: Vec<Vec<u8>>,
}

/// Puts all rows with the same name into one, whose fields are lists. The field `key` stays one value. Memory: the rows
/// of one sample.
///
/// # Errors
/// Returns an error for a failure of the machine.
pub(super) fn collected(
    mut rows: Sorted,
    key: Option<&str>,
    json: JsonRules,
) -> Result<Sorted, Failure> {
    let mut sorter = Sorter::new();
    let mut content = Vec::new();
    let mut groups: Vec<SameName> = Vec::new();
    while let Some(hash) = rows.peek()? {
        groups.clear();
        while rows.peek()? == Some(hash) {
            let Some((_, record)) = rows.next()? else { break };
            add(&mut groups, record);
        }
        for group in &groups {
            let objects: Vec<&[u8]> = group.objects.iter().map(Vec::as_slice).collect();
            let json = members::collected(&objects, key, json)
                .expect("a reader of rows writes objects of JSON");
            let row = JoinRow { place: group.place, name: group.name.clone(), json };
            push(&row, &mut content, &mut sorter)?;
        }
    }
    sorter.finish()
}

/// Adds a record to the rows with its name. Rows without a name are not put together.
fn add(groups: &mut Vec<SameName>, record: &[u8]) {
    let row = matching::row_of(record);
    match groups.iter_mut().find(|group| group.name == row.name && !row.name.is_empty()) {
        Some(group) => group.objects.push(row.json),
        None => {
            groups.push(SameName { name: row.name, place: row.place, objects: vec![row.json] });
        }
    }
}
