//! `Chosen`: which columns of a file of Arrow become parts, JSON and the key, by the rules of Parquet. Pure.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message::Message;
use tarflume_table::parquet::{ArrowColumn, ArrowKind};

use crate::rows::columns::assign::as_ext;
use crate::rows::columns::ext_rule::ExtRule;
use crate::rows::columns::part_names::{Twins, part_name, renamed, twins};
use crate::rows::url::SourceUrl;

/// A column whose values are parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrowPart {
    pub(super) column: usize,
    pub(super) ext: ExtRule,
    /// Whether the column stays JSON if its lists differ in shape.
    pub(super) maybe: bool,
}

/// A column with the paths of files beside the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrowPath {
    pub(super) column: usize,
    pub(super) ext: String,
    /// Whether a row need not name a file.
    pub(super) is_optional: bool,
}

/// The columns that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) parts: Vec<ArrowPart>,
    pub(super) files: Vec<ArrowPath>,
    /// The columns of the JSON.
    pub(super) json: Vec<usize>,
    /// The column of the key; `None` for row numbers.
    pub(super) key: Option<usize>,
    /// Notes about columns that are packed under other names.
    pub(super) notes: Vec<Message>,
}

/// The columns of a file, for the options of a source.
struct Columns<'a> {
    columns: &'a [ArrowColumn],
    path: &'a Path,
}

impl Chosen {
    /// Chooses by the options of a source.
    ///
    /// # Errors
    /// Returns an error for an option that names no column, or one of another type, and for bytes that would not be packed.
    pub(super) fn of(
        source: &SourceUrl,
        columns: &[ArrowColumn],
        path: &Path,
    ) -> Result<Chosen, Failure> {
        let table = Columns { columns, path };
        let mut chosen = Chosen::default();
        for (name, value) in &source.options {
            if matches!(name.as_str(), "key" | "json" | "drop") {
                continue;
            }
            if part_name(name) != *name {
                chosen.notes.push(renamed("option", name, &part_name(name)));
            }
            match value.strip_prefix('@') {
                Some(column) => chosen.files.push(table.file(name, column)?),
                None => chosen.parts.push(table.part(name, value)?),
            }
        }
        let dropped = words(source.option("drop").unwrap_or_default());
        let dropped = dropped.iter().map(|name| table.find(name));
        let dropped = dropped.collect::<Result<Vec<usize>, Failure>>()?;
        let is_named = !chosen.parts.is_empty() || !chosen.files.is_empty();
        if !is_named {
            chosen.parts = usual(columns, &dropped);
            let changed = chosen.parts.iter().filter(|part| {
                let name = &columns[part.column].name;
                part_name(name) != *name
            });
            let changed = changed
                .map(|part| renamed("column", &columns[part.column].name, &part.ext.to_text()));
            chosen.notes.extend(changed.collect::<Vec<_>>());
        }
        let mut json = words(source.option("json").unwrap_or("*"));
        if let [one] = json[..]
            && one != "*"
            && let column = table.find(one)?
            && columns[column].kind == ArrowKind::Bytes
        {
            // A column of bytes has the JSON itself.
            let ext = ExtRule::Fixed("json".into());
            chosen.parts.retain(|part| part.column != column);
            chosen.parts.push(ArrowPart { column, ext, maybe: false });
            json.clear();
        }
        chosen.choose_json(&json, &dropped, &table)?;
        if let Some(key) = source.option("key").filter(|key| *key != "#") {
            chosen.key = Some(table.key(key)?);
        }
        Ok(chosen)
    }

    fn is_packed(&self, column: usize) -> bool {
        self.parts.iter().any(|part| part.column == column && !part.maybe)
            || self.files.iter().any(|file| file.column == column)
    }

    fn choose_json(
        &mut self,
        wanted: &[&str],
        dropped: &[usize],
        table: &Columns<'_>,
    ) -> Result<(), Failure> {
        let named = wanted.iter().filter(|name| **name != "*").map(|name| table.find(name));
        let named = named.collect::<Result<Vec<usize>, Failure>>()?;
        let takes_all = wanted.contains(&"*");
        for (column, ArrowColumn { name, kind, .. }) in table.columns.iter().enumerate() {
            let is_named = named.contains(&column);
            let is_free = takes_all && !self.is_packed(column) && !dropped.contains(&column);
            if !is_named && !is_free {
                continue;
            }
            match kind {
                ArrowKind::Text | ArrowKind::Whole | ArrowKind::Json(_) | ArrowKind::Numbers(_) => {
                    self.json.push(column);
                }
                ArrowKind::Unread => {
                    let why = format!("has a type without JSON; leave it out with drop={name}");
                    return Err(table.refused(name, &why));
                }
                _ if is_named => {
                    return Err(table.refused(name, "has bytes, which have no JSON; name a part"));
                }
                _ => {
                    let why = format!(
                        "has bytes that would not be packed; name the part: {}={name}, or leave the column out with \
                         drop={name}",
                        as_ext(name)
                    );
                    return Err(table.refused(name, &why));
                }
            }
        }
        Ok(())
    }

