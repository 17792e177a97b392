//! The options of a run. What changes the bytes of a shard is from the plan.

use std::path::PathBuf;
use std::sync::Arc;

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Choice, Columns, Failure, Stop, json_rules};
use tarflume_formats::Durability;
use tarflume_formats::json::JsonRules;
use tarflume_formats::plan::PlanFoot;
use tarflume_scan::links::Links;
use tarflume_shards::workdir::quarantine::Policy;
use tarflume_sources::rows::{self, SourceUrl};

use crate::pictures::Preparation;
use crate::run::destination::Destination;
use crate::run::queue::Stealing;

/// The checks of files during packing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    /// The level of the content checks.
    pub level: CheckLevel,
    /// Whether modification times are compared; sizes always are.
    pub times: bool,
    /// Which texts are JSON.
    pub json: JsonRules,
    /// Whether boxes, classes, outlines, keypoints and masks of samples are checked.
    pub objects: bool,
    /// What happens at a symbolic link below a source folder.
    pub(crate) links: Links,
}

/// The options of a run.
#[derive(Debug)]
pub(crate) struct RunOptions {
    /// The checks of files.
    pub checks: Checks,
    /// How images are prepared, as the plan says.
    pub preparation: Option<Preparation>,
    /// How problems are handled.
    pub policy: Policy,
    /// The typed columns of sidecars, as the plan says.
    pub columns: Columns,
    /// Threads that pack.
    pub jobs: usize,
    /// How shards are compressed, as the plan says.
    pub compress: Option<Compress>,
    /// Whether shards survive a power failure.
    pub durability: Durability,
    /// The source folders, in the order of the plan.
    pub roots: Vec<PathBuf>,
    /// Where finished shards go; `None` leaves them in the working folder.
    pub destination: Option<Arc<dyn Destination>>,
    /// Whether and how shards of other machines are taken over; `None` packs the own share alone.
    pub stealing: Option<Stealing>,
    /// Ends the run early.
    pub stop: Stop,
}

impl RunOptions {
    /// Returns the roots that the sources given for a run name: folders, and the files of sources
    /// such as `tar:old/*.tar`, in order.
    ///
    /// # Errors
    /// Returns the errors of a build for the same sources.
    pub(crate) fn roots(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let mut roots = Vec::new();
        for source in given {
            match SourceUrl::parse(source)? {
                Some(url) => roots.extend(rows::roots(&[url])),
                None => roots.push(source.clone()),
            }
        }
        Ok(roots)
    }

    /// Returns the options of a run of this plan: compares and syncs everything; only its own
    /// [`Stop`] ends it.
    ///
    /// # Errors
    /// Returns an error for a check level that this version does not know, and for another number
    /// of source folders than the plan has.
    pub(crate) fn of_plan(
        foot: &PlanFoot,
        policy: Policy,
        jobs: usize,
        roots: Vec<PathBuf>,
    ) -> Result<RunOptions, Failure> {
        let level = foot.options.get("check").and_then(|word| word.as_str()).unwrap_or_default();
        let level = CheckLevel::from_word(level).ok_or_else(|| {
            Failure::bad_data(format!("the plan requires an unknown check '{level}'"))
        })?;
        let compress = foot.options.get("compress").and_then(|word| word.as_str());
        let compress = compress.map(Compress::parse).transpose();
        let compress =
            compress.map_err(|why| Failure::bad_data(format!("the plan requires: {why}")))?;
        let preparation = match foot.options.get("prepare") {
            None => None,
            Some(options) => Some(serde_json::from_value(options.clone()).map_err(|e| {
                Failure::bad_data(format!(
                    "the plan prepares images in a way that this version does not know: {e}"
                ))
            })?),
        };
        let columns = Columns::of_plan(foot)?;
        if roots.len() != foot.roots.len() {
            return Err(Failure::usage(format!(
                "the plan has {} source folders, {} were given",
                foot.roots.len(),
                roots.len()
            )));
        }
        let follows = foot.options.get("follow_links").and_then(serde_json::Value::as_bool);
        let links = Links::of(follows.unwrap_or(false));
        let json = json_rules::of_options(&foot.options);
        let objects = foot.options.get("objects").and_then(serde_json::Value::as_bool);
        let objects = objects.unwrap_or(false);
        let checks = Checks { level, times: true, json, objects, links };
        Ok(RunOptions {
            checks,
            preparation,
            columns,
            policy,
            jobs,
            compress,
            durability: Durability::Synced,
            roots,
            destination: None,
            stealing: None,
            stop: Stop::new(),
        })
    }
}
