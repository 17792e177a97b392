//! `SeenValues`: whether tars have values of the typed columns that were asked for. Without any, the field has another name,
//! or the type holds no value of it.

use tarflume_base::{Columns, Failure, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::options::Options;
use super::shard::{Indexed, SidecarInfo};

/// The columns without values of tars that are one data set.
#[derive(Debug, Default)]
pub struct SeenValues {
    /// The columns in which no tar so far has a value; `None` before the first tar.
    missing: Option<Vec<String>>,
    /// The first value that a column cannot hold.
    refused: Option<Problem>,
    /// True if a tar failed, which may have values.
    failed: bool,
}

impl SeenValues {
    /// Adds indexed tars.
    pub fn add(&mut self, tars: &[Indexed]) {
        for Indexed { result, .. } in tars {
            match result {
                Ok(made) if made.entry.samples > 0 => self.add_one(made),
                Ok(_) => {}
                Err(_) => self.failed = true,
            }
        }
    }

    fn add_one(&mut self, made: &SidecarInfo) {
        let missing = self.missing.get_or_insert_with(|| made.without_values.clone());
        missing.retain(|name| made.without_values.contains(name));
        if self.refused.is_none() {
            let mut refused = made.damaged.listed.iter();
            self.refused = refused.find(|problem| problem.kind == ProblemKind::Schema).cloned();
        }
    }

    /// Expects a value in each column that was asked for, if there are samples and no tar failed.
    ///
    /// # Errors
    /// Returns an error that names the column and its place in the samples.
    pub fn expect(&self, columns: &Columns) -> Result<(), Failure> {
        let Some(missing) = self.missing.as_ref().filter(|_| !self.failed) else { return Ok(()) };
        let Some(spec) = columns.specs().iter().find(|spec| missing.contains(&spec.name)) else {
            return Ok(());
        };
        let place = match &spec.pointer {
            Some(pointer) => format!("the field {pointer} of a part '{}'", spec.ext),
            None => format!("a part '{}'", spec.ext),
        };
        let what = message!("{columns}: no sample has a value of column '{}', which is {place}", spec.name; columns = Name::Columns);
        Err(Failure::bad_data(match &self.refused {
            Some(first) => {
                message!("{what}; the first value that it cannot hold: {first}"; what = what, first = first.message())
            }
            None => {
                message!("{what}; name the field as it is there: NAME=EXT:/FIELD:TYPE"; what = what)
            }
        }))
    }
}

/// Expects that some sample of a folder's tars has a value in each column that was asked for.
///
/// # Errors
/// Returns the errors of [`SeenValues::expect`].
pub(super) fn some_values(tars: &[Indexed], options: &Options) -> Result<(), Failure> {
    let mut seen = SeenValues::default();
    seen.add(tars);
    seen.expect(&options.columns)
}
