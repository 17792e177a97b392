//! `csv:FILE?key=COLUMN&EXT=@COLUMN` and `jsonl:FILE?..`: one sample for each row of a table.
//!
//! `EXT=@COLUMN` is a file whose path, relative to the table, is in the column; `EXT=COLUMN` is the
//! text of the column. A symbolic link on the way to a file is followed on request alone. The other columns become the
//! sample's JSON, or those of `json=A,B`; `png=COLUMN&shape=28x28` is a picture whose pixels are in columns. With `json=none` there is none. The key is the column `key=`, or the path of the
//! first file without extension, or the row's number.

mod named_files;
mod pixels;

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::links::Links;
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};
use tarflume_scan::samples::described::Columns;
use tarflume_table::options::NAMES;
use tarflume_table::values::json::{RowWriter, put_plain};
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::{ValueKind, described};
use tarflume_table::{Cell, TableOptions, TableRow};

use self::named_files::{Examined, FileExaminer, file_path, without_ext};
use self::pixels::Pixels;
use crate::rows::Listing;
use crate::rows::columns::agreed::{Joint, agreed};
use crate::rows::columns::array_names;
use crate::rows::columns::array_names::is_png;
use crate::rows::columns::json_columns::JsonColumns;
use crate::rows::columns::part_names::renamed;
use crate::rows::url::{SourceFormat, SourceUrl};

/// The options of pictures whose pixels are in columns.
const SHAPE: &str = "shape";
const LAYOUT: &str = "layout";
/// Rows whose files are examined at once.
const BATCH: usize = 4096;

/// The parts that the options of a source name.
struct Parts {
    /// The column of keys.
    key: Option<usize>,
    /// Extension and column of files.
    files: Vec<(String, usize)>,
    /// Extension and column of texts.
    texts: Vec<(String, usize)>,
    /// Pictures whose pixels are in columns.
    pictures: Vec<Pixels>,
    /// Writes the columns that are fields of the JSON.
    json: Option<RowWriter>,
    /// These columns.
    fields: Vec<usize>,
    /// True if `json=` names columns.
    names_json: bool,
    /// The names of all columns.
    names: Vec<String>,
}

/// A row before its files are examined.
#[derive(Debug, Default)]
struct Pending {
    number: u64,
    /// The key; `None` if it is the row's number over all sources.
    key: Option<Vec<u8>>,
    /// Position in [`Parts::files`] and path under the folder of the table.
    files: Vec<(usize, Vec<u8>)>,
    /// Position in [`Parts::texts`] and text.
    texts: Vec<(usize, Vec<u8>)>,
    /// The PNG of each of [`Parts::pictures`].
    pictures: Vec<Vec<u8>>,
    json: Vec<u8>,
    /// Why it is no sample.
    fault: Option<(ProblemKind, Message)>,
}

/// Lists the rows of the tables of one source.
///
/// # Errors
/// Returns an error for a malformed table, for an option that names no column, and for a failure
/// of the machine.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    let options = table_options(source, builder.options().json)?;
    let surveys = source.files.iter().map(|path| Survey::of(path, &options, watch.stop));
    let mut surveys = surveys.collect::<Result<Vec<_>, Failure>>()?;
    let columns = agreed(source, &mut surveys)?;
    for (option, _) in source.options.iter().filter(|(option, _)| option.to_lowercase() != *option)
    {
        builder.notes.push(renamed("option", option, &option.to_lowercase()));
    }
    for ((n, path), survey) in source.files.iter().enumerate().zip(&surveys) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let under = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = source.kind.word();
        let root = Root { number: root + n as u32, path: folder };
        let number = builder.source(root, &under, kind, Default::default())?;
        survey.notes.iter().for_each(|note| builder.notes.push(note.clone()));
        let parts = Parts::of(source, path, survey)?;
        let has = match source.kind {
            SourceFormat::Jsonl => Columns::Some,
            _ => Columns::All,
        };
        builder.begin(format!("{kind}:{}", path.shown()), has);
        parts.describe(survey, &columns, builder)?;
        let mut reader = tarflume_table::open(path, &options)?;
        let mut row = TableRow::default();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let more = reader.next(&mut row)?;
            if more {
                batch.push(parts.pending(folder, &row, options.rules));
            }
            if batch.len() == BATCH || !more {
                if watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                watch.counter.add(batch.len() as u64);
                parts.push(folder, number, std::mem::take(&mut batch), builder)?;
            }
            if !more {
                break;
            }
        }
        survey.check_unchanged(path, row.number)?;
        if row.number == 0 {
            builder.notes.push(empty(source, path));
        }
    }
    Ok(())
}

