//! What a policy demands of the data sets of a verification: values and pictures in the pass, the rest of each set.
//!
//! `values` compares a value with its bounds; `measure` looks at the parts of a shard; `set` judges shards, classes and
//! totals of a data set; `stated` gives the options that a policy states; `sifted` is what the rules took out of a report, and `closing` its end.

mod closing;
mod measure;
mod set;
mod sifted;
mod stated;
mod values;

use std::path::Path;
use std::sync::Arc;

use tarflume_base::Problems;
use tarflume_formats::publish::folder_of;
use tarflume_shards::remote_folder::RemoteFolder;

use super::options::Options;
use super::sets::Set;
use crate::policy::sift::SetRules;

pub(crate) use self::measure::Measured;
pub(super) use self::measure::{Measure, Part};
pub(super) use self::set::{SetFacts, ShardSize, judge};
pub use self::sifted::Sifted;
pub(super) use self::sifted::notes;

impl Options {
    /// Returns an empty list of problems, which the rules of the data set sift.
    pub(super) fn problems(&self) -> Problems {
        match &self.rules.set {
            None => Problems::default(),
            Some(rules) => Problems::through(rules.clone()),
        }
    }

    /// Returns the same options for a shard that is verified on a copy.
    pub(super) fn of_copy(&self, remote: &Arc<RemoteFolder>) -> Options {
        let mut options = self.clone();
        options.rules.set = self.rules.set.as_ref().map(|rules| {
            Arc::new(SetRules { remote: Some(Arc::clone(remote)), ..SetRules::clone(rules) })
        });
        options
    }
}

/// Returns the folder or the URL of a data set; `None` if it has no shard.
pub(super) fn place_of(set: &Set) -> Option<String> {
    let target = set.targets.first()?;
    Some(match &target.remote {
        Some(remote) => remote.url().to_string(),
        None => shown(folder_of(&target.tar)),
    })
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".into() } else { folder.display().to_string() }
}
