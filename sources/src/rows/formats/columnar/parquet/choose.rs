//! `Chosen`: which columns of a Parquet file become parts, JSON and the key.
//!
//! Options name them; without options the columns decide: bytes become parts, equal lists of numbers
//! become arrays, all else JSON. Reads the schema and the footer's text alone.

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};
use tarflume_base::Failure;
use tarflume_formats::json::Value;
use tarflume_formats::message::Message;
use tarflume_table::parquet::ParquetFile;

use super::part_column::{PartColumn, PathColumn, changed_names};
use super::walk::{Element, is_bytes};
use crate::rows::columns::assign::as_ext;
use crate::rows::columns::ext_rule::ExtRule;
use crate::rows::columns::part_names::part_name;
use crate::rows::url::SourceUrl;

/// A file and its columns.
pub(super) struct Table {
    pub(super) file: ParquetFile,
    pub(super) chosen: Chosen,
    /// Values that the names of its folders state for all of its rows.
    pub(super) partition: Vec<(String, Value)>,
    pub(super) source: u32,
}

/// The columns that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) parts: Vec<PartColumn>,
    /// The columns with the paths of files.
    pub(super) files: Vec<PathColumn>,
    /// The leaf columns of the JSON and of the key.
    pub(super) leaves: Vec<usize>,
    /// The top-level columns that are in the JSON.
    pub(super) json: Vec<String>,
    /// The path of the key; `None` for row numbers.
    pub(super) key: Option<Vec<String>>,
    /// Whether the key is a file name, whose extension is dropped.
    pub(super) key_is_file: bool,
    /// Notes about columns that are packed under other names.
    pub(super) notes: Vec<Message>,
}

impl Chosen {
    /// Chooses by the options of a source.
    ///
    /// # Errors
    /// Returns an error for an option that names no column, or one of another type.
    pub(super) fn of(
        source: &SourceUrl,
        file: &ParquetFile,
        partitions: &[String],
    ) -> Result<Chosen, Failure> {
        let schema = file.schema();
        let mut chosen = Chosen::default();
        for (name, column) in &source.options {
            if matches!(name.as_str(), "key" | "json" | "drop") {
                continue;
            }
            if let Some(column) = column.strip_prefix('@') {
                let named = path_column(name, column, file)?;
                chosen.leaves.push(named.leaf);
                chosen.files.push(named);
                continue;
            }
            let part = chosen.named(name, column, file)?;
            chosen.parts.push(part);
        }
        let dropped = words(source.option("drop").unwrap_or_default());
        let unknown =
            dropped.iter().find(|name| leaves(schema, name).is_empty() && !has(partitions, name));
        if let Some(name) = unknown {
            return Err(missing(file, name));
        }
        let is_named = !chosen.parts.is_empty() || !chosen.files.is_empty();
        if !is_named {
            chosen.parts = usual(schema, &dropped);
        }
        let mut json = words(source.option("json").unwrap_or("*"));
        if let [one] = json[..]
            && let [leaf] = leaves(schema, one)[..]
            && is_bytes(&schema.column(leaf), false)
            && schema.column(leaf).max_rep_level() == 0
        {
            // A column of bytes has the JSON itself.
            let part = chosen.named("json", one, file)?;
            chosen.parts.retain(|part| part.leaf != leaf);
            chosen.parts.push(part);
            json.clear();
        }
        chosen.choose_json(&json, &dropped, file, partitions)?;
        if let Some(key) = source.option("key").filter(|key| *key != "#") {
            chosen.choose_key(key, file)?;
        }
        let chooses_all = is_named && !json.contains(&"*");
        if !chooses_all {
            chosen.check_bytes(&dropped, file)?;
        }
        chosen.find_paths(schema);
        chosen.leaves.sort_unstable();
        chosen.leaves.dedup();
        chosen.notes = changed_names(&chosen.parts, source, file);
        Ok(chosen)
    }

