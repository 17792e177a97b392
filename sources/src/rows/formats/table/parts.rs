//! `Parts`: the parts, the key and the JSON of the rows of a table, as the options of a source name them.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::name;
use tarflume_scan::rows::builder::ScanBuilder;
use tarflume_table::options::NAMES;
use tarflume_table::values::json::RowWriter;
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::described;

use super::pixels::{Pixels, is_option_of, pictures};
use super::template::{Template, column};
use crate::rows::columns::agreed::Joint;
use crate::rows::columns::json_columns::JsonColumns;
use crate::rows::url::SourceUrl;

/// What the key of a row is.
#[derive(Debug)]
pub(super) enum Key {
    /// The path of its first file without extension; the number of a row without files.
    OfFile,
    /// This text.
    Of(Template),
    /// Its number over all sources.
    Number,
}

/// A part that is a file.
#[derive(Debug)]
pub(super) struct NamedFile {
    pub(super) ext: String,
    pub(super) path: Template,
    /// Whether a row need not name one.
    pub(super) is_optional: bool,
}

/// A part that is a text.
#[derive(Debug)]
pub(super) struct NamedText {
    pub(super) ext: String,
    pub(super) text: Template,
}

/// The parts that the options of a source name.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) key: Key,
    pub(super) files: Vec<NamedFile>,
    pub(super) texts: Vec<NamedText>,
    /// Pictures whose pixels are in columns.
    pub(super) pictures: Vec<Pixels>,
    /// Writes the columns that are fields of the JSON.
    pub(super) json: Option<RowWriter>,
    /// These columns.
    fields: Vec<usize>,
    /// True if `json=` names columns.
    names_json: bool,
}

impl Parts {
    /// Parses the options of a source over the columns of one of its tables.
    ///
    /// # Errors
    /// Returns an error for a column that the table lacks, and for an extension that is given twice.
    pub(super) fn of(source: &SourceUrl, path: &Path, survey: &Survey) -> Result<Parts, Failure> {
        let names_json = source.option("json").is_some_and(|value| value != "none");
        let pictures = pictures(source, &survey.names);
        let mut parts = Parts {
            key: Key::OfFile,
            files: Vec::new(),
            texts: Vec::new(),
            pictures: pictures.map_err(|why| Failure::usage(why).in_file(path))?,
            json: None,
            fields: Vec::new(),
            names_json,
        };
        let mut json = JsonColumns::Others;
        for (option, value) in &source.options {
            match (option.as_str(), value.strip_prefix('@')) {
                (name, _) if NAMES.contains(&name) => {}
                (ext, _) if is_option_of(&parts.pictures, ext) => {}
                ("key", _) => parts.key = Key::parse(value, survey, path)?,
                ("json", None) => {
                    json = JsonColumns::of(value, survey, &|name| column(name, survey, path))?;
                }
                (ext, Some(text)) => parts.files.push(NamedFile::parse(ext, text, survey, path)?),
                (ext, None) => {
                    let text = Template::parse(value, survey, path)?;
                    parts.texts.push(NamedText { ext: ext.to_lowercase(), text });
                }
            }
        }
        if let JsonColumns::Whole(at) = json {
            let text = Template::parse(&survey.names[at], survey, path)?;
            parts.texts.push(NamedText { ext: "json".into(), text });
        }
        parts.check(path)?;
        let used: Vec<usize> = parts.used().collect();
        let all = 0..survey.names.len();
        let (without, fields): (Vec<usize>, Vec<usize>) = match json {
            JsonColumns::Others if !parts.has("json") => all.partition(|at| used.contains(at)),
            JsonColumns::Fields(named) if !parts.has("json") => {
                all.partition(|at| !named.contains(at))
            }
            _ => (all.collect(), Vec::new()),
        };
        let writer = RowWriter::new(&survey.names, &survey.types, &without);
        parts.json = (!writer.is_empty()).then_some(writer);
        parts.fields = fields;
        Ok(parts)
    }

    /// Returns the extensions of files, texts and pictures.
    fn exts(&self) -> impl Iterator<Item = &String> {
        let named = self.files.iter().map(|file| &file.ext);
        let named = named.chain(self.texts.iter().map(|text| &text.ext));
        named.chain(self.pictures.iter().map(|picture| &picture.ext))
    }

    fn has(&self, ext: &str) -> bool {
        self.exts().any(|other| other == ext)
    }

    /// Returns the columns that are parts or the key. Those that a template takes a piece of are not among them.
    fn used(&self) -> impl Iterator<Item = usize> {
        let key = match &self.key {
            Key::Of(key) => key.column(),
            Key::OfFile | Key::Number => None,
        };
        let files = self.files.iter().filter_map(|file| file.path.column());
        let texts = self.texts.iter().filter_map(|text| text.text.column());
        let pixels = self.pictures.iter().flat_map(|picture| picture.columns.iter().copied());
        files.chain(texts).chain(key).chain(pixels)
    }

    fn check(&self, path: &Path) -> Result<(), Failure> {
        let mut exts: Vec<&String> = self.exts().collect();
        exts.sort_unstable();
        if let Some(twice) = exts.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format!("the option '{}' is given twice", twice[0]);
            return Err(Failure::usage(why).in_file(path));
        }
        let first = self.files.first().filter(|file| file.is_optional);
        if let (Some(NamedFile { ext, .. }), Key::OfFile) = (first, &self.key) {
            let why = format!(
                "the path of '{ext}' is the key, and a row need not have one; give key=COLUMN, or key=# for the number \
                 of the row"
            );
            return Err(Failure::usage(why).in_file(path));
        }
        Ok(())
    }

    /// Adds the columns of the JSON to the description of the samples.
    ///
    /// # Errors
    /// Returns an error if another table has another type of one.
    pub(super) fn describe(
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
        let used: Vec<usize> = self.used().chain(self.fields.iter().copied()).collect();
        let left = survey.names.iter().enumerate().filter(|(at, _)| !used.contains(at));
        let names: Vec<String> =
            left.map(|(_, name)| format!("'{}'", name::shown(name.as_bytes()))).collect();
        if !names.is_empty() && self.names_json {
            let names = names.join(", ");
            let note = format!("not packed, because json= names the JSON of a sample: {names}");
            builder.notes.push(note);
        }
    }
}

impl Key {
    /// Parses `key=`.
    fn parse(value: &str, survey: &Survey, path: &Path) -> Result<Key, Failure> {
        let is_column = survey.names.iter().any(|name| name == value);
        if value == "#" && !is_column {
            return Ok(Key::Number);
        }
        Ok(Key::Of(Template::parse(value, survey, path)?))
    }
}

impl NamedFile {
    /// Parses `EXT=@TEMPLATE`, with a question mark at its end if rows need not have the file.
    fn parse(ext: &str, text: &str, survey: &Survey, path: &Path) -> Result<NamedFile, Failure> {
        let is_column = survey.names.iter().any(|name| name == text);
        let optional = text.strip_suffix('?').filter(|_| !is_column);
        let template = Template::parse(optional.unwrap_or(text), survey, path)?;
        template.check_path(survey, path)?;
        let is_optional = optional.is_some();
        Ok(NamedFile { ext: ext.to_lowercase(), path: template, is_optional })
    }
}
