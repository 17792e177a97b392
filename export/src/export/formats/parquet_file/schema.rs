//! The columns of Parquet files: their types, how they are stored, and the features that Hugging
//! Face `datasets` reads from the key `huggingface`. Reads no tar.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde_json::{Map, Value, json};
use tarflume_base::{Failure, array_note};

use crate::export::columns::KEY;
use crate::export::fields::{FieldKind, Fields, Item};
use crate::export::formats::csv::{HEAD, size_column};
use crate::export::formats::folder::is_image;
use crate::export::job::Job;
use crate::export::options::Format;
use crate::export::values::encoding::Encoding;

/// The first image of a sample in the features of `datasets`.
const IMAGE: &str = "image";

/// What a leaf column stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafSource {
    /// The key.
    Key,
    /// The name of the shard.
    Shard,
    /// The row in the shard.
    Row,
    /// The width of the first image in pixels.
    Width,
    /// Its height.
    Height,
    /// The bytes of a part as a number.
    Size(usize),
    /// A part.
    Part(usize),
    /// The name of a part as a file.
    Path(usize),
    /// A field of the JSON.
    Field(usize, FieldKind),
}

/// A leaf column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// What it stores.
    pub(super) source: LeafSource,
    /// True if its part is stored as 64 bits.
    pub(super) is_integer: bool,
    /// The definition level of a value.
    pub(super) defined: i16,
}

/// Types and settings of the files.
pub(super) struct Made {
    pub(super) leaves: Vec<Leaf>,
    pub(super) schema: TypePtr,
    pub(super) properties: WriterPropertiesPtr,
}

/// Collects the columns.
struct Schema {
    leaves: Vec<Leaf>,
    types: Vec<TypePtr>,
    names: Vec<String>,
    features: Map<String, Value>,
    /// Columns of media: stored plain.
    plain: Vec<ColumnPath>,
}

/// Returns the columns for an export.
///
/// # Errors
/// Returns an error if a field has the name of another column.
pub(super) fn of(job: &Job<'_>, fields: &Fields) -> Result<Made, Failure> {
    let mut schema = Schema {
        leaves: Vec::new(),
        types: Vec::new(),
        names: Vec::new(),
        features: Map::new(),
        plain: Vec::new(),
    };
    let mut names = Vec::new();
    let built = match job.options.format {
        Format::Hf => schema.hugging_face(job),
        _ => schema.plain(job),
    };
    let built = built.and_then(|()| {
        names = schema.names.clone();
        for (n, field) in fields.list.iter().enumerate() {
            schema.field(n, &field.name, field.kind)?;
        }
        Type::group_type_builder("schema").with_fields(schema.types.clone()).build()
    });
    // Names are the only reason for which a schema is refused.
    let root = built.map_err(|e| Failure::bad_data(format!("these columns are no schema: {e}")))?;
    fields.must_differ_from(names.iter().map(String::as_str))?;
    let properties = schema.properties(job);
    Ok(Made { leaves: schema.leaves, schema: Arc::new(root), properties: Arc::new(properties) })
}

impl Schema {
    fn plain(&mut self, job: &Job<'_>) -> ParquetResult<()> {
        let sources = [
            LeafSource::Key,
            LeafSource::Shard,
            LeafSource::Row,
            LeafSource::Width,
            LeafSource::Height,
        ];
        for (name, source) in HEAD.into_iter().zip(sources) {
            match source {
                LeafSource::Key | LeafSource::Shard => self.text(name, source)?,
                _ => self.integer(name, source)?,
            }
        }
        for (n, column) in job.columns.list.iter().enumerate() {
            self.integer(&size_column(&column.ext), LeafSource::Size(n))?;
        }
        for (n, column) in job.columns.list.iter().enumerate() {
            if job.columns.json != Some(n) {
                self.part(n, &column.ext, column.encoding)?;
            }
        }
        Ok(())
    }

    fn hugging_face(&mut self, job: &Job<'_>) -> ParquetResult<()> {
        let images = || {
            let list = job.columns.list.iter().enumerate();
            list.filter(|(_, column)| is_image(column.ext.as_bytes())).map(|(n, _)| n)
        };
        let jpeg = images().find(|&n| job.columns.list[n].encoding == Encoding::Jpeg);
        let first = jpeg.or(images().next());
        if let Some(n) = first {
            let is_free = job.columns.list.iter().all(|column| column.ext != IMAGE);
            self.image(n, if is_free { IMAGE } else { &job.columns.list[n].ext })?;
        }
        self.text(KEY, LeafSource::Key)?;
        for (n, column) in job.columns.list.iter().enumerate() {
            if Some(n) == first || job.columns.json == Some(n) {
                continue;
            }
            if is_image(column.ext.as_bytes()) {
                self.image(n, &column.ext)?
            } else {
                self.part(n, &column.ext, column.encoding)?
            }
        }
        Ok(())
    }

