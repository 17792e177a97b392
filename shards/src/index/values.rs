//! Typed columns in which no sample of a shard has a value.

use tarflume_formats::{Index, Result};

/// Returns the names of the typed columns in which no sample of a shard has a value.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub fn missing(index: &Index) -> Result<Vec<String>> {
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
