//! The beginning of a build in a store: what does not depend on the plan.

use tarflume_base::{Failure, WorkFolder};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_shards::workdir::Policy;

use super::data_set::Bucket;
use super::uploads::Leftovers;
use crate::build::Request;

/// A build that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    /// Holds the shards in work; removed when it is dropped.
    pub(crate) work: WorkFolder,
    /// Uploads of earlier attempts, if the request asked for a fresh start.
    pub(crate) leftovers: Leftovers,
}

impl Bucket {
    /// Directs a request to a temporary folder, checks that the store honors conditions unless
    /// `single_writer` says that no other build runs, and discards the earlier attempt if the request asks
    /// for a fresh start. A request that writes nothing asks nothing of the store.
    ///
    /// # Errors
    /// Returns an error if the request quarantines files, if the store ignores conditions, and the errors of
    /// the store.
    pub(crate) fn begin(
        &self,
        request: &mut Request,
        single_writer: bool,
    ) -> Result<Begun, Failure> {
        expect_no_quarantine(request.policy)?;
        let work = WorkFolder::new()?;
        request.out = work.path().to_path_buf();
        let mut leftovers = Leftovers::default();
        if !request.dry_run {
            if !single_writer {
                self.expect_conditions()?;
            }
            if request.is_fresh() {
                leftovers = self.discard()?;
            }
        }
        Ok(Begun { work, leftovers })
    }
}

/// Refuses a policy that needs a folder.
///
/// # Errors
/// Returns an error for [`Policy::Quarantine`].
pub(crate) fn expect_no_quarantine(policy: Policy) -> Result<(), Failure> {
    match policy {
        Policy::Quarantine => Err(Failure::usage(
            message!("{on_problem} copies files into a folder, and a store has none; give skip or fail"; on_problem = Name::OnProblem.is("quarantine")),
        )),
        _ => Ok(()),
    }
}