    fn image(&mut self, n: usize, name: &str) -> ParquetResult<()> {
        let fields = vec![
            leaf("bytes", Physical::BYTE_ARRAY, None)?,
            leaf("path", Physical::BYTE_ARRAY, Some(LogicalType::String))?,
        ];
        let group = Type::group_type_builder(name).with_repetition(Repetition::OPTIONAL);
        self.types.push(Arc::new(group.with_fields(fields).build()?));
        self.leaves.push(Leaf { source: LeafSource::Part(n), is_integer: false, defined: 2 });
        self.leaves.push(Leaf { source: LeafSource::Path(n), is_integer: false, defined: 2 });
        self.plain.push(ColumnPath::new(vec![name.into(), "bytes".into()]));
        self.named(name, json!({"_type": "Image"}));
        Ok(())
    }

    fn part(&mut self, n: usize, name: &str, encoding: Encoding) -> ParquetResult<()> {
        match encoding {
            Encoding::Int => self.integer(name, LeafSource::Part(n)),
            Encoding::Text | Encoding::Json => self.text(name, LeafSource::Part(n)),
            Encoding::Bytes | Encoding::Jpeg | Encoding::Png => {
                self.plain.push(ColumnPath::new(vec![name.into()]));
                self.scalar(name, LeafSource::Part(n), Physical::BYTE_ARRAY, None, "binary")
            }
        }
    }

    fn text(&mut self, name: &str, source: LeafSource) -> ParquetResult<()> {
        let text = Some(LogicalType::String);
        self.scalar(name, source, Physical::BYTE_ARRAY, text, "string")
    }

    fn integer(&mut self, name: &str, source: LeafSource) -> ParquetResult<()> {
        self.scalar(name, source, Physical::INT64, None, "int64")
    }

    fn scalar(
        &mut self,
        name: &str,
        source: LeafSource,
        physical: Physical,
        logical: Option<LogicalType>,
        dtype: &str,
    ) -> ParquetResult<()> {
        let is_integer = physical == Physical::INT64;
        self.types.push(leaf(name, physical, logical)?);
        self.leaves.push(Leaf { source, is_integer, defined: 1 });
        self.named(name, json!({"dtype": dtype, "_type": "Value"}));
        Ok(())
    }

    fn field(&mut self, n: usize, name: &str, kind: FieldKind) -> ParquetResult<()> {
        let (physical, logical, dtype) = match kind {
            FieldKind::Bool | FieldKind::List(Item::Bool) => (Physical::BOOLEAN, None, "bool"),
            FieldKind::Int | FieldKind::List(Item::Int) => (Physical::INT64, None, "int64"),
            FieldKind::Float | FieldKind::List(Item::Float) => (Physical::DOUBLE, None, "float64"),
            FieldKind::Null
            | FieldKind::Text
            | FieldKind::Json
            | FieldKind::List(Item::Text | Item::None) => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String), "string")
            }
        };
        let source = LeafSource::Field(n, kind);
        if !matches!(kind, FieldKind::List(_)) {
            return self.scalar(name, source, physical, logical, dtype);
        }
        let element = leaf("element", physical, logical)?;
        let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let repeated = Arc::new(repeated.with_fields(vec![element]).build()?);
        let list = Type::group_type_builder(name).with_repetition(Repetition::OPTIONAL);
        let list = list.with_logical_type(Some(LogicalType::List));
        self.types.push(Arc::new(list.with_fields(vec![repeated]).build()?));
        self.leaves.push(Leaf { source, is_integer: false, defined: 3 });
        let item = json!({"dtype": dtype, "_type": "Value"});
        self.named(name, json!({"feature": item, "_type": "List"}));
        Ok(())
    }

    fn named(&mut self, name: &str, feature: Value) {
        self.names.push(name.into());
        self.features.insert(name.into(), feature);
    }

    fn properties(&self, job: &Job<'_>) -> WriterProperties {
        let mut builder = WriterProperties::builder()
            .set_created_by(concat!("tarflume version ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::SNAPPY);
        for path in &self.plain {
            builder = builder
                .set_column_compression(path.clone(), Compression::UNCOMPRESSED)
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        let mut pairs = Vec::new();
        if job.options.format == Format::Hf {
            let features = json!({"info": {"features": self.features}}).to_string();
            pairs.push(KeyValue::new("huggingface".to_string(), features));
        }
        if let Some(note) = job.columns.note() {
            pairs.push(KeyValue::new(array_note::KEY.to_string(), note.json().to_string()));
        }
        if !pairs.is_empty() {
            builder = builder.set_key_value_metadata(Some(pairs));
        }
        builder.build()
    }
}

/// Returns a column that may be null.
fn leaf(name: &str, physical: Physical, logical: Option<LogicalType>) -> ParquetResult<TypePtr> {
    let builder = Type::primitive_type_builder(name, physical);
    let builder = builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
    Ok(Arc::new(builder.build()?))
}
