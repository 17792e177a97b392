//! The arguments that `build` and `plan` share: what is packed, under which names, into how many
//! shards.

use std::path::PathBuf;

use tarflume_packer::CheckLevel;
use tarflume_packer::Failure;
use tarflume_packer::build::BuildOptions;
use tarflume_packer::build::Request;
use tarflume_packer::size;
use tarflume_packer::workdir::Policy;

use super::progress;
use super::words::choice;
use crate::signals;

/// Source, output, shape.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Folders whose files are packed; keys are paths relative to them
    #[arg(required = true, value_name = "SRC")]
    sources: Vec<PathBuf>,
    /// The folder of the data set; created if it is not there
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// A shard's largest size (default 256MiB)
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Shards")]
    shard_size: Option<u64>,
    /// A shard's largest number of samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Shards")]
    shard_samples: Option<u64>,
    /// Exactly N shards of nearly equal bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["shard_size", "shard_samples"], help_heading = "Shards")]
    shards: Option<u64>,
    /// What shards are called: PREFIX-000000.tar
    #[arg(long, default_value = "shard", help_heading = "Shards")]
    prefix: String,
    /// Deals samples over shards at random; the same seed gives the same shards
    #[arg(long, value_name = "SEED", help_heading = "Shards")]
    shuffle: Option<u64>,

    /// Parts that every sample must have; `image` is any image, '' asks for nothing
    #[arg(long, value_name = "EXTS", default_value = "image,json", help_heading = "Samples")]
    require: String,
    /// How extensions are renamed, after they were lower-cased
    #[arg(long, value_name = "FROM=TO,..", default_value = "jpeg=jpg", help_heading = "Samples")]
    ext_map: String,
    /// Names images by their content: a PNG that is called .jpg becomes a .png in the shard.
    ///
    /// The first bytes of every image are read for that while SRC is scanned.
    #[arg(long, help_heading = "Samples")]
    ext_by_content: bool,
    /// What is done about names that some reader misreads: RULE=ACTION,.. or one ACTION for all.
    ///
    /// Rules: dot (several dots), space, nonascii, hidden, dunder (begins with __), long (over 100
    /// bytes), case (differs only in case). Actions: refuse, replace, allow; and hidden=skip.
    /// By default all are refused, and hidden files skipped: every reader can read what comes out.
    #[arg(long, value_name = "RULES", default_value = "", help_heading = "Samples")]
    names: String,
    /// Leaves out paths (under SRC) that match, or the samples whose keys FILE lists; may be given
    /// again.
    ///
    /// FILE has one key a line, or objects of JSON with a field `key`: a training run's list of bad
    /// samples, problems.jsonl, the reasons in a quarantine. (A glob may begin with [@] for an @.)
    #[arg(long, value_name = "GLOB|@FILE", help_heading = "Samples")]
    exclude: Vec<String>,
    /// Packs what symbolic links point to
    #[arg(long, help_heading = "Samples")]
    follow_links: bool,
    /// Leaves out the entry points of JPEGs: packs several times faster, but training decodes slower.
    ///
    /// Entry points say where inside a JPEG decoding can start; they stand in the sidecar, and the
    /// tar is the same without them. To find them every Huffman code is read, which also proves the
    /// JPEG whole: without them, and without --check decode, damage inside its data is not noticed.
    /// --check none leaves them out, too. `pack index --entry-points` adds them later.
    #[arg(long, help_heading = "Samples")]
    no_entry_points: bool,
    /// Leaves out samples whose image has the same bytes as an earlier one's
    #[arg(long, help_heading = "Samples")]
    dedupe: bool,
    /// Packs the first N samples only (of the shuffled order, with --shuffle)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Samples")]
    limit: Option<u64>,
    /// How closely content is looked at while it is packed (default: structure).
    ///
    /// `decode` reads every Huffman code of sequential JPEGs (as entry points need it anyway) and
    /// decodes every other image to pixels. With --dry-run contents are looked at only where --check is
    /// given.
    #[arg(long, value_parser = choice::<CheckLevel>(), help_heading = "Samples")]
    check: Option<CheckLevel>,
    /// What is done about problems; `fail` publishes nothing
    #[arg(long, value_parser = choice::<Policy>(), default_value = "fail", help_heading = "Samples")]
    on_problem: Policy,

    /// Threads (default: the machine's cores)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// Forgets an unfinished pack in DIR and begins anew
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    pub(super) show: ShowArgs,
}

/// What is shown.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ShowArgs {
    /// How progress is shown, on stderr
    #[arg(long, value_enum, default_value = "auto")]
    progress: progress::Mode,
    /// Shows nothing but problems and errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl ShowArgs {
    pub(super) fn mode(&self) -> progress::Mode {
        self.progress.resolved(self.quiet)
    }

    /// True if results are to be printed as JSON, too.
    pub(super) fn is_json(&self) -> bool {
        self.progress == progress::Mode::Json
    }
}

impl SourceArgs {
    /// The request that the arguments mean.
    pub(super) fn request(&self, dry_run: bool) -> Result<Request, Failure> {
        let asked = BuildOptions {
            sources: self.sources.clone(),
            out: self.out.clone(),
            shard_size: self.shard_size,
            shard_samples: self.shard_samples,
            shards: self.shards,
            prefix: self.prefix.clone(),
            shuffle: self.shuffle,
            require: self.require.clone(),
            ext_map: self.ext_map.clone(),
            ext_by_content: self.ext_by_content,
            names: self.names.clone(),
            exclude: self.exclude.clone(),
            follow_links: self.follow_links,
            entry_points: !self.no_entry_points,
            dedupe: self.dedupe,
            limit: self.limit,
            check: self.check,
            on_problem: self.on_problem,
            jobs: self.jobs,
            fresh: self.fresh,
            dry_run,
        };
        let mut request = asked.request()?;
        request.stop = signals::stop();
        Ok(request)
    }
}
