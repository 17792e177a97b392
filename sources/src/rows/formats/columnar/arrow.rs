//! `arrow:FOLDER?key=COLUMN&EXT=COLUMN&json=COLUMNS`: one sample for each row of files of Arrow, as `save_to_disk` of
//! Hugging Face's `datasets` writes them.
//!
//! Columns become parts and JSON by the rules of Parquet. Each part is a range of its file: an uncompressed batch has its
//! values as they are. Memory holds one batch.

mod choose;

use std::path::Path;

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::Column;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::links::Links;
use tarflume_scan::rows::builder::{Root, RowName, RowPart};
use tarflume_table::parquet::{
    ArrowBatch, ArrowBatches, ArrowColumn, ArrowKind, Misplaced, PlacedBytes, PlacedNumbers,
};

use self::choose::{ArrowPart, Chosen};
use crate::rows::Listing;
use crate::rows::columns::assign::pointer;
use crate::rows::columns::ext_rule::ExtRule;
use crate::rows::formats::columnar::classes;
use crate::rows::places::named_files::{FileExaminer, file_path, without_ext};
use crate::rows::url::SourceUrl;

/// The text of a schema with what `datasets` states about its columns.
const NOTE: &str = "huggingface";

/// The files of a source, which have the same columns.
struct Tables<'a> {
    source: &'a SourceUrl,
    columns: Vec<ArrowColumn>,
    chosen: Chosen,
    /// The shape of each part that is an array.
    shapes: Vec<Option<Vec<u64>>>,
}

/// A file that a row names.
struct NamedFile<'c> {
    ext: &'c str,
    path: Vec<u8>,
    size: u64,
    stamp: u32,
}

/// Why a row is no sample.
struct Fault {
    kind: ProblemKind,
    reason: Message,
}

impl Fault {
    fn new(kind: ProblemKind, reason: impl Into<Message>) -> Fault {
        Fault { kind, reason: reason.into() }
    }
}

/// The place of a row.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a Path,
    batch: &'a ArrowBatch,
    /// Its place in the batch.
    row: usize,
    source: u32,
}

impl At<'_> {
    /// Its number in the file.
    fn number(&self) -> u64 {
        self.batch.first + self.row as u64
    }
}

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for a file that is not of Arrow or has other columns than the first, and if the machine fails.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Some(first) = source.files.first() else { return Ok(()) };
    let opened = ArrowBatches::open(first)?;
    let columns = opened.columns();
    let chosen = Chosen::of(source, &columns, first)?;
    let shapes = vec![None; chosen.parts.len()];
    let mut tables = Tables { source, columns, chosen, shapes };
    tables.settle_arrays(&listing)?;
    tables.chosen.check_exts(&tables.columns, first)?;
    tables.chosen.notes.iter().for_each(|note| listing.builder.notes.push(note.clone()));
    tables.describe(opened.note(NOTE), &mut listing)?;
    for (n, path) in source.files.iter().enumerate() {
        tables.list(n as u32, path, &mut listing)?;
    }
    Ok(())
}

/// Returns the folder that paths in a file are relative to.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