/// Returns the note about a table without rows.
fn empty(source: &SourceUrl, path: &Path) -> String {
    let has = match source.kind {
        SourceFormat::Jsonl => "no lines but blank ones, and each line is a sample",
        _ => "a header and no rows, and each row is a sample",
    };
    format!("{} has {has}", path.shown())
}

/// Returns the folders of the tables, which are the roots of their files.
pub(crate) fn roots(source: &SourceUrl) -> impl Iterator<Item = PathBuf> {
    source.files.iter().map(|file| file.parent().unwrap_or(Path::new("/")).to_path_buf())
}

fn table_options(source: &SourceUrl, rules: JsonRules) -> Result<TableOptions, Failure> {
    let mut options = TableOptions { rules, ..TableOptions::default() };
    for name in NAMES {
        if let Some(value) = source.option(name) {
            options
                .set(name, value)
                .map_err(|why| Failure::usage(format!("{name}={value}: {why}")))?;
        }
    }
    Ok(options)
}

fn refused(why: String, path: &Path) -> Failure {
    Failure::usage(why).in_file(path)
}

/// Returns the pictures whose pixels are in columns: those of `png=`, if there is a shape.
fn pictures(source: &SourceUrl, names: &[String]) -> Result<Vec<Pixels>, String> {
    let Some(shape) = source.option(SHAPE).filter(|_| !names.iter().any(|name| name == SHAPE))
    else {
        return Ok(Vec::new());
    };
    let layout = source.option(LAYOUT).map(array_names::layout).transpose();
    let layout = layout.map_err(|failure| failure.text())?;
    let options = source.options.iter().filter(|(option, _)| is_png(option));
    let columns = options.filter(|(_, value)| !value.starts_with('@'));
    columns.map(|(ext, value)| Pixels::of(ext, value, shape, layout, names)).collect()
}

/// Returns the number of the column with a name.
fn column(name: &str, survey: &Survey, path: &Path) -> Result<usize, Failure> {
    let found = survey.names.iter().position(|column| column == name);
    found.ok_or_else(|| {
        let shown: Vec<_> = survey.names.iter().take(30).map(|n| format!("'{n}'")).collect();
        refused(format!("there is no column '{name}'; there are {}", shown.join(", ")), path)
    })
}

