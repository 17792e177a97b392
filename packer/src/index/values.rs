//! Typed columns in which no sample has a value: the field has another name, or the part is another one.

use tarflume_formats::{Index, Result};

use super::options::Options;
use super::shard::Indexed;
use crate::failure::Failure;

/// Returns the names of the typed columns in which no sample of a shard has a value.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub(super) fn missing(index: &Index) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut text = Vec::new();
    for (number, column) in index.columns()?.iter().enumerate() {
        let mut has_value = false;
        for row in 0..index.samples() {
            has_value = index.value(number, row, &mut text)?.is_some();
            if has_value {
                break;
            }
        }
        if !has_value {
            names.push(column.spec().name.clone());
        }
    }
    Ok(names)
}

/// Expects that some sample of the tars has a value in each column that was asked for.
///
/// # Errors
/// Returns an error that names the column and its place in the samples.
pub(super) fn expect_some(tars: &[Indexed], options: &Options) -> std::result::Result<(), Failure> {
    let made: Vec<_> = tars.iter().filter_map(|tar| tar.result.as_ref().ok()).collect();
    if made.iter().all(|made| made.entry.samples == 0) {
        return Ok(());
    }
    for spec in options.columns.specs() {
        if made.iter().all(|made| made.without_values.contains(&spec.name)) {
            let place = match &spec.pointer {
                Some(pointer) => format!("the field {pointer} of a part '{}'", spec.ext),
                None => format!("a part '{}'", spec.ext),
            };
            return Err(Failure::bad_data(format!(
                "--columns: no sample has a value of column '{}', which is {place}; name the field as it is there: \
                 NAME=EXT:/FIELD:TYPE",
                spec.name
            )));
        }
    }
    Ok(())
}