    /// Returns the part of an option `NAME=COLUMN`.
    fn named(&self, name: &str, column: &str, file: &ParquetFile) -> Result<PartColumn, Failure> {
        let schema = file.schema();
        // `jpg=images[]`: the elements of a list are `0.jpg`, `1.jpg`, ...
        let list = column.strip_suffix("[]").filter(|_| leaves(schema, column).is_empty());
        let column = list.unwrap_or(column);
        let leaf = match leaves(schema, column)[..] {
            [leaf] => leaf,
            [] => return Err(missing(file, column)),
            ref several => match image(schema, schema.get_column_root(several[0]), several) {
                Some((bytes, _)) => bytes, // also of a list
                None => {
                    return Err(refused(file, column, "has several values; name one of them"));
                }
            },
        };
        let descriptor = schema.column(leaf);
        let name = &part_name(name);
        if list.is_some() {
            if !is_list_of_bytes(schema, leaf) {
                return Err(refused(file, column, "is no list of bytes or of images"));
            }
            let ext = ExtRule::Counted((name != "image").then(|| name.clone()));
            return Ok(PartColumn { ext, leaf, element: None, maybe: false, beside: None });
        }
        if is_bytes(&descriptor, true) && descriptor.max_rep_level() == 0 {
            let ext = match name.as_str() {
                "image" => ExtRule::Content(String::new(), "bin".into()),
                name => ExtRule::Fixed(name.into()),
            };
            return Ok(PartColumn { ext, leaf, element: None, maybe: false, beside: None });
        }
        if is_list_of_bytes(schema, leaf) {
            let ext = ExtRule::Numbered(name.into());
            return Ok(PartColumn { ext, leaf, element: None, maybe: false, beside: None });
        }
        let Some(element) = Element::of(&descriptor).filter(|_| descriptor.max_rep_level() > 0)
        else {
            let text = "is no part: bytes, text and lists of numbers are parts; all else is JSON";
            return Err(refused(file, column, text));
        };
        let ext = if name.ends_with(".raw") { name.clone() } else { format!("{name}.raw") };
        let ext = ExtRule::Fixed(ext);
        Ok(PartColumn { ext, leaf, element: Some(element), maybe: false, beside: None })
    }

    /// Returns true if the files of a part are named in the top-level column `root`.
    fn names_files(&self, root: usize, schema: &SchemaDescriptor) -> bool {
        self.files.iter().any(|named| schema.get_column_root_idx(named.leaf) == root)
    }

    fn choose_json(
        &mut self,
        wanted: &[&str],
        dropped: &[&str],
        file: &ParquetFile,
        partitions: &[String],
    ) -> Result<(), Failure> {
        let schema = file.schema();
        let unknown = wanted.iter().find(|name| {
            **name != "*" && leaves(schema, name).is_empty() && !has(partitions, name)
        });
        if let Some(name) = unknown {
            return Err(missing(file, name));
        }
        for (root, field) in schema.root_schema().get_fields().iter().enumerate() {
            let of_root: Vec<usize> = (0..schema.num_columns())
                .filter(|&n| schema.get_column_root_idx(n) == root)
                .collect();
            let is_image = image(schema, field, &of_root).is_some();
            let names_alone = is_of_names(&of_root, schema);
            let mut any = false;
            for &leaf in &of_root {
                let path = schema.column(leaf).path().string();
                let named = wanted.iter().any(|w| *w == path || is_under(&path, w));
                let free = wanted.contains(&"*")
                    && !is_image
                    && !self.names_files(root, schema)
                    && !is_dropped(&path, dropped)
                    && !self.parts.iter().any(|part| part.leaf == leaf && !part.maybe);
                let has_json = !is_bytes(&schema.column(leaf), false);
                if free && !named && names_alone {
                    let root = field.name();
                    let text = format!(
                        "names files and has no bytes of them; pack the files beside the table with jpg=@{root}, pack the \
                         names as JSON with json=*,{root}, or leave the column out with drop={root}"
                    );
                    return Err(refused(file, root, &text));
                }
                if named && !has_json {
                    return Err(refused(file, &path, "has bytes, which have no JSON; name a part"));
                }
                if (named || free) && has_json {
                    self.leaves.push(leaf);
                    any = true;
                }
            }
            if any {
                self.json.push(field.name().into());
            }
        }
        Ok(())
    }

    /// Refuses columns of bytes that are neither packed nor left out by name.
    fn check_bytes(&self, dropped: &[&str], file: &ParquetFile) -> Result<(), Failure> {
        let schema = file.schema();
        for leaf in 0..schema.num_columns() {
            let column = schema.column(leaf);
            let path = column.path().string();
            let is_part = self.parts.iter().any(|part| part.leaf == leaf);
            let root = schema.get_column_root_idx(leaf);
            if is_part
                || self.names_files(root, schema)
                || !is_bytes(&column, false)
                || is_dropped(&path, dropped)
            {
                continue;
            }
            let root = schema.get_column_root(leaf).name();
            let (why, remedy) = match column.max_rep_level() {
                0 => ("bytes", format!("name the part: {}={path}", as_ext(root))),
                _ => ("bytes in a map or in lists of lists", "write them as one list".to_string()),
            };
            let text = format!(
                "has {why} that would not be packed; {remedy}, or leave the column out with drop={root}"
            );
            return Err(refused(file, &path, &text));
        }
        Ok(())
    }

