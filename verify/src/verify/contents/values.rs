//! `StoredValues`: compares the typed columns of a sidecar with the parts that have the values. Reads no tar.

use std::path::Path;

use tarflume_base::Columns;
use tarflume_formats::index::Value;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{Index, Result};

/// The typed columns of a sidecar.
#[derive(Debug)]
pub(in crate::verify) struct StoredValues<'a> {
    tar: &'a Path,
    index: &'a Index,
    columns: Columns,
    text: Vec<u8>,
}

impl<'a> StoredValues<'a> {
    /// Returns the columns of the sidecar of a tar; `None` if it has none.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(in crate::verify) fn new(
        tar: &'a Path,
        index: &'a Index,
        rules: JsonRules,
    ) -> Result<Option<StoredValues<'a>>> {
        let columns = Columns::of(index)?.with_rules(rules);
        Ok((!columns.is_empty()).then(|| StoredValues { tar, index, columns, text: Vec::new() }))
    }

    /// Returns true if a column has its values in parts with this extension.
    pub(in crate::verify) fn are_in(&self, ext: &[u8]) -> bool {
        self.columns.is_in(ext)
    }

    /// Returns what differs between the sidecar and the part `ext` of the sample at `row`. A value that a column cannot
    /// hold is none in the sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(in crate::verify) fn faults(
        &mut self,
        row: u64,
        ext: &[u8],
        bytes: &[u8],
    ) -> Result<Vec<Message>> {
        let StoredValues { tar, index, columns, text } = self;
        let mut faults = Vec::new();
        let mut damaged = None;
        columns.each(ext, bytes, |column, found| {
            let found = found.unwrap_or_default();
            match index.value(column, row, text) {
                Ok(stored) if is_same(stored, found) => {}
                Ok(stored) => {
                    let differs = differs(&columns.specs()[column].name, stored, found);
                    let renewal = index.renewal(*tar);
                    faults.push(message!("{differs}; make a new sidecar with `{renewal}`"; renewal = renewal));
                }
                Err(error) => damaged = Some(error),
            }
        });
        damaged.map_or(Ok(faults), Err)
    }
}

fn differs(name: &str, stored: Option<Value<'_>>, found: Option<Value<'_>>) -> String {
    format!("column '{name}' of the sidecar has {}, the part has {}", shown(stored), shown(found))
}

fn shown(value: Option<Value<'_>>) -> String {
    value.map_or("no value".into(), |value| value.to_string())
}

fn is_same(stored: Option<Value<'_>>, found: Option<Value<'_>>) -> bool {
    match (stored, found) {
        (Some(Value::Float(a)), Some(Value::Float(b))) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