impl Tables<'_> {
    /// Opens a file, whose columns must be those of the first.
    fn open(&self, path: &Path) -> Result<ArrowBatches, Failure> {
        let batches = ArrowBatches::open(path)?;
        let own = batches.columns();
        let same = own.len() == self.columns.len()
            && own.iter().zip(&self.columns).all(|(a, b)| a.is_described_as(b));
        if same {
            return Ok(batches);
        }
        let other =
            own.iter().find(|own| !self.columns.iter().any(|known| known.is_described_as(own)));
        let what = match other {
            Some(column) => format!("column '{}'", name::shown(column.name.as_bytes())),
            None => "their columns".into(),
        };
        let first = &self.source.files[0];
        Err(Failure::usage(message!(
            "{path} and {} differ in {what}; pack them as different data sets",
            path.shown();
            path = first
        ))
        .with_file(first))
    }

    /// Decides which lists of numbers are arrays: those with one shape in all rows. The others stay JSON.
    fn settle_arrays(&mut self, listing: &Listing<'_, '_>) -> Result<(), Failure> {
        let mut parts = std::mem::take(&mut self.chosen.parts);
        let mut is_even = vec![true; parts.len()];
        let numbered = parts.iter().enumerate();
        let arrays = numbered
            .filter(|(_, part)| matches!(self.columns[part.column].kind, ArrowKind::Numbers(_)));
        let arrays: Vec<usize> = arrays.map(|(n, _)| n).collect();
        for path in self.source.files.iter().filter(|_| !arrays.is_empty()) {
            let mut batches = self.open(path)?;
            while let Some(batch) = batches.next_batch()? {
                if listing.watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                for &n in &arrays {
                    is_even[n] =
                        is_even[n] && see_shapes(&batch, &parts[n], &mut self.shapes[n], path)?;
                }
            }
        }
        let mut kept = Vec::new();
        let mut shapes = Vec::new();
        for (n, part) in parts.drain(..).enumerate() {
            let shape = self.shapes[n].take();
            if part.maybe && (!is_even[n] || shape.is_none()) {
                continue;
            }
            self.chosen.json.retain(|column| !part.maybe || *column != part.column);
            kept.push(part);
            shapes.push(shape);
        }
        (self.chosen.parts, self.shapes) = (kept, shapes);
        Ok(())
    }

    /// Describes the samples for the manifest. `note` is what `datasets` states about them.
    fn describe(&self, note: Option<&str>, listing: &mut Listing<'_, '_>) -> Result<(), Failure> {
        for (part, shape) in self.chosen.parts.iter().zip(&self.shapes) {
            let ArrowKind::Numbers(number) = self.columns[part.column].kind else { continue };
            let ExtRule::Fixed(name) = &part.ext else { continue };
            let Some(shape) = shape else { continue };
            let shape = Some(shape.clone());
            let kind = number.name.into();
            let name = name.clone();
            listing.builder.describe(Column { name, kind, shape, nullable: false, items: None })?;
        }
        for &column in &self.chosen.json {
            let ArrowColumn { name, word, is_nullable, .. } = &self.columns[column];
            let name = pointer(name);
            let kind = word.to_string();
            let nullable = *is_nullable;
            listing.builder.describe(Column { name, kind, shape: None, nullable, items: None })?;
        }
        let about = listing.builder.about();
        if about.classes.is_none() {
            about.classes = note.and_then(classes::of_note).filter(|found| {
                let field = found.pointer.trim_start_matches('/');
                self.chosen.json.iter().any(|&column| self.columns[column].name == field)
            });
        }
        Ok(())
    }

    /// Lists the rows of file `n`.
    fn list(&self, n: u32, path: &Path, listing: &mut Listing<'_, '_>) -> Result<(), Failure> {
        let number = listing.root + n;
        let builder = &mut *listing.builder;
        let source = if self.source.names_files() {
            let under = path.file_name().unwrap_or_default().to_string_lossy();
            let root = Root { number, path: folder_of(path) };
            builder.source(root, &under, "bytes", Value::Null.approximate())?
        } else {
            builder.source(Root { number, path }, "", "bytes", Value::Null.approximate())?
        };
        let links = Links::of(builder.options().follow_links);
        let mut examiner = FileExaminer::new(folder_of(path), links);
        let mut batches = self.open(path)?;
        while let Some(batch) = batches.next_batch()? {
            if listing.watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            listing.watch.counter.add(batch.len() as u64);
            for row in 0..batch.len() {
                self.push(At { path, batch: &batch, row, source }, &mut examiner, listing)?;
            }
        }
        Ok(())
    }

    /// Adds one row as a sample, or its problem.
    fn push(
        &self,
        at: At<'_>,
        examiner: &mut FileExaminer<'_>,
        listing: &mut Listing<'_, '_>,
    ) -> Result<(), Failure> {
        let row = RowName { source: at.source, row: at.number() };
        let builder = &mut *listing.builder;
        let key = match self.chosen.key {
            None => Some(builder.number()),
            Some(column) => self.key(at, column),
        };
        let Some(key) = key else {
            let column = self.chosen.key.map_or("", |key| &self.columns[key].name);
            let why = format!("its key, column '{column}', is null");
            builder.refuse(row, ProblemKind::BadName, None, why);
            return Ok(());
        };
        let rules = builder.options().json;
        let mut json = Object::new();
        for &column in &self.chosen.json {
            let name = &self.columns[column].name;
            match at.batch.json(column, at.row, rules) {
                Ok(value) => drop(json.insert(name.clone(), value)),
                Err(why) => {
                    let why = message!("column '{name}': {why}"; why = why);
                    builder.refuse(row, ProblemKind::BadJson, Some(key.as_bytes()), why);
                    return Ok(());
                }
            }
        }
        let mut lacking = Vec::new();
        let parts = self.parts(at, &mut lacking)?;
        let files = self.files(at, examiner, &mut lacking)?;
        let (parts, files) = match (parts, files) {
            (Ok(parts), Ok(files)) => (parts, files),
            (Err(fault), _) | (_, Err(fault)) => {
                builder.refuse(row, fault.kind, Some(key.as_bytes()), fault.reason);
                return Ok(());
            }
        };
        let text = (!json.is_empty()).then(|| Value::Object(json).to_string());
        let mut named: Vec<(&str, RowPart<'_>)> =
            parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        for NamedFile { ext, path, size, stamp } in &files {
            named.push((ext, RowPart::File { path, size: *size, stamp: *stamp }));
        }
        if let Some(text) = &text {
            named.push(("json", RowPart::Text(text.as_bytes())));
        }
        if !named.is_empty() {
            for column in lacking {
                builder.note_missing(row, &self.columns[column].name);
            }
        }
        builder.push(row, key.as_bytes(), &named)
    }

    /// Returns the key of a row; the name of an image loses its extension.
    fn key(&self, at: At<'_>, column: usize) -> Option<String> {
        match self.columns[column].kind {
            ArrowKind::Whole => match at.batch.json(column, at.row, Default::default()).ok()? {
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            },
            ArrowKind::Image => {
                let path = at.batch.path(column, at.row)?.trim_start_matches('/');
                Some(String::from_utf8_lossy(without_ext(path.as_bytes())).into_owned())
            }
            _ => at.batch.path(column, at.row).map(String::from),
        }
    }

    /// Returns the parts of a row that are in the file. Columns without value are added to `lacking`.
    fn parts(&self, at: At<'_>, lacking: &mut Vec<usize>) -> Result<Result<Parts, Fault>, Failure> {
        let mut parts = Vec::new();
        for (n, part) in self.chosen.parts.iter().enumerate() {
            let At { batch, row, .. } = at;
            let column = part.column;
            match self.columns[column].kind {
                ArrowKind::List => {
                    let Some(values) =
                        batch.list(column, row).map_err(|e| self.moved(at, column, e))?
                    else {
                        lacking.push(column);
                        continue;
                    };
                    for (number, value) in values.into_iter().enumerate() {
                        let Some(value) = value else { return Err(self.without_bytes(at, column)) };
                        parts.push((part.ext.numbered(number, value.bytes), at.range(value)));
                    }
                }
                ArrowKind::Numbers(_) => {
                    let found = batch.numbers(column, row);
                    match found.map_err(|e| self.moved(at, column, e))? {
                        PlacedNumbers::Null => lacking.push(column),
                        PlacedNumbers::Value(dims, value)
                            if self.shapes[n].as_ref() == Some(&dims) =>
                        {
                            parts.push((part.ext.usual().to_string(), at.range(value)));
                        }
                        PlacedNumbers::Value(..) | PlacedNumbers::Uneven => {
                            let shape = self.shapes[n].as_deref().unwrap_or_default();
                            let ext = part.ext.usual();
                            let why = format!(
                                "'{ext}' has another shape than {shape:?}, or nulls; pack it as JSON"
                            );
                            return Ok(Err(Fault::new(ProblemKind::Unreadable, why)));
                        }
                    }
                }
                kind => match batch.bytes(column, row).map_err(|e| self.moved(at, column, e))? {
                    Some(value) => parts.push((part.ext.of(value.bytes), at.range(value))),
                    None if kind == ArrowKind::Image && batch.path(column, row).is_some() => {
                        return Err(self.path_alone(at, column));
                    }
                    None => lacking.push(column),
                },
            }
        }
        Ok(Ok(parts))
    }

    /// Examines the files that a row names. Columns without a name are added to `lacking`.
    fn files(
        &self,
        at: At<'_>,
        examiner: &mut FileExaminer<'_>,
        lacking: &mut Vec<usize>,
    ) -> Result<Result<Vec<NamedFile<'_>>, Fault>, Failure> {
        let mut found = Vec::new();
        for file in &self.chosen.files {
            let named = at.batch.path(file.column, at.row).unwrap_or_default();
            if named.is_empty() && file.is_optional {
                lacking.push(file.column);
                continue;
            }
            let path = match named {
                "" => Err("the row names no file".into()),
                named => file_path(folder_of(at.path), named.as_bytes()),
            };
            let path = match path {
                Ok(path) => path,
                Err(why) => {
                    let why = message!("{}: {why}", file.ext; why = why);
                    return Ok(Err(Fault::new(ProblemKind::MissingPart, why)));
                }
            };
            match examiner.examine(&path)? {
                Ok((size, stamp)) => found.push(NamedFile { ext: &file.ext, path, size, stamp }),
                Err((kind, reason)) => return Ok(Err(Fault::new(kind, reason))),
            }
        }
        Ok(Ok(found))
    }

    /// Returns the error for a value that is not in the file as it is.
    fn moved(&self, at: At<'_>, column: usize, _: Misplaced) -> Failure {
        let name = &self.columns[column].name;
        let text = format!(
            "row {}: column '{name}': its value is not in the file as it is; the file is damaged",
            at.number()
        );
        Failure::bad_data(text).in_file(at.path)
    }

    /// Returns the error for a list with a value that has no bytes.
    fn without_bytes(&self, at: At<'_>, column: usize) -> Failure {
        let name = &self.columns[column].name;
        let text = format!(
            "row {}: the list in column '{name}' has a value without bytes: a null, or the path of a picture alone; put \
             the bytes into the table, or leave the column out with drop={name}",
            at.number()
        );
        Failure::usage(text).in_file(at.path)
    }

    /// Returns the error for a picture whose bytes are in another file.
    fn path_alone(&self, at: At<'_>, column: usize) -> Failure {
        let name = &self.columns[column].name;
        let picture = at.batch.path(column, at.row).unwrap_or_default();
        let text = format!(
            "row {}: column '{name}' names the file '{}' and has no bytes of it, so no picture would be packed; put the \
             bytes into the table (in Python: \
             dataset.with_format('arrow').map(datasets.table.embed_table_storage, batched=True)), pack the files beside \
             the table with jpg=@{name}, or leave the column out with drop={name}",
            at.number(),
            name::shown(picture.as_bytes())
        );
        Failure::usage(text).in_file(at.path)
    }
}

/// Parts with their extensions.
type Parts = Vec<(String, RowPart<'static>)>;

impl At<'_> {
    fn range(&self, value: PlacedBytes<'_>) -> RowPart<'static> {
        RowPart::Range { source: self.source, at: value.at, size: value.bytes.len() as u64 }
    }
}

/// Compares the shapes of the rows of a batch with `shape`, which the first row with one sets. Returns false if a column
/// that may stay JSON has another one, or nulls.
fn see_shapes(
    batch: &ArrowBatch,
    part: &ArrowPart,
    shape: &mut Option<Vec<u64>>,
    path: &Path,
) -> Result<bool, Failure> {
    for row in 0..batch.len() {
        let numbers = batch.numbers(part.column, row).map_err(|Misplaced| {
            let text = "a list of numbers is not in the file as it is; the file is damaged";
            Failure::bad_data(text).in_file(path)
        })?;
        match numbers {
            PlacedNumbers::Value(dims, _) if *shape.get_or_insert_with(|| dims.clone()) == dims => {
            }
            _ if part.maybe => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}