    /// Finds the names of files beside the bytes of image columns; they are read to notice pictures that have no bytes.
    fn find_paths(&mut self, schema: &SchemaDescriptor) {
        for part in &mut self.parts {
            if part.ext.is_of_list() {
                continue;
            }
            let root = schema.get_column_root_idx(part.leaf);
            let of_root: Vec<usize> = (0..schema.num_columns())
                .filter(|&n| schema.get_column_root_idx(n) == root)
                .collect();
            let field = schema.get_column_root(part.leaf);
            let Some((bytes, path)) = image(schema, field, &of_root) else { continue };
            let is_packed = self.json.iter().any(|name| name == field.name());
            if bytes == part.leaf && !is_packed {
                self.leaves.push(path);
                part.beside = Some(schema.column(path).path().parts().to_vec());
            }
        }
    }

    fn choose_key(&mut self, key: &str, file: &ParquetFile) -> Result<(), Failure> {
        let schema = file.schema();
        let found = leaves(schema, key);
        let picture =
            found.first().and_then(|&first| image(schema, schema.get_column_root(first), &found));
        let leaf = match (&found[..], picture) {
            (_, Some((_, path))) => path,
            (&[leaf], None) => leaf,
            ([], _) => return Err(missing(file, key)),
            _ => return Err(refused(file, key, "has several values; name one of them")),
        };
        let column = schema.column(leaf);
        let text = is_bytes(&column, true) && !is_bytes(&column, false);
        let whole = matches!(column.physical_type(), Physical::INT32 | Physical::INT64);
        if column.max_rep_level() > 0 || !(text || whole && Element::of(&column).is_some()) {
            return Err(refused(file, key, "is no key: keys are text or whole numbers"));
        }
        self.leaves.push(leaf);
        self.key = Some(column.path().parts().to_vec());
        self.key_is_file = picture.is_some() || column.path().string().ends_with(".path");
        Ok(())
    }
}

/// Returns the column of an option `EXT=@COLUMN`: text, or the path of an image column.
fn path_column(name: &str, column: &str, file: &ParquetFile) -> Result<PathColumn, Failure> {
    let schema = file.schema();
    let optional = column.strip_suffix('?').filter(|_| leaves(schema, column).is_empty());
    let column = optional.unwrap_or(column);
    let found = leaves(schema, column);
    let leaf = match found[..] {
        [] => return Err(missing(file, column)),
        [leaf] => Some(leaf),
        _ => found.into_iter().find(|&leaf| leaf_name(leaf, schema).is_some_and(|n| n == "path")),
    };
    let is_text = leaf.filter(|&leaf| {
        let column = schema.column(leaf);
        is_bytes(&column, true) && !is_bytes(&column, false) && column.max_rep_level() == 0
    });
    let Some(leaf) = is_text else {
        return Err(refused(file, column, "has no paths: a path is text, or the path of an image"));
    };
    let path = schema.column(leaf).path().parts().to_vec();
    Ok(PathColumn { ext: part_name(name), leaf, path, is_optional: optional.is_some() })
}

