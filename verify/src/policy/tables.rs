//! Reads the tables of bounds: `[parts]`, `[fields]`, `[classes]`, `[pictures]`, `[shards]`, `[total]`; and the options
//! in `[verify]`.

use tarflume_formats::json::Value;

use super::bounds::{
    Bounds, ClassBounds, FieldBounds, FieldType, PictureBounds, Range, ShardBounds, StatedOptions,
    TotalBounds,
};
use super::paths::Base;
use super::source::{Item, PolicyFault, Scalar, Stated, Table, choices};
use crate::class_field::ClassField;

/// The tables of bounds.
pub(super) const TABLES: [&str; 6] = ["parts", "fields", "classes", "pictures", "shards", "total"];

/// Reads the tables of bounds in a table.
///
/// # Errors
/// Returns the first fault.
pub(super) fn bounds(table: &Table<'_>) -> Result<Bounds, PolicyFault> {
    let mut bounds = Bounds::default();
    if let Some(item) = table.get("parts") {
        for part in item.table()?.items() {
            let ext = part.key.trim_start_matches('.').to_ascii_lowercase();
            let share = Stated { value: share(&part)?, line: part.line() };
            bounds.parts.insert(ext, share);
        }
    }
    if let Some(item) = table.get("fields") {
        for field in item.table()?.items() {
            let found = field_bounds(&field)?;
            bounds.fields.insert(found.field.to_string(), found);
        }
    }
    if let Some(item) = table.get("classes") {
        bounds.classes = classes(&item.table()?)?;
    }
    if let Some(item) = table.get("pictures") {
        bounds.pictures = pictures(&item.table()?)?;
    }
    if let Some(item) = table.get("shards") {
        bounds.shards = shards(&item.table()?)?;
    }
    if let Some(item) = table.get("total") {
        bounds.total = total(&item.table()?)?;
    }
    Ok(bounds)
}

/// Reads a share of the samples: a percentage of at most 100, or true for all.
fn share(item: &Item<'_>) -> Result<f64, PolicyFault> {
    if item.flag() == Ok(true) {
        return Ok(100.0);
    }
    let percent = item.percent()?;
    if percent > 100.0 {
        return Err(item.fault("a share has at most 100%"));
    }
    Ok(percent)
}

/// Parses `/label`, a field of the part `json`; `EXT:/FIELD`; or `EXT`, a part that is the value.
fn field(item: &Item<'_>, text: &str) -> Result<ClassField, PolicyFault> {
    let whole = if text.starts_with('/') { format!("json:{text}") } else { text.to_string() };
    ClassField::parse(&whole).map_err(|why| item.key_fault(why))
}

fn field_bounds(item: &Item<'_>) -> Result<FieldBounds, PolicyFault> {
    let table = item.table()?;
    table.only(&["type", "min", "max", "enum", "required"])?;
    let found = FieldBounds {
        field: field(item, item.key)?,
        name: item.name.clone(),
        of_type: table.stated("type", field_type)?,
        min: table.stated("min", number)?,
        max: table.stated("max", number)?,
        allowed: table.stated("enum", |item| {
            item.list().iter().map(|item| item.scalar().map(json)).collect()
        })?,
        required: table.stated("required", share)?,
    };
    if let (Some(min), Some(max)) = (&found.min, &found.max)
        && is_above(&min.value, &max.value)
    {
        return Err(table.fault(format!("[{}]: min is above max", found.name)));
    }
    Ok(found)
}

fn is_above(min: &Value, max: &Value) -> bool {
    let [min, max] = [min, max].map(Value::as_number);
    min.zip(max).and_then(|(min, max)| min.order(max)).is_some_and(|order| order.is_gt())
}

fn field_type(item: &Item<'_>) -> Result<FieldType, PolicyFault> {
    let text = item.text()?;
    let known = FieldType::ALL.iter().find(|(word, _)| *word == text);
    known.map(|(_, found)| *found).ok_or_else(|| {
        let words = FieldType::ALL.map(|(word, _)| word);
        item.fault(format!("'{text}' is no type{}", choices(text, &words)))
    })
}

fn number(item: &Item<'_>) -> Result<Value, PolicyFault> {
    item.number().map(|text| Value::Number(text.into()))
}

fn json(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Text(text) => Value::String(text),
        Scalar::Number(text) => Value::Number(text.into()),
        Scalar::Flag(flag) => Value::Bool(flag),
    }
}

fn classes(table: &Table<'_>) -> Result<ClassBounds, PolicyFault> {
    table.only(&["field", "min-share", "max-share", "min-count", "required"])?;
    Ok(ClassBounds {
        field: table.stated("field", |item| field(item, item.text()?))?,
        min_share: table.stated("min-share", share)?,
        max_share: table.stated("max-share", share)?,
        min_count: table.stated("min-count", Item::count)?,
        required: table.stated("required", Item::texts)?,
    })
}

