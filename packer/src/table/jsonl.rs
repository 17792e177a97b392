//! `JsonLines`: a JSON object on each line.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::put_value;
use super::stream::{self, Budget, Origin, Text};
use super::{Cell, MAX_COLUMNS, MAX_ROW, Row, TableReader, bad_row};
use crate::failure::Failure;

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// A table of JSON objects.
pub(super) struct JsonLines {
    reader: BufReader<Text>,
    budget: Budget,
    origin: Origin,
    line: Vec<u8>,
    /// Bytes before the next line.
    at: u64,
    rows: u64,
    fields: Fields,
}

/// The names of fields, in the order in which they occur first.
#[derive(Debug, Default)]
struct Fields {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Fields {
    fn number(&mut self, name: &str) -> Result<usize, String> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() == MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} different fields"));
        }
        self.names.push(name.into());
        self.numbers.insert(name.into(), self.names.len() - 1);
        Ok(self.names.len() - 1)
    }
}

impl JsonLines {
    /// Opens a table.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn open(path: &Path) -> Result<JsonLines, Failure> {
        let (text, budget, origin) = stream::open(path)?;
        let reader = BufReader::with_capacity(BUFFER, text);
        let (line, fields) = (Vec::new(), Fields::default());
        Ok(JsonLines { reader, budget, origin, line, at: 0, rows: 0, fields })
    }

    /// Reads the next line that is not blank and returns its first byte; `None` at the end.
    fn line(&mut self) -> Result<Option<u64>, Failure> {
        loop {
            self.line.clear();
            self.budget.renew();
            let read = self.reader.read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| self.origin.refused(e, self.rows + 1))?;
            let start = self.at;
            self.at += read as u64;
            if read == 0 {
                return Ok(None);
            }
            if self.line.len() > MAX_ROW {
                let reason = format!("the line is longer than {} MiB", MAX_ROW >> 20);
                return Err(self.bad(start, &reason));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(start));
            }
        }
    }

    fn bad(&self, start: u64, reason: &str) -> Failure {
        bad_row(&self.origin.path, self.rows + 1, self.origin.byte(start), reason)
    }
}

impl TableReader for JsonLines {
    fn columns(&self) -> &[String] {
        &self.fields.names
    }

    fn next(&mut self, row: &mut Row) -> Result<bool, Failure> {
        let Some(start) = self.line()? else { return Ok(false) };
        row.begin(self.rows + 1, self.origin.byte(start), self.fields.names.len());
        let mut json = serde_json::Deserializer::from_slice(&self.line);
        let fields = &mut self.fields;
        let read = Line { row, fields }.deserialize(&mut json).and_then(|()| json.end());
        if let Err(error) = read {
            // serde appends the position within the line, whose first byte the message has.
            let text = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let text = text.strip_suffix(&place).unwrap_or(&text);
            let byte = start + error.column().saturating_sub(1) as u64;
            return Err(self.bad(byte, &format!("the line is no JSON object: {text}")));
        }
        self.rows += 1;
        Ok(true)
    }
}

/// Reads an object into a row.
struct Line<'a> {
    row: &'a mut Row,
    fields: &'a mut Fields,
}

impl<'de> DeserializeSeed<'de> for Line<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Line<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            let column = self.fields.number(&name).map_err(A::Error::custom)?;
            if self.row.cell(column) != Cell::Absent {
                return Err(A::Error::custom(format!("the field '{name}' occurs twice")));
            }
            let cell = map.next_value_seed(Field(self.row))?;
            self.row.set(column, cell);
        }
        Ok(())
    }
}

/// Reads the value of a field; texts go to the row.
pub(super) struct Field<'a>(pub(super) &'a mut Row);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Cell;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Cell, D::Error> {
        json.deserialize_any(self)
    }
}

impl Field<'_> {
    fn nested(self, value: &serde_json::Value) -> super::Span {
        let mut text = Vec::new();
        put_value(value, &mut text);
        self.0.add_text(&String::from_utf8_lossy(&text))
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
        Ok(i64::try_from(value).map_or(Cell::Large(value), Cell::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
        Ok(Cell::Text(self.0.add_text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Cell, A::Error> {
        let value = serde_json::Value::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Cell::List(self.nested(&value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Cell, A::Error> {
        let value = serde_json::Value::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Cell::Object(self.nested(&value)))
    }
}
