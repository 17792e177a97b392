//! Describes the samples of Parquet files for the manifest: columns, arrays and classes.

use std::path::Path;

use parquet::basic::Repetition;
use parquet::schema::types::{SchemaDescriptor, Type};
use tarflume_base::Failure;
use tarflume_base::array_note::{self, ArrayNote};
use tarflume_formats::{ClassTable, Column};
use tarflume_table::parquet::ParquetFile;

use super::choose::{Chosen, Table, leaves};
use super::partitions;
use super::walk::Element;
use crate::rows::Listing;
use crate::rows::columns::assign::pointer;
use crate::rows::columns::ext_rule::ExtRule;
use crate::rows::columns::numbers;
use crate::rows::formats::columnar::classes;

/// Describes the samples for the manifest.
pub(super) fn describe(
    tables: &[Table],
    shapes: &[Option<Vec<u64>>],
    listing: &mut Listing<'_, '_>,
) -> Result<(), Failure> {
    let Table { file, chosen, partition, .. } = &tables[0]; // a source names at least one file
    let mut columns = Vec::new();
    for (part, shape) in chosen.parts.iter().zip(shapes) {
        let Some(element) = part.element else { continue };
        let Some(shape) = shape else { continue };
        let ExtRule::Fixed(name) = &part.ext else { continue };
        let kind = element.name.into();
        let shape = Some(shape.clone());
        columns.push(Column { name: name.clone(), kind, shape, nullable: false, items: None });
    }
    let note = note_of(file, file.path())?;
    for part in &chosen.parts {
        // Bytes that an export of this program has noted as an array.
        if let (None, ExtRule::Fixed(name)) = (part.element, &part.ext)
            && let Some(array) = note.array(name)
        {
            columns.push(array.clone());
        }
    }
    columns.extend(chosen.columns(file.schema()));
    let all = tables.iter().map(|table| table.partition.as_slice());
    columns.extend(partitions::described(partition, all));
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let text = format!("two columns are named '{}'; leave one out with ?json=", pair[0]);
        return Err(Failure::usage(text));
    }
    for column in columns {
        listing.builder.describe(column)?;
    }
    let about = listing.builder.about();
    if about.classes.is_none() {
        about.classes = classes(file).filter(|found| {
            let field = found.pointer.trim_start_matches('/');
            chosen.json.iter().any(|name| name == field)
        });
    }
    Ok(())
}

/// Returns the note that an export has written into the footer.
pub(super) fn note_of(file: &ParquetFile, path: &Path) -> Result<ArrayNote, Failure> {
    let pairs = file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let note = pairs.into_iter().find(|pair| pair.key == array_note::KEY);
    match note.and_then(|pair| pair.value.as_deref()) {
        Some(text) => ArrayNote::parse(text.as_bytes(), path),
        None => Ok(ArrayNote::default()),
    }
}

/// Returns the classes that Hugging Face notes in a footer.
fn classes(file: &ParquetFile) -> Option<ClassTable> {
    let notes = file.metadata().file_metadata().key_value_metadata()?;
    let note = notes.iter().find(|note| note.key == "huggingface")?.value.as_ref()?;
    classes::of_note(note)
}

impl Chosen {
    /// Returns the JSON columns for the manifest.
    pub(super) fn columns(&self, schema: &SchemaDescriptor) -> Vec<Column> {
        let fields = schema.root_schema().get_fields().iter();
        let chosen = fields.filter(|field| self.json.iter().any(|name| name == field.name()));
        let columns = chosen.map(|field| Column {
            name: pointer(field.name()),
            kind: kind(schema, field).into(),
            shape: None,
            nullable: field.get_basic_info().repetition() != Repetition::REQUIRED,
            items: None,
        });
        columns.collect()
    }
}

/// Returns the JSON type of a top-level column.
fn kind(schema: &SchemaDescriptor, field: &Type) -> &'static str {
    if field.is_group() || field.get_basic_info().repetition() == Repetition::REPEATED {
        use parquet::basic::ConvertedType as C;
        return match field.get_basic_info().converted_type() {
            C::LIST => "list",
            C::NONE if !field.is_group() => "list",
            _ => "object",
        };
    }
    let found = leaves(schema, field.name()).first().and_then(|&n| Element::of(&schema.column(n)));
    match found {
        // It is written with the digits that it has as a float of 32 bits.
        Some(element) if element.name == "float16" => "float32",
        Some(element) => numbers::json_kind(element.name),
        None => "string", // decimals and times become text
    }
}
