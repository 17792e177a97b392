//! The fields that a join gives to samples: the columns of `dataset.json`, and the text of samples without row.

use serde_json::json;
use tarflume_base::Failure;
use tarflume_formats::Column;
use tarflume_sources::join::{JoinOptions, JoinSource, MissingRow, RowRules};
use tarflume_table::values::types::ValueKind;

/// Returns the columns of the fields that samples get, and completes the source: its key, and the text of samples
/// without row.
pub(super) fn described(
    options: &JoinOptions,
    is_table: bool,
    mut columns: Vec<Column>,
    source: &mut JoinSource,
) -> Result<Vec<Column>, Failure> {
    let RowRules { fields, collects, missing, .. } = &options.rules;
    if !fields.is_empty() {
        let lacking = fields.iter().find(|field| !has_field(&columns, field));
        if let Some(field) = lacking.filter(|_| is_table) {
            let text = format!("fields={}: there is no column '{field}'", fields.join("|"));
            return Err(Failure::usage(text).in_file(&options.file));
        }
        columns.retain(|column| fields.iter().any(|field| column.name == pointer(field)));
        source.key = source.key.take().filter(|key| fields.contains(key));
    }
    let key = source.key.as_deref().map(pointer);
    let others = columns.iter_mut().filter(|column| Some(&column.name) != key.as_ref());
    for column in others {
        if *collects {
            let items = std::mem::replace(&mut column.kind, ValueKind::List.word().into());
            column.items = Some(items);
        }
        column.nullable &= !collects;
        column.nullable |= !collects && *missing == MissingRow::Keep;
    }
    if *missing == MissingRow::Keep && source.without.is_none() {
        let lists = columns.iter().filter(|column| *collects && Some(&column.name) != key.as_ref());
        let lists = lists.map(|column| (field_of(&column.name), json!([])));
        let text = serde_json::Value::Object(lists.collect()).to_string();
        source.without = Some(text.into_bytes());
        for column in columns.iter_mut().filter(|column| Some(&column.name) == key.as_ref()) {
            column.nullable = true;
        }
    }
    Ok(columns)
}

/// Adds the columns that are not known yet. A later table may repeat fields, with the same values.
pub(super) fn add_new(columns: Vec<Column>, known: &mut Vec<Column>) {
    for column in columns {
        if known.iter().all(|known| known.name != column.name) {
            known.push(column);
        }
    }
}

/// Whether a column is this field.
fn has_field(columns: &[Column], field: &str) -> bool {
    columns.iter().any(|column| column.name == pointer(field))
}

/// The JSON pointer of a field.
fn pointer(field: &str) -> String {
    format!("/{}", field.replace('~', "~0").replace('/', "~1"))
}

/// The field of a JSON pointer to one.
fn field_of(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~")
}
