//! `Scope`: what of the given data sets a verification reads.
//!
//! | module | task |
//! |---|---|
//! | `share` | `--sample` and `--slice`: a part of all bytes, by arithmetic |
//! | `runs` | the runs of samples of one shard that belong to a share |
//! | `budget` | `--time-budget`: begins nothing after a time |
//! | `touched` | which shards a change touches |
//! | `git` | the files that Git says have changed |
//! | `file_list` | `--files-from`: a list of files |
//! | `coverage` | how much was read, for the report |
//! | `totals` | the totals of each data set, for the report |
//!
//! Reads no tar. The verification of a shard asks here what to read of it.

pub(crate) mod budget;
pub(crate) mod coverage;
pub(crate) mod file_list;
mod git;
pub(crate) mod runs;
pub(crate) mod share;
pub(crate) mod totals;
pub(crate) mod touched;

use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

pub use budget::Budget;
pub use coverage::Coverage;
pub use share::Share;
pub use totals::SetTotals;
pub use touched::Change;

use self::runs::Want;
use crate::cache::Cache;

/// What of the given data sets is read. By default all of it.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// A part of all bytes; the rest is checked as the level quick does.
    pub share: Option<Share>,
    /// Begins no shard, and no run of samples, after this time.
    pub budget: Option<Budget>,
    /// Reads only the shards that a change touches; the rest is checked as the level quick does.
    pub change: Option<Change>,
    /// Compares manifests and sidecars, and opens no tar.
    pub manifest_only: bool,
    /// Remembers sound shards, and does not read those again that have not changed.
    pub cache: Option<Arc<Cache>>,
}

impl Scope {
    /// Returns true if tars that are not here are no problems: Git need not hold them.
    pub(crate) fn may_lack_tars(&self) -> bool {
        self.change.is_some() || self.manifest_only
    }

    /// Returns true if it is no problem that a tar is not here, of which this is wanted.
    pub(crate) fn may_lack(&self, want: Want) -> bool {
        let is_unchanged = want == Want::Quick;
        let change = self.change.as_ref();
        want == Want::Stated || change.is_some_and(|change| is_unchanged || !change.has_removed())
    }

    /// Returns true if a part of the data may be left unread.
    pub(crate) fn is_partial(&self) -> bool {
        self.share.is_some() || self.budget.is_some() || self.change.is_some() || self.manifest_only
    }

    /// Refuses options that contradict each other. `reads_data` is true for a level that reads data; `needs_all` names an
    /// option whose result is of all samples, and `in_share` one that cannot be limited to runs of samples.
    ///
    /// # Errors
    /// Returns an error that names the options.
    pub(crate) fn check(
        &self,
        reads_data: bool,
        needs_all: Option<Message>,
        in_share: Option<Message>,
    ) -> Result<(), Failure> {
        if let Some(name) = self.of_data().filter(|_| !reads_data) {
            let text = message!("{name} limits what is read, and {quick} reads no data; leave one of them out";
                name = name, quick = Name::Level.is("quick"));
            return Err(Failure::usage(text));
        }
        if let (true, Some(name)) = (self.manifest_only, self.of_data()) {
            let text = message!("{manifest} opens no tar, so {name} has nothing to limit; leave one of them out";
                manifest = Name::ManifestOnly.on(), name = name);
            return Err(Failure::usage(text));
        }
        let partial = self.partial_name();
        if let Some((partial, whole)) = partial.clone().zip(needs_all) {
            let text = message!("{whole} is that of all samples, and {partial} reads a part of them; leave one of them out";
                whole = whole, partial = partial);
            return Err(Failure::usage(text));
        }
        if let Some((share, whole)) = self.share.as_ref().map(Share::name).zip(in_share) {
            let text = message!("{whole} needs whole shards, and {share} reads parts of them; leave one of them out";
                whole = whole, share = Message::from(share));
            return Err(Failure::usage(text));
        }
        Ok(())
    }

    /// Returns an option that limits what is read of the data.
    fn of_data(&self) -> Option<Message> {
        let share = self.share.as_ref().map(|share| share.name().into());
        let budget = self.budget.as_ref().map(|_| Name::TimeBudget.into());
        share.or(budget).or_else(|| self.cache.as_ref().map(|_| Name::Cache.into()))
    }

    /// Returns an option that leaves a part of the data unread.
    fn partial_name(&self) -> Option<Message> {
        let share = self.share.as_ref().map(|share| share.name().into());
        let budget = self.budget.as_ref().map(|_| Name::TimeBudget.into());
        let change = self.change.as_ref().map(|change| change.name().into());
        let manifest = self.manifest_only.then(|| Name::ManifestOnly.into());
        share.or(budget).or(change).or(manifest)
    }
}
