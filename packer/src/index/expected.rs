//! Expects values of the typed columns that were asked for: without any, the field has another name, or the type holds
//! no value of it.

use super::options::Options;
use super::shard::Indexed;
use crate::failure::Failure;
use crate::problem::ProblemKind;

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
            let what = format!(
                "--columns: no sample has a value of column '{}', which is {place}",
                spec.name
            );
            let refused = made.iter().flat_map(|made| &made.damaged.listed);
            let mut refused = refused.filter(|problem| problem.kind == ProblemKind::Schema);
            return Err(Failure::bad_data(match refused.next() {
                Some(first) => format!("{what}; the first value that it cannot hold: {first}"),
                None => format!("{what}; name the field as it is there: NAME=EXT:/FIELD:TYPE"),
            }));
        }
    }
    Ok(())
}
