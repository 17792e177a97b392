//! `ArrayNote`: the types and shapes of arrays among the parts of an export, so that a build of the same files has them
//! again. Other readers pass over it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tarflume_formats::Column;

use crate::failure::Failure;

/// The name of the note: among the fields of an index, and of a footer of Parquet.
pub const KEY: &str = "tarflume";
/// The file with the note, in a format that has no place for it.
pub const FILE: &str = "tarflume.json";
/// Dimensions of an array of NumPy, at most.
const DIMENSIONS: usize = 64;

/// The arrays of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayNote {
    columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Noted {
    #[serde(rename = "tarflume")]
    note: Option<ArrayNote>,
}

impl ArrayNote {
    /// Notes these arrays; `None` if there are none.
    pub fn new(arrays: impl IntoIterator<Item = Column>) -> Option<ArrayNote> {
        let columns: Vec<Column> = arrays.into_iter().collect();
        (!columns.is_empty()).then_some(ArrayNote { columns })
    }

    /// Returns the note of an index at `path`; an empty one if it has none.
    ///
    /// # Errors
    /// Returns an error for a note of another form: its arrays would become bytes without type and shape.
    pub fn of_index(index: &[u8], path: &Path) -> Result<ArrayNote, Failure> {
        let noted: Noted = serde_json::from_slice(index).map_err(|why| refused(path, &why))?;
        Ok(noted.note.unwrap_or_default())
    }

    /// Returns the note in the footer of a Parquet file, or in a file beside others.
    ///
    /// # Errors
    /// As [`ArrayNote::of_index`].
    pub fn parse(text: &[u8], path: &Path) -> Result<ArrayNote, Failure> {
        serde_json::from_slice(text).map_err(|why| refused(path, &why))
    }

    /// Returns the note as JSON.
    pub fn json(&self) -> Value {
        json!(self)
    }

    /// Returns a column, if it is noted as an array that a row can have.
    pub fn array(&self, name: &str) -> Option<&Column> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        let shape = column.shape.as_deref().filter(|shape| shape.len() <= DIMENSIONS)?;
        array_bytes(&column.kind, shape)?;
        Some(column)
    }
}

fn refused(path: &Path, why: &serde_json::Error) -> Failure {
    Failure::bad_data(format!("the note '{KEY}' about its arrays is not one that this version reads ({why}); without it they would be \
         bytes without type and shape: pack with the version that exported them, or remove the note")).in_file(path)
}

/// Returns the bytes of an array of this type and shape; `None` for another type, and for more than 64 bits hold.
pub fn array_bytes(kind: &str, shape: &[u64]) -> Option<u64> {
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
        Column {
            name: name.into(),
            kind: kind.into(),
            shape: Some(shape.into()),
            nullable: false,
            items: None,
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = ArrayNote::new([column("x.raw", "float32", &[2, 3])]).unwrap();
        let index = json!({"chunks": [], KEY: note.json()}).to_string();
        let path = Path::new("index.json");
        assert_eq!(ArrayNote::of_index(index.as_bytes(), path).unwrap(), note);
        assert_eq!(ArrayNote::parse(note.json().to_string().as_bytes(), path).unwrap(), note);
        assert_eq!(note.array("x.raw"), Some(&column("x.raw", "float32", &[2, 3])));
        assert_eq!(note.array("y.raw"), None);
        assert_eq!(ArrayNote::new([]), None);
    }

    #[test]
    fn a_note_of_another_form_is_an_error_and_odd_arrays_are_none() {
        let path = Path::new("a/index.json");
        for index in [&b"{}"[..], br#"{"tarflume": null}"#] {
            assert_eq!(ArrayNote::of_index(index, path).unwrap(), ArrayNote::default());
        }
        for index in [&br#"{"tarflume": 3}"#[..], br#"{"tarflume": {"columns": 3}}"#] {
            let failure = ArrayNote::of_index(index, path).unwrap_err();
            assert!(
                failure.text().starts_with("a/index.json: the note 'tarflume'"),
                "{}",
                failure.text()
            );
        }
        assert!(ArrayNote::parse(b"[", Path::new("tarflume.json")).is_err());
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
