//! `Task`: what all steps of a build need.

use std::path::PathBuf;
use std::sync::Arc;

use tarflume_base::WorkFolder;

use super::counter::BuildCounter;
use super::output::Output;
use super::settings::RunSettings;
use crate::build::Request;

/// What all steps of a build need.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) request: Request,
    /// The folder or the URL of the data set, as it was given.
    pub(super) out: PathBuf,
    pub(super) output: Output,
    pub(super) settings: RunSettings,
    pub(super) counter: Arc<BuildCounter>,
    /// Holds the shards in work of a build in a store; removed when it is dropped.
    pub(super) work: Option<WorkFolder>,
}
