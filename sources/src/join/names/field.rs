//! `ByField`: rows that name samples by a value of the samples' JSON, such as the id that an earlier table has given.

use std::collections::HashMap;
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_base::json_rules::sentence;
use tarflume_base::{Failure, Stop};
use tarflume_formats::json::{JsonRules, Number, Value, parse};
use tarflume_formats::message;
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::samples::list::FoundSample;

use crate::part_bytes::part_bytes;
use crate::rows::CellFault;

/// Samples whose JSON is read at a time.
const BATCH: usize = 512;

/// The JSON that has the field.
#[derive(Debug, Clone, Copy)]
pub(in crate::join) struct FieldOf<'a> {
    /// The pointer.
    pub(in crate::join) field: &'a str,
    /// The extension of the part.
    pub(in crate::join) ext: &'a str,
    pub(in crate::join) rules: JsonRules,
}

/// The keys of samples by the values of a field. Memory: the values and the keys.
#[derive(Debug)]
pub(in crate::join) struct ByField {
    field: String,
    keys: HashMap<Vec<u8>, Vec<Vec<u8>>>,
}

impl ByField {
    /// Reads the field of all samples. A sample without it has no rows.
    ///
    /// # Errors
    /// Returns an error for a JSON that cannot be read, and after a request to stop.
    pub(in crate::join) fn read(
        scan: &Scan,
        roots: &[PathBuf],
        of: FieldOf<'_>,
        stop: &Stop,
    ) -> Result<ByField, Failure> {
        let mut found = ByField { field: of.field.into(), keys: HashMap::new() };
        let mut batch: Vec<FoundSample> = Vec::with_capacity(BATCH);
        let mut result = Ok(());
        scan.samples.visit(|_, sample| {
            batch.push(sample.clone());
            if batch.len() == BATCH {
                result = found.take(scan, roots, of, &mut batch, stop);
            }
            result.is_ok()
        });
        result?;
        found.take(scan, roots, of, &mut batch, stop)?;
        Ok(found)
    }

    fn take(
        &mut self,
        scan: &Scan,
        roots: &[PathBuf],
        of: FieldOf<'_>,
        batch: &mut Vec<FoundSample>,
        stop: &Stop,
    ) -> Result<(), Failure> {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let values = batch.par_iter().map(|sample| value_of(scan, roots, of, sample));
        let values = values.collect::<Result<Vec<_>, Failure>>()?;
        for (sample, value) in batch.drain(..).zip(values) {
            if let Some(value) = value {
                self.keys.entry(value).or_default().push(sample.key);
            }
        }
        Ok(())
    }

    /// Returns the keys of the samples with this value. For none, returns a name that no sample has, for messages.
    pub(in crate::join) fn keys(&self, value: &[u8]) -> Vec<Vec<u8>> {
        match self.keys.get(value) {
            Some(keys) => keys.clone(),
            None if value.is_empty() => vec![Vec::new()],
            // A key begins with no slash.
            None => vec![[self.field.as_bytes(), b" = ", value].concat()],
        }
    }
}

/// Returns the value of the field as the name of a row: a text, or a number as the reader of tables writes it.
fn value_of(
    scan: &Scan,
    roots: &[PathBuf],
    of: FieldOf<'_>,
    sample: &FoundSample,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(part) = scan.part(sample, of.ext) else { return Ok(None) };
    let json = part_bytes(scan, roots, sample, &part).map_err(|fault| match fault {
        CellFault::Failure(failure) => failure,
        CellFault::Data(reason) | CellFault::Placed(reason) => Failure::bad_data(
            message!("'{}': its JSON: {reason}", name::shown(&sample.key); reason = reason),
        ),
    })?;
    let json = parse(&json, of.rules).map_err(|fault| {
        Failure::bad_data(
            message!("'{}': its JSON: {why}", name::shown(&sample.key); why = sentence(&fault)),
        )
    })?;
    Ok(match json.pointer(of.field) {
        Some(Value::String(text)) => Some(text.clone().into_bytes()),
        Some(Value::Number(text)) => {
            let whole = Number::parse(text).and_then(Number::whole);
            Some(whole.map_or_else(|| text.to_string(), |whole| whole.to_string()).into_bytes())
        }
        _ => None,
    })
}
