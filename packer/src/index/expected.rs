//! Expects values of the typed columns that were asked for: without any, the field has another name.

use super::options::Options;
use super::shard::Indexed;
use crate::failure::Failure;

/// Expects that some sample of the tars has a value in each column that was asked for.
///
/// # Errors
/// Returns an error that names the column and its place in the samples.
pub(super) fn some_values(tars: &[Indexed], options: &Options) -> Result<(), Failure> {
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
