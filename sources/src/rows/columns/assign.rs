//! Columns of a source -> parts and JSON fields of a sample: the options `key=COLUMN`,
//! `EXT=COLUMN`, `json=*`, and what happens without them.
//!
//! Without options, images get the extension of their first bytes, other bytes `NAME.bin`, arrays
//! `NAME.raw`, and all other values are fields of the sample's JSON. Pure.

use tarflume_base::Failure;
use tarflume_base::array_note::ArrayNote;
use tarflume_base::check::sniff;
use tarflume_formats::Column as Described;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_scan::rows::row_notes::RowNotes;

use crate::rows::columns::part_names::{Twins, is_of_extension, renamed, twins};
use crate::rows::url::SourceUrl;
use tarflume_formats::IMAGE_EXTS;

/// Columns that a line about columns names.
const NAMED: usize = 10;

/// A column of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name in the source.
    pub(crate) name: String,
    /// Its values.
    pub(crate) kind: ColumnKind,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Any bytes.
    Bytes,
    /// Files with this extension.
    File(String),
    /// UTF-8.
    Text,
    /// JSON.
    Json,
    /// Numbers; the word of [`Described::kind`].
    Number(&'static str),
    /// Arrays of numpy's type and of one shape.
    Array(String, Vec<u64>),
    /// Arrays of any type and shape.
    AnyArray,
    /// What is not read, and why.
    Refused(String),
}

/// What a column becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    Unused,
    /// A field of the sample's JSON.
    Field,
    /// A part with this extension.
    Part(String),
    /// A part whose extension is that of its first bytes, after this prefix, if they begin an
    /// image; else the second extension.
    Sniffed(String, String),
}

/// What all columns of a source become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    /// The position of the column with the keys; without it, keys are row numbers.
    pub(crate) key: Option<usize>,
    /// The role of each column.
    pub(crate) roles: Vec<Role>,
    /// Notes about columns that are packed under other names.
    pub(crate) notes: Vec<Message>,
}

impl Roles {
    /// Decides the roles of `columns`. Options with a name in `others` belong to the source.
    ///
    /// # Errors
    /// Returns an error for an option that names no column or one that cannot be it, and for a
    /// column that cannot be read and is not left out.
    pub(crate) fn new(
        columns: &[Column],
        url: &SourceUrl,
        others: &[&str],
    ) -> Result<Roles, Failure> {
        let options = url.options.iter().filter(|(name, _)| !others.contains(&name.as_str()));
        let key = url.option("key").map(|column| position(columns, column, url)).transpose()?;
        let chosen = options.clone().any(|(name, _)| name != "key");
        let mut roles =
            if chosen { vec![Role::Unused; columns.len()] } else { by_default(columns, key) };
        for (ext, column) in options.filter(|(name, _)| name != "key" && name != "json") {
            check_ext(ext, url)?;
            roles[position(columns, column, url)?] = Role::Part(ext.clone());
        }
        if let Some(json) = url.option("json").filter(|_| chosen) {
            json_roles(json, columns, key, &mut roles, url)?;
        }
        for (column, role) in columns.iter().zip(&roles) {
            check(column, role, url)?;
        }
        if let Some(key) = key
            && let ColumnKind::Refused(_) | ColumnKind::Array(..) | ColumnKind::AnyArray =
                columns[key].kind
        {
            let text = format!("{}: its column can't be a key", shown(&columns[key].name, url));
            return Err(Failure::usage(text));
        }
        let notes = if chosen { Vec::new() } else { changed_names(columns, &roles) };
        let roles = Roles { key, roles, notes };
        roles.check_exts(columns, url)?;
        Ok(roles)
    }

    /// Adds a line about columns that the options of a source leave out to `notes`, once.
    pub(crate) fn note_left_out(&self, columns: &[Column], url: &SourceUrl, notes: &mut RowNotes) {
        let left = self
            .roles
            .iter()
            .enumerate()
            .filter(|(n, role)| **role == Role::Unused && self.key != Some(*n));
        let names: Vec<String> =
            left.map(|(n, _)| format!("'{}'", name::shown(columns[n].name.as_bytes()))).collect();
        if names.is_empty() {
            return;
        }
        let first = names[..NAMED.min(names.len())].join(", ");
        let more = if names.len() > NAMED { ", ..." } else { "" };
        let note = format!(
            "{}: not packed, because the options name others: {first}{more}; json=* adds those that JSON can hold",
            url.kind.word()
        );
        notes.push(note);
    }