    /// Refuses two columns that become one part. Call it when it is decided which lists are arrays.
    ///
    /// # Errors
    /// Returns an error that names both columns.
    pub(super) fn check_exts(&self, columns: &[ArrowColumn], path: &Path) -> Result<(), Failure> {
        let parts = self.parts.iter().map(|part| (part.column, part.ext.usual().to_string()));
        let files = self.files.iter().map(|file| (file.column, file.ext.clone()));
        let named = parts.chain(files).map(|(n, ext)| (format!("'{}'", columns[n].name), ext));
        let mut pairs: Vec<(String, String)> = named.collect();
        if !self.json.is_empty() {
            pairs.push(("the fields of the JSON".into(), "json".into()));
        }
        let Some(Twins { first, second, ext }) = twins(&pairs) else { return Ok(()) };
        let text = format!(
            "{first} and {second} become the part '{ext}'; name them: \
             arrow:FILE?one=COLUMN&two=COLUMN&json=COLUMNS"
        );
        Err(Failure::usage(text).in_file(path))
    }
}

impl Columns<'_> {
    fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Finds a column. `image.bytes` and `image.path` are the image column, too.
    fn find(&self, name: &str) -> Result<usize, Failure> {
        let inner = name.strip_suffix(".bytes").or(name.strip_suffix(".path"));
        let image = inner.and_then(|inner| self.position(inner));
        let image = image.filter(|&n| self.columns[n].kind == ArrowKind::Image);
        self.position(name).or(image).ok_or_else(|| {
            let names: Vec<&str> =
                self.columns.iter().take(50).map(|column| column.name.as_str()).collect();
            let names = names.join(", ");
            Failure::usage(format!("there is no column '{name}'; the columns are {names}"))
                .in_file(self.path)
        })
    }

    fn refused(&self, column: &str, why: &str) -> Failure {
        Failure::usage(format!("column '{column}' {why}")).in_file(self.path)
    }

    /// Returns the part of an option `NAME=COLUMN` or `NAME=COLUMN[]`.
    fn part(&self, name: &str, given: &str) -> Result<ArrowPart, Failure> {
        let list = given.strip_suffix("[]").filter(|_| self.position(given).is_none());
        let column = self.find(list.unwrap_or(given))?;
        let name = part_name(name);
        let ext = match (list, self.columns[column].kind) {
            (Some(_), ArrowKind::List) => ExtRule::Counted((name != "image").then_some(name)),
            (Some(given), _) => {
                return Err(self.refused(given, "is no list of bytes or of images"));
            }
            (None, ArrowKind::Bytes | ArrowKind::Image | ArrowKind::Text) if name == "image" => {
                ExtRule::Content(String::new(), "bin".into())
            }
            (None, ArrowKind::Bytes | ArrowKind::Image | ArrowKind::Text) => ExtRule::Fixed(name),
            (None, ArrowKind::List) => ExtRule::Numbered(name),
            (None, ArrowKind::Numbers(_)) if name.ends_with(".raw") => ExtRule::Fixed(name),
            (None, ArrowKind::Numbers(_)) => ExtRule::Fixed(format!("{name}.raw")),
            (None, _) => {
                let why =
                    "is no part: bytes, text and lists of numbers are parts; all else is JSON";
                return Err(self.refused(given, why));
            }
        };
        Ok(ArrowPart { column, ext, maybe: false })
    }

    /// Returns the column of an option `EXT=@COLUMN`.
    fn file(&self, name: &str, given: &str) -> Result<ArrowPath, Failure> {
        let optional = given.strip_suffix('?').filter(|_| self.position(given).is_none());
        let column = self.find(optional.unwrap_or(given))?;
        if !matches!(self.columns[column].kind, ArrowKind::Text | ArrowKind::Image) {
            let why = "has no paths: a path is text, or the path of an image";
            return Err(self.refused(&self.columns[column].name, why));
        }
        Ok(ArrowPath { column, ext: part_name(name), is_optional: optional.is_some() })
    }

    fn key(&self, given: &str) -> Result<usize, Failure> {
        let column = self.find(given)?;
        match self.columns[column].kind {
            ArrowKind::Text | ArrowKind::Image | ArrowKind::Whole => Ok(column),
            _ => Err(self.refused(given, "is no key: keys are text or whole numbers")),
        }
    }
}

/// Returns the names in an option.
fn words(option: &str) -> Vec<&str> {
    option.split(',').filter(|name| !matches!(*name, "" | "none")).collect()
}

/// Returns the parts if no option names one.
fn usual(columns: &[ArrowColumn], dropped: &[usize]) -> Vec<ArrowPart> {
    let kept: Vec<(usize, &ArrowColumn)> =
        columns.iter().enumerate().filter(|(n, _)| !dropped.contains(n)).collect();
    let bytes = kept.iter().map(|(_, column)| column.kind);
    let bytes = bytes.filter(|kind| matches!(kind, ArrowKind::Bytes | ArrowKind::Image));
    let is_alone = bytes.count() == 1;
    let mut parts = Vec::new();
    for (column, ArrowColumn { name, kind, .. }) in kept {
        let name = part_name(name);
        let ext = match kind {
            ArrowKind::Bytes | ArrowKind::Image if is_alone => {
                ExtRule::Content(String::new(), name)
            }
            ArrowKind::Bytes | ArrowKind::Image => ExtRule::Content(format!("{name}."), name),
            ArrowKind::List => ExtRule::Numbered(as_ext(&name)),
            ArrowKind::Numbers(_) => ExtRule::Fixed(format!("{name}.raw")),
            _ => continue,
        };
        let maybe = matches!(kind, ArrowKind::Numbers(_));
        parts.push(ArrowPart { column, ext, maybe });
    }
    parts
}
