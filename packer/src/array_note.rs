//! `ArrayNote`: the types and shapes of arrays among the parts of an export, so that a build of the same files has them
//! again. Other readers pass over it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tarflume_formats::Column;

/// The name of the note: among the fields of an index, and of a footer of Parquet.
pub(crate) const KEY: &str = "tarflume";
/// The file with the note, in a format that has no place for it.
pub(crate) const FILE: &str = "tarflume.json";
/// Dimensions of an array of NumPy, at most.
const DIMENSIONS: usize = 64;

/// The arrays of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArrayNote {
    columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Noted {
    #[serde(rename = "tarflume")]
    note: Option<ArrayNote>,
}

impl ArrayNote {
    /// Notes these arrays; `None` if there are none.
    pub(crate) fn new(arrays: impl IntoIterator<Item = Column>) -> Option<ArrayNote> {
        let columns: Vec<Column> = arrays.into_iter().collect();
        (!columns.is_empty()).then_some(ArrayNote { columns })
    }

    /// Returns the note of an index; an empty one if it has none, or one of another form.
    pub(crate) fn of_index(index: &[u8]) -> ArrayNote {
        let noted = serde_json::from_slice(index).ok().and_then(|noted: Noted| noted.note);
        noted.unwrap_or_default()
    }

    /// Returns the note in the footer of a Parquet file.
    pub(crate) fn of_footer(text: Option<&str>) -> ArrayNote {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Returns the note as JSON.
    pub(crate) fn json(&self) -> Value {
        json!(self)
    }

    /// Returns a column, if it is noted as an array that a row can have.
    pub(crate) fn array(&self, name: &str) -> Option<&Column> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        let shape = column.shape.as_deref().filter(|shape| shape.len() <= DIMENSIONS)?;
        array_bytes(&column.kind, shape)?;
        Some(column)
    }
}

/// Returns the bytes of an array of this type and shape; `None` for another type, and for more than 64 bits hold.
pub(crate) fn array_bytes(kind: &str, shape: &[u64]) -> Option<u64> {
    let size = match kind {
        "bool" | "int8" | "uint8" => 1,
        "int16" | "uint16" | "float16" | "bfloat16" => 2,
        "int32" | "uint32" | "float32" => 4,
        "int64" | "uint64" | "float64" => 8,
        _ => return None,
    };
    shape.iter().try_fold(size, |bytes: u64, &length| bytes.checked_mul(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str, shape: &[u64]) -> Column {
        Column { name: name.into(), kind: kind.into(), shape: Some(shape.into()), nullable: false }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = ArrayNote::new([column("x.raw", "float32", &[2, 3])]).unwrap();
        let index = json!({"chunks": [], KEY: note.json()}).to_string();
        assert_eq!(ArrayNote::of_index(index.as_bytes()), note);
        assert_eq!(ArrayNote::of_footer(Some(&note.json().to_string())), note);
        assert_eq!(note.array("x.raw"), Some(&column("x.raw", "float32", &[2, 3])));
        assert_eq!(note.array("y.raw"), None);
        assert_eq!(ArrayNote::new([]), None);
    }

    #[test]
    fn a_note_of_another_form_is_none() {
        for index in [&b"{}"[..], b"[", br#"{"tarflume": 3}"#, br#"{"tarflume": null}"#] {
            assert_eq!(ArrayNote::of_index(index), ArrayNote::default());
        }
        let odd = ArrayNote::new([
            column("a", "complex64", &[1]),
            column("b", "int64", &[1 << 32, 1 << 32]),
            column("c", "int8", &[1; 65]),
            Column { shape: None, ..column("d", "int8", &[]) },
        ]);
        let odd = odd.unwrap();
        assert!(["a", "b", "c", "d"].iter().all(|name| odd.array(name).is_none()));
    }
}
