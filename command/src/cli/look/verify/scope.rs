//! The options of `pack verify` that say what of the data is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_verify::cache::Cache;
use tarflume_verify::scope::{Budget, Change, Scope, Share};

/// The options.
#[derive(Debug, clap::Args)]
pub(super) struct ScopeArgs {
    /// Read this part of all bytes, such as 1%; the same one each time
    #[arg(long, value_name = "PERCENT", conflicts_with = "slice")]
    sample: Option<String>,
    /// Read the sample with this number: all numbers together have all bytes
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    seed: u64,
    /// Read the Nth of COUNT slices, such as 3/30. All slices together have every byte of every shard, each once
    #[arg(long, value_name = "N/COUNT", value_parser = Share::slice)]
    slice: Option<Share>,
    /// Begin no shard after this time, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = Budget::parse)]
    time_budget: Option<Duration>,
    /// Remember sound shards in DIR, and read a shard again only if it has changed
    /// [default DIR: ~/.cache/tarflume/verify]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    cache: Option<Option<PathBuf>>,
    /// Take the paths as changed files, as pre-commit names them: verify the data sets that have them, and read
    /// the shards among them. Tars that are not here, or are pointers of Git LFS or DVC, are no problems
    #[arg(long, conflicts_with_all = ["changed_since", "files_from"])]
    changed: bool,
    /// Read the shards that differ from this commit or branch of Git, or are new
    #[arg(long, value_name = "REF", conflicts_with = "files_from")]
    changed_since: Option<String>,
    /// Read the shards that FILE lists, a path on a line or ended by a zero byte; - is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Compare manifests with sidecars, and open no tar
    #[arg(long)]
    manifest_only: bool,
}

impl ScopeArgs {
    /// Returns what is read. The time begins here.
    ///
    /// # Errors
    /// Returns an error for a wrong percentage, a list of files that cannot be read, and a cache that cannot be opened.
    pub(super) fn read(&self) -> Result<Scope, Failure> {
        let sample = self.sample.as_deref().map(|text| Share::sample(text, self.seed)).transpose();
        let sample = sample.map_err(|why| Failure::usage(format!("--sample {why}")))?;
        Ok(Scope {
            share: sample.or_else(|| self.slice.clone()),
            budget: self.time_budget.map(Budget::of),
            change: self.change()?,
            manifest_only: self.manifest_only,
            cache: self.cache.as_ref().map(|folder| opened(folder.as_deref())).transpose()?,
        })
    }

    fn change(&self) -> Result<Option<Change>, Failure> {
        if self.changed {
            return Ok(Some(Change::Paths));
        }
        if let Some(reference) = &self.changed_since {
            return Ok(Some(Change::Since(reference.clone())));
        }
        let Some(path) = &self.files_from else { return Ok(None) };
        if path == Path::new("-") {
            return Change::read(std::io::stdin().lock(), path).map(Some);
        }
        if !files::exists(path)? {
            let text = message!("{files}: there is no such file"; files = Name::FilesFrom.is(path));
            return Err(Failure::usage(text).with_file(path));
        }
        let (file, _) = files::open(path)?;
        Change::read(files::Patient(&file), path).map(Some)
    }
}

/// Opens the cache in a folder; without one, that of the user.
fn opened(folder: Option<&Path>) -> Result<Arc<Cache>, Failure> {
    folder.map_or_else(Cache::of_user, Cache::open).map(Arc::new)
}