    /// Refuses two columns that become one part.
    fn check_exts(&self, columns: &[Column], url: &SourceUrl) -> Result<(), Failure> {
        let fields = self.roles.contains(&Role::Field);
        let mut pairs = vec![("the fields of the JSON".to_string(), "json".to_string())];
        pairs.truncate(usize::from(fields));
        for (column, role) in columns.iter().zip(&self.roles) {
            let ext = match role {
                Role::Part(ext) | Role::Sniffed(_, ext) => ext.clone(),
                Role::Field | Role::Unused => continue,
            };
            pairs.push((format!("'{}'", name::shown(column.name.as_bytes())), ext));
        }
        let Some(Twins { first, second, ext }) = twins(&pairs) else { return Ok(()) };
        let word = url.kind.word();
        Err(Failure::usage(format!(
            "{word}: {first} and {second} become the part '{ext}'; name them: {word}:FILE?{ext}=COLUMN&other.{ext}=COLUMN"
        )))
    }

    /// Returns the descriptions of the columns for the manifest.
    pub(crate) fn described(&self, columns: &[Column]) -> Vec<Described> {
        let roles = columns.iter().zip(&self.roles);
        roles.filter_map(|(column, role)| description(column, role)).collect()
    }
}

/// Returns the description of a field, or of a part that is an array, for the manifest; `None` for all other columns.
fn description(column: &Column, role: &Role) -> Option<Described> {
    let (name, kind, shape) = match (role, &column.kind) {
        (Role::Field, kind) => (pointer(&column.name), field_kind(kind), None),
        (Role::Part(ext), ColumnKind::Array(kind, shape)) => {
            (ext.clone(), kind.clone(), Some(shape.clone()))
        }
        _ => return None,
    };
    Some(Described { name, kind, shape, nullable: false, items: None })
}

/// Returns the JSON pointer to a field.
pub(crate) fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn field_kind(kind: &ColumnKind) -> String {
    match kind {
        ColumnKind::Number(word) => (*word).into(),
        ColumnKind::Json => "object".into(),
        _ => "string".into(),
    }
}

/// Returns the roles of columns without options.
fn by_default(columns: &[Column], key: Option<usize>) -> Vec<Role> {
    let others = columns.iter().enumerate().filter(|(n, _)| Some(*n) != key).map(|(_, c)| c);
    let files = others.filter(|c| matches!(c.kind, ColumnKind::Bytes | ColumnKind::File(_)));
    let one = files.count() == 1;
    let roles = columns.iter().enumerate().map(|(n, column)| {
        let word = as_ext(&column.name);
        match &column.kind {
            _ if Some(n) == key => Role::Unused,
            ColumnKind::Bytes if one => Role::Sniffed(String::new(), format!("{word}.bin")),
            ColumnKind::Bytes => Role::Sniffed(format!("{word}."), format!("{word}.bin")),
            ColumnKind::File(ext) if one => Role::Part(ext.clone()),
            ColumnKind::File(ext) => Role::Part(format!("{word}.{ext}")),
            ColumnKind::Array(..) => Role::Part(array_ext(&column.name)),
            ColumnKind::AnyArray => Role::Part(format!("{word}.npy")),
            // A refused column is refused by `check`.
            ColumnKind::Refused(_) => Role::Field,
            ColumnKind::Text | ColumnKind::Json | ColumnKind::Number(_) => Role::Field,
        }
    });
    roles.collect()
}

fn json_roles(
    json: &str,
    columns: &[Column],
    key: Option<usize>,
    roles: &mut [Role],
    url: &SourceUrl,
) -> Result<(), Failure> {
    use ColumnKind as K;
    if json == "none" && columns.iter().all(|column| column.name != json) {
        return Ok(());
    }
    if json == "*" {
        for (n, column) in columns.iter().enumerate() {
            let is_field = matches!(column.kind, K::Text | K::Json | K::Number(_));
            if is_field && Some(n) != key && roles[n] == Role::Unused {
                roles[n] = Role::Field;
            }
        }
        return Ok(());
    }
    let names: Vec<&str> = json.split(',').collect();
    for column in &names {
        let n = position(columns, column, url)?;
        let whole = names.len() == 1 && matches!(columns[n].kind, K::Json | K::Bytes);
        roles[n] = if whole { Role::Part("json".into()) } else { Role::Field };
    }
    Ok(())
}