/// Reads `min-NAME` and `max-NAME`.
fn range<'t>(
    table: &Table<'t>,
    name: &str,
    read: impl Fn(&Item<'t>) -> Result<u64, PolicyFault>,
) -> Result<Range, PolicyFault> {
    let min = table.stated(&format!("min-{name}"), &read)?;
    let max = table.stated(&format!("max-{name}"), &read)?;
    if let (Some(min), Some(max)) = (&min, &max)
        && min.value > max.value
    {
        return Err(table.fault(format!("min-{name} is above max-{name}")));
    }
    Ok(Range { min, max })
}

fn pictures(table: &Table<'_>) -> Result<PictureBounds, PolicyFault> {
    table.only(&[
        "parts",
        "min-width",
        "max-width",
        "min-height",
        "max-height",
        "min-pixels",
        "max-pixels",
        "min-bytes",
        "max-bytes",
    ])?;
    Ok(PictureBounds {
        parts: table.stated("parts", |item| {
            let exts = item.texts()?.into_iter();
            Ok(exts.map(|ext| ext.trim_start_matches('.').to_ascii_lowercase()).collect())
        })?,
        width: range(table, "width", Item::count)?,
        height: range(table, "height", Item::count)?,
        pixels: range(table, "pixels", Item::count)?,
        bytes: range(table, "bytes", Item::bytes)?,
    })
}

fn shards(table: &Table<'_>) -> Result<ShardBounds, PolicyFault> {
    table.only(&[
        "min-bytes",
        "max-bytes",
        "min-samples",
        "max-samples",
        "samples-deviation",
        "bytes-deviation",
    ])?;
    Ok(ShardBounds {
        bytes: range(table, "bytes", Item::bytes)?,
        samples: range(table, "samples", Item::count)?,
        samples_deviation: table.stated("samples-deviation", Item::percent)?,
        bytes_deviation: table.stated("bytes-deviation", Item::percent)?,
    })
}

fn total(table: &Table<'_>) -> Result<TotalBounds, PolicyFault> {
    table.only(&["samples", "shards", "bytes", "tolerance"])?;
    Ok(TotalBounds {
        samples: table.stated("samples", Item::count)?,
        shards: table.stated("shards", Item::count)?,
        bytes: table.stated("bytes", Item::bytes)?,
        tolerance: table.stated("tolerance", share)?,
    })
}

/// The keys of `[verify]`.
const OPTIONS: [&str; 9] = [
    "level",
    "require",
    "profile",
    "require-checksums",
    "objects",
    "json-rules",
    "schema",
    "baseline",
    "expect",
];

/// Reads `[verify]` and `checksums`.
///
/// # Errors
/// Returns the first fault.
pub(super) fn options(whole: &Table<'_>, folder: &Base) -> Result<StatedOptions, PolicyFault> {
    let mut stated =
        StatedOptions { require_checksums: checksums(whole)?, ..StatedOptions::default() };
    let Some(item) = whole.get("verify") else { return Ok(stated) };
    let table = item.table()?;
    table.only(&OPTIONS)?;
    stated.level = table.stated("level", owned)?;
    stated.json_rules = table.stated("json-rules", owned)?;
    stated.require = table.get("require").map(|item| item.texts()).transpose()?;
    stated.profiles = lines(&table, "profile")?;
    stated.schemas = lines(&table, "schema")?;
    stated.require_checksums |= is_on(&table, "require-checksums")?;
    stated.objects = is_on(&table, "objects")?;
    stated.baseline = table.stated("baseline", owned)?.map(|path| folder.joined(&path.value));
    stated.expect = table.stated("expect", owned)?.map(|path| folder.joined(&path.value));
    Ok(stated)
}

fn checksums(whole: &Table<'_>) -> Result<bool, PolicyFault> {
    let Some(item) = whole.get("checksums") else { return Ok(false) };
    match item.text()? {
        "required" => Ok(true),
        "optional" => Ok(false),
        other => {
            let choices = choices(other, &["required", "optional"]);
            Err(item.fault(format!("'{other}' is not known{choices}")))
        }
    }
}

fn owned(item: &Item<'_>) -> Result<String, PolicyFault> {
    item.text().map(String::from)
}

fn is_on(table: &Table<'_>, key: &str) -> Result<bool, PolicyFault> {
    table.get(key).map_or(Ok(false), |item| item.flag())
}

/// Reads the strings of a list, each with its line.
fn lines(table: &Table<'_>, key: &str) -> Result<Vec<Stated<String>>, PolicyFault> {
    let items = table.get(key).map(|item| item.list()).into_iter().flatten();
    items.map(|item| Ok(Stated { value: owned(&item)?, line: item.line() })).collect()
}