/// Returns the names in an option.
fn words(option: &str) -> Vec<&str> {
    option.split(',').filter(|name| !matches!(*name, "" | "none")).collect()
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

fn is_dropped(path: &str, dropped: &[&str]) -> bool {
    dropped.iter().any(|name| path == *name || is_under(path, name))
}

/// Returns the parts if no option names one.
fn usual(schema: &SchemaDescriptor, dropped: &[&str]) -> Vec<PartColumn> {
    let mut parts = Vec::new();
    let mut names = Vec::new();
    for leaf in 0..schema.num_columns() {
        let column = schema.column(leaf);
        if is_dropped(&column.path().string(), dropped) {
            continue;
        }
        let root = schema.get_column_root(leaf);
        let name = part_name(root.name());
        if is_bytes(&column, false) && column.max_rep_level() == 0 {
            names.push((parts.len(), name));
            let ext = ExtRule::Fixed(String::new());
            parts.push(PartColumn { ext, leaf, element: None, maybe: false, beside: None });
        } else if is_list_of_bytes(schema, leaf) {
            let ext = ExtRule::Numbered(as_ext(&name));
            parts.push(PartColumn { ext, leaf, element: None, maybe: false, beside: None });
        } else if let Some(element) = Element::of(&column).filter(|_| column.max_rep_level() > 0)
            && column.path().parts().len() == 1 + 2 * column.max_rep_level() as usize
            && !has_map(root)
        {
            let ext = ExtRule::Fixed(format!("{name}.raw"));
            let element = Some(element);
            parts.push(PartColumn { ext, leaf, element, maybe: true, beside: None });
        }
    }
    let alone = names.len() == 1;
    for (part, name) in names {
        let prefix = if alone { String::new() } else { format!("{name}.") };
        parts[part].ext = ExtRule::Content(prefix, name);
    }
    parts
}

/// Returns true for a map, and for lists and groups of maps: their keys and values belong together, and are JSON.
fn has_map(field: &Type) -> bool {
    use parquet::basic::ConvertedType as C;
    if !field.is_group() {
        return false;
    }
    let info = field.get_basic_info();
    matches!(info.converted_type(), C::MAP | C::MAP_KEY_VALUE)
        || matches!(info.logical_type_ref(), Some(LogicalType::Map))
        || field.get_fields().iter().any(|field| has_map(field))
}

/// Returns the leaves with this path or under it.
pub(super) fn leaves(schema: &SchemaDescriptor, path: &str) -> Vec<usize> {
    let mut leaves = Vec::new();
    for leaf in 0..schema.num_columns() {
        let found = schema.column(leaf).path().string();
        if found == path || is_under(&found, path) {
            leaves.push(leaf);
        }
    }
    leaves
}

fn is_under(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns true for a list of bytes, or of structures with bytes.
fn is_list_of_bytes(schema: &SchemaDescriptor, leaf: usize) -> bool {
    let column = schema.column(leaf);
    let is_map = matches!(
        schema.get_column_root(leaf).get_basic_info().converted_type(),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
    );
    let levels = column.path().parts().len();
    is_bytes(&column, false) && column.max_rep_level() == 1 && !is_map && levels <= 4
}

/// Returns the leaves `bytes` and `path` of an image column as Hugging Face writes it, or of a list of images.
fn image(schema: &SchemaDescriptor, root: &Type, leaves: &[usize]) -> Option<(usize, usize)> {
    let &[a, b] = leaves else { return None };
    if !root.is_group() {
        return None;
    }
    let (bytes, path) = match (leaf_name(a, schema)?.as_str(), leaf_name(b, schema)?.as_str()) {
        ("bytes", "path") => (a, b),
        ("path", "bytes") => (b, a),
        _ => return None,
    };
    (is_bytes(&schema.column(bytes), false) && is_flat(a, schema) && is_flat(b, schema))
        .then_some((bytes, path))
}

/// Returns true for the leaves of an image column whose bytes are null in all rows, by their type.
fn is_of_names(leaves: &[usize], schema: &SchemaDescriptor) -> bool {
    let names: Vec<Option<String>> = leaves.iter().map(|&leaf| leaf_name(leaf, schema)).collect();
    let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let bytes = match names[..] {
        ["bytes", "path"] => leaves[0],
        ["path", "bytes"] => leaves[1],
        _ => return false,
    };
    matches!(schema.column(bytes).logical_type_ref(), Some(LogicalType::Unknown))
}

fn leaf_name(leaf: usize, schema: &SchemaDescriptor) -> Option<String> {
    schema.column(leaf).path().parts().last().cloned()
}

fn is_flat(leaf: usize, schema: &SchemaDescriptor) -> bool {
    let column = schema.column(leaf);
    matches!((column.path().parts().len(), column.max_rep_level()), (2, 0) | (4, 1))
}

fn missing(file: &ParquetFile, column: &str) -> Failure {
    let schema = file.schema();
    let mut names: Vec<&str> = schema.root_schema().get_fields().iter().map(|f| f.name()).collect();
    names.truncate(50);
    let names = names.join(", ");
    Failure::usage(format!("there is no column '{column}'; the columns are {names}"))
        .in_file(file.path())
}

fn refused(file: &ParquetFile, column: &str, why: &str) -> Failure {
    Failure::usage(format!("column '{column}' {why}")).in_file(file.path())
}