/// Returns the notes about columns whose names change as extensions.
fn changed_names(columns: &[Column], roles: &[Role]) -> Vec<Message> {
    columns.iter().zip(roles).filter_map(|(column, role)| changed_name(column, role)).collect()
}

fn changed_name(column: &Column, role: &Role) -> Option<Message> {
    let ext = match role {
        Role::Part(ext) => ext.clone(),
        Role::Sniffed(prefix, _) if !prefix.is_empty() => format!("{prefix}EXT"),
        Role::Sniffed(_, other) => format!("{other}, unless it is an image"),
        Role::Field | Role::Unused => return None,
    };
    let word = as_ext(&column.name);
    let is_named = ext.starts_with(&word);
    (is_named && word != column.name).then(|| renamed("column", &column.name, &ext))
}

/// Refuses a column that cannot have its role.
fn check(column: &Column, role: &Role, url: &SourceUrl) -> Result<(), Failure> {
    use ColumnKind as K;
    match (role, &column.kind) {
        (Role::Unused, _) => Ok(()),
        (_, K::Refused(why)) => refused(why, column, url),
        (Role::Field, K::Bytes | K::File(_)) => {
            refused("bytes can't be a field of JSON", column, url)
        }
        (Role::Field, K::Array(..) | K::AnyArray) => {
            refused("an array can't be a field of JSON", column, url)
        }
        _ => Ok(()),
    }
}

fn refused(why: &str, column: &Column, url: &SourceUrl) -> Result<(), Failure> {
    let word = url.kind.word();
    let shown = shown(&column.name, url);
    Err(Failure::usage(format!(
        "{shown}: {why}; name the columns to pack: {word}:FILE?jpg=COLUMN&json=COLUMN,COLUMN"
    )))
}

fn shown(column: &str, url: &SourceUrl) -> String {
    format!("{}: column '{}'", url.kind.word(), name::shown(column.as_bytes()))
}

fn position(columns: &[Column], name: &str, url: &SourceUrl) -> Result<usize, Failure> {
    columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        Failure::usage(format!(
            "{}: there is no column '{name}'; the columns are {}",
            url.kind.word(),
            name::shown(names.join(", ").as_bytes())
        ))
    })
}

pub(crate) fn check_ext(ext: &str, url: &SourceUrl) -> Result<(), Failure> {
    let is_allowed = ext.bytes().all(is_of_extension);
    if !ext.is_empty() && is_allowed && !ext.starts_with('.') && !ext.ends_with('.') {
        return Ok(());
    }
    let word = url.kind.word();
    Err(Failure::usage(format!(
        "{word}: '{ext}' is no extension; use lower-case letters, digits, '.', '_' and '-': \
         {word}:FILE?jpg=COLUMN"
    )))
}

/// Returns the extension of an array. An export names the column by its extension, `x.raw`.
fn array_ext(name: &str) -> String {
    format!("{}.raw", as_ext(name.strip_suffix(".raw").unwrap_or(name)))
}

/// Returns the columns with those that a note states to be arrays: bytes become arrays.
pub(crate) fn with_arrays(mut columns: Vec<Column>, note: &ArrayNote) -> Vec<Column> {
    for column in &mut columns {
        if let ColumnKind::Bytes | ColumnKind::Text = column.kind
            && let Some(Described { kind, shape: Some(shape), .. }) = note.array(&column.name)
        {
            column.kind = ColumnKind::Array(kind.clone(), shape.clone());
        }
    }
    columns
}

/// Returns a column's name as part of an extension.
pub(crate) fn as_ext(name: &str) -> String {
    fn kept(c: char) -> char {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '_' }
    }
    let text: String = name.to_ascii_lowercase().chars().map(kept).take(64).collect();
    if text.is_empty() { "column".into() } else { text }
}

impl Role {
    /// Returns the extension of a part with these first bytes; `None` if the role is no part.
    pub(crate) fn ext(&self, head: &[u8]) -> Option<String> {
        match self {
            Role::Unused | Role::Field => None,
            Role::Part(ext) => Some(ext.clone()),
            Role::Sniffed(prefix, other) => Some(match sniff::ext(head) {
                Some(ext) => format!("{prefix}{ext}"),
                None => other.clone(),
            }),
        }
    }
}