impl Parts {
    fn of(source: &SourceUrl, path: &Path, survey: &Survey) -> Result<Parts, Failure> {
        let names = survey.names.clone();
        let files = Vec::new();
        let texts = Vec::new();
        let fields = Vec::new();
        let names_json = source.option("json").is_some_and(|value| value != "none");
        let pictures = pictures(source, &names).map_err(|why| refused(why, path))?;
        let mut parts =
            Parts { key: None, files, texts, pictures, json: None, fields, names_json, names };
        let mut json = JsonColumns::Others;
        for (option, value) in &source.options {
            match (option.as_str(), value.strip_prefix('@')) {
                (name, _) if NAMES.contains(&name) => {}
                (ext, _) if parts.is_of_picture(ext) => {}
                ("key", _) => parts.key = Some(column(value, survey, path)?),
                ("json", None) => {
                    json = JsonColumns::of(value, survey, &|name| column(name, survey, path))?;
                }
                (ext, Some(name)) => {
                    parts.files.push((ext.to_lowercase(), column(name, survey, path)?));
                }
                (ext, None) => {
                    parts.texts.push((ext.to_lowercase(), column(value, survey, path)?));
                }
            }
        }
        if let JsonColumns::Whole(at) = json {
            parts.texts.push(("json".into(), at));
        }
        let used = parts.files.iter().chain(&parts.texts);
        let exts = used.clone().map(|(ext, _)| ext);
        let mut exts: Vec<&String> = exts.chain(parts.pictures.iter().map(|p| &p.ext)).collect();
        exts.sort_unstable();
        if let Some(twice) = exts.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(refused(format!("the option '{}' is given twice", twice[0]), path));
        }
        let no_text =
            parts.files.iter().find(|(_, at)| survey.types[*at].kind != ValueKind::String);
        if let Some((_, at)) = no_text {
            let name = &survey.names[*at];
            let kind = survey.types[*at].kind.word();
            return Err(refused(format!("column '{name}' is {kind}, and a path is text"), path));
        }
        let pixels = parts.pictures.iter().flat_map(|picture| picture.columns.iter().copied());
        let used: Vec<usize> = used.map(|(_, at)| *at).chain(parts.key).chain(pixels).collect();
        let has_json = exts.iter().any(|ext| *ext == "json");
        let all = 0..survey.names.len();
        let (without, fields): (Vec<usize>, Vec<usize>) = match json {
            JsonColumns::Others if !has_json => all.partition(|at| used.contains(at)),
            JsonColumns::Fields(named) if !has_json => all.partition(|at| !named.contains(at)),
            _ => (all.collect(), Vec::new()),
        };
        let writer = RowWriter::new(&survey.names, &survey.types, &without);
        parts.json = (!writer.is_empty()).then_some(writer);
        parts.fields = fields;
        Ok(parts)
    }

    /// Returns true for an option of pictures whose pixels are in columns.
    fn is_of_picture(&self, option: &str) -> bool {
        let is_one = self.pictures.iter().any(|picture| picture.ext == option.to_lowercase());
        !self.pictures.is_empty() && (is_one || matches!(option, SHAPE | LAYOUT))
    }

    /// Adds the columns of the JSON to the description of the samples.
    ///
    /// # Errors
    /// Returns an error if another table has another type of one.
    fn describe(
        &self,
        survey: &Survey,
        columns: &[Joint],
        builder: &mut ScanBuilder<'_>,
    ) -> Result<(), Failure> {
        self.note_left_out(survey, builder);
        for &at in &self.fields {
            let name = &survey.names[at];
            let joint = columns.iter().find(|joint| joint.name == *name);
            let inferred = joint.map_or(survey.types[at], |joint| joint.inferred);
            builder.describe(described(name, inferred))?;
        }
        Ok(())
    }

    /// Adds a line about columns that are not packed, because one column is the JSON.
    fn note_left_out(&self, survey: &Survey, builder: &mut ScanBuilder<'_>) {
        let parts = self.files.iter().chain(&self.texts);
        let pixels = self.pictures.iter().flat_map(|picture| picture.columns.iter().copied());
        let used = parts.clone().map(|(_, at)| *at).chain(self.key).chain(pixels);
        let used: Vec<usize> = used.chain(self.fields.iter().copied()).collect();
        let left = survey.names.iter().enumerate().filter(|(at, _)| !used.contains(at));
        let names: Vec<String> =
            left.map(|(_, name)| format!("'{}'", name::shown(name.as_bytes()))).collect();
        if !names.is_empty() && self.names_json {
            let names = names.join(", ");
            let note = format!("not packed, because json= names the JSON of a sample: {names}");
            builder.notes.push(note);
        }
    }

    fn pending(&self, folder: &Path, row: &TableRow, rules: JsonRules) -> Pending {
        let mut pending = Pending { number: row.number, ..Pending::default() };
        for (at, (ext, column)) in self.files.iter().enumerate() {
            match file_path(folder, row, *column) {
                Ok(path) => pending.files.push((at, path)),
                Err(why) => {
                    pending.fault =
                        Some((ProblemKind::MissingPart, message!("{ext}: {why}"; why = why)));
                }
            }
        }
        for (at, (_, column)) in self.texts.iter().enumerate() {
            let mut text = Vec::new();
            match row.cell(*column) {
                Cell::List(span) | Cell::Object(span) => {
                    text.extend_from_slice(row.text(span).as_bytes());
                }
                cell => {
                    if !row.name(*column, &mut text) {
                        put_plain(cell, &mut text);
                    }
                }
            }
            if !text.is_empty() {
                pending.texts.push((at, text));
            }
        }
        for picture in &self.pictures {
            match picture.png(row) {
                Ok(png) => pending.pictures.push(png),
                Err(why) => {
                    let why = message!("{}: {why}", picture.ext; why = why);
                    pending.fault = Some((ProblemKind::BadImage, why));
                }
            }
        }
        match self.key {
            Some(key) => {
                let mut name = Vec::new();
                if !row.name(key, &mut name) {
                    pending.fault = Some((ProblemKind::BadName, "its key is empty".into()));
                } else if self.files.iter().any(|(_, column)| *column == key) {
                    let path = pending.files.iter().find(|(at, _)| self.files[*at].1 == key);
                    name = path.map_or(Vec::new(), |(_, path)| without_ext(path).to_vec());
                }
                pending.key = Some(name);
            }
            None => {
                let first = pending.files.first();
                pending.key = first.map(|(_, path)| without_ext(path).to_vec());
            }
        }
        if let Some(writer) = &self.json {
            match writer.check(row, rules) {
                Ok(()) => writer.write(row, &mut pending.json),
                Err(why) => pending.fault = Some((ProblemKind::BadJson, why)),
            }
        }
        pending
    }

    /// Examines the files of a batch and adds its rows.
    fn push(
        &self,
        folder: &Path,
        source: u32,
        batch: Vec<Pending>,
        builder: &mut ScanBuilder<'_>,
    ) -> Result<(), Failure> {
        let links = Links::of(builder.options().follow_links);
        let examined = batch.par_iter().map_init(
            || FileExaminer::new(folder, links),
            |examiner, pending| {
                let files = pending.files.iter().map(|(_, path)| examiner.examine(path));
                files.collect::<Result<Vec<Examined>, Failure>>()
            },
        );
        let examined = examined.collect::<Result<Vec<Vec<Examined>>, Failure>>()?;
        for (pending, examined) in batch.iter().zip(examined) {
            let key = pending.key.clone().unwrap_or_else(|| builder.number().into_bytes());
            let row = RowName { source, row: pending.number };
            let mut fault = pending.fault.clone();
            let mut parts: Vec<(&str, RowPart<'_>)> = Vec::new();
            for ((at, path), found) in pending.files.iter().zip(examined) {
                match found {
                    Ok((size, stamp)) => {
                        parts.push((&self.files[*at].0, RowPart::File { path, size, stamp }));
                    }
                    Err(why) => fault = fault.or(Some(why)),
                }
            }
            if let Some((kind, reason)) = fault {
                builder.refuse(row, kind, Some(&key), reason);
                continue;
            }
            let texts = pending.texts.iter();
            parts.extend(texts.map(|(at, text)| (&*self.texts[*at].0, RowPart::Text(text))));
            let pictures = self.pictures.iter().zip(&pending.pictures);
            parts.extend(pictures.map(|(of, png)| (&*of.ext, RowPart::Text(png))));
            if self.json.is_some() {
                parts.push(("json", RowPart::Text(&pending.json)));
            }
            if !parts.is_empty() {
                for at in (0..self.texts.len())
                    .filter(|&at| !pending.texts.iter().any(|(found, _)| *found == at))
                {
                    builder.note_missing(row, &self.names[self.texts[at].1]);
                }
            }
            builder.push(row, &key, &parts)?;
        }
        Ok(())
    }
}
