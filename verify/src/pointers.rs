//! Tars that are not here, and what stands for them: pointers of Git LFS and files of DVC.
//!
//! A tar that was not pulled is not damaged. What its pointer states is compared with what is here; the bytes are not.

pub(crate) mod dvc;

use std::collections::BTreeMap;

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Message;

/// What fetches a tar that was not pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pointers {
    /// Git LFS.
    Lfs,
    /// DVC.
    Dvc,
}

/// Tars that were not pulled, by what fetches them.
#[derive(Debug, Default)]
pub(crate) struct NotPulled(BTreeMap<Pointers, u64>);

impl NotPulled {
    pub(crate) fn add(&mut self, pointers: Pointers) {
        *self.0.entry(pointers).or_default() += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns a sentence for each tool.
    pub(crate) fn sentences(&self) -> Vec<Message> {
        let each = self.0.iter().map(|(pointers, count)| {
            let tars = units::counted(*count, "tar was", "tars were");
            match pointers {
                Pointers::Lfs => message!("{tars} not pulled: Git LFS pointers are in their place. `git lfs pull` fetches them"),
                Pointers::Dvc => message!("{tars} not pulled: DVC tracks them. `dvc pull` fetches them"),
            }
        });
        each.collect()
    }
}