/// Returns a key from the value of a column: the name of an image loses its extension.
pub(crate) fn key_of(value: &str) -> &str {
    match value.rsplit_once('.') {
        Some((stem, ext)) if IMAGE_EXTS.contains(&ext.to_ascii_lowercase().as_str()) => stem,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn column(name: &str, kind: ColumnKind) -> Column {
        Column { name: name.into(), kind }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("image", ColumnKind::Bytes),
            column("label", ColumnKind::Number("int64")),
            column("name", ColumnKind::Text),
            column("x", ColumnKind::Array("float32".into(), vec![3])),
        ]
    }

    fn roles(columns: &[Column], options: &str) -> Result<Roles, Failure> {
        let url = SourceUrl::parse(Path::new(&format!("mds:/d{options}"))).unwrap().unwrap();
        Roles::new(columns, &url, &[])
    }

    #[test]
    fn without_options_each_column_is_packed() {
        let found = roles(&columns(), "").unwrap();
        let image = Role::Sniffed(String::new(), "image.bin".into());
        assert_eq!(
            found.roles,
            [image.clone(), Role::Field, Role::Field, Role::Part("x.raw".into())]
        );
        assert_eq!(image.ext(b"\xff\xd8\xff\xe0").as_deref(), Some("jpg"));
        assert_eq!(image.ext(b"....").as_deref(), Some("image.bin"));
        let described = found.described(&columns());
        assert_eq!((described[0].name.as_str(), described[0].kind.as_str()), ("/label", "int64"));
        assert_eq!(described[2].shape, Some(vec![3]));
    }

    #[test]
    fn a_name_that_changes_is_noted() {
        let raw = ColumnKind::Array("float32".into(), vec![3]);
        let all = [column("Img", ColumnKind::Bytes), column("é", raw.clone()), column("x", raw)];
        let notes = roles(&all, "").unwrap().notes;
        let notes: Vec<String> = notes.iter().map(Message::text).collect();
        assert_eq!(
            notes,
            [
                "column 'Img' is packed as img.bin, unless it is an image",
                "column 'é' is packed as _.raw"
            ]
        );
        assert_eq!(roles(&all, "?img=Img&e.raw=é").unwrap().notes, []);
    }

    #[test]
    fn options_name_parts_and_json_the_rest() {
        let found = roles(&columns(), "?key=name&jpg=image&json=*").unwrap();
        assert_eq!(found.key, Some(2));
        let jpg = Role::Part("jpg".into());
        assert_eq!(found.roles, [jpg, Role::Field, Role::Unused, Role::Unused]);
        let found = roles(&columns(), "?cls=label").unwrap();
        assert_eq!(found.roles[1], Role::Part("cls".into()));
        assert_eq!(found.roles[0], Role::Unused);
    }

    fn says(options: &str, text: &str) {
        let error = roles(&columns(), options).unwrap_err();
        assert!(error.text().contains(text), "{error}");
    }

    #[test]
    fn what_can_not_be_is_refused_by_name() {
        says("?jpg=none", "the columns are image, label, name, x");
        says("?json=image,label", "'image': bytes can't be a field");
        says("?JPG=image", "'JPG' is no extension");
        says("?json=image&txt=label&json.x=name&cls=x&key=x", "can't be a key");
        let mut two = columns();
        two.push(Column { name: "IMAGE".into(), kind: ColumnKind::Bytes });
        let error = roles(&two, "").unwrap_err().text();
        assert!(error.contains("'image' and 'IMAGE' become the part 'image.bin'"), "{error}");
        two[4].kind = ColumnKind::Refused("it is pickled".into());
        let error = roles(&two, "").unwrap_err().text();
        assert!(error.contains("column 'IMAGE': it is pickled; name the columns"), "{error}");
        assert!(roles(&two, "?jpg=image").is_ok());
    }

    #[test]
    fn the_name_of_an_image_is_a_key_without_its_extension() {
        assert_eq!(key_of("n01/a_7.JPEG"), "n01/a_7");
        assert_eq!(key_of("version.2"), "version.2");
    }
}
