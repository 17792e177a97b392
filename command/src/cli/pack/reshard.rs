//! `pack reshard`: packs the samples of existing shards into other shards.

use std::path::PathBuf;

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Failure, Outcome, size};
use tarflume_formats::json::JsonRules;
use tarflume_packer::build::{BuildOptions, KeyBy, Request, Selection, Tars};
use tarflume_shards::workdir::Policy;

use crate::cli::arguments::args::{self, Jobs, choice};
use crate::cli::arguments::image_args::ImageArgs;
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::arguments::{storage, zeros};
use crate::cli::features::{self, Feature, or_url};
use crate::cli::steps::packing::{self, RunArgs};
use crate::cli::steps::preparation;
use crate::signals;

const AFTER: &str = "\
Conditions of --where:
  json:/width >= 224        a field of the part json, by JSON pointer: == != < <= > >=
  json:/label in (cat, dog)  one of several values
  key ~ 'cat/*'             a pattern; also for fields
  size:jpg > 100000         the bytes of a part
  has mask.png              a part
  not, and, or, parentheses combine conditions. A comparison with a missing field does not hold.

Examples:
  pack reshard shards/ -o larger/ --shard-size 1GiB      change the size of shards
  pack reshard a/ b/ -o both/ --shuffle 7                merge two data sets, and mix them
  pack reshard a/ b/ -o both/ --key-prefix a/,b/         ... that have keys in common
  pack reshard shards/ -o large/ --where 'json:/width >= 224 and json:/height >= 224'
  pack reshard shards/ -o small/ --resize short:256      smaller images
  pack reshard shards/ -o clean/ --exclude @bad.jsonl    without the bad samples of a training run
  pack reshard shards/ -o subset/ --keys keys.txt        these samples only
  pack reshard shards/ -o small/ --drop mask.png --rename txt=caption.txt
  pack reshard 'laion/{00000..00099}.tar' -o shards/     tars of other programs, with or without index
  pack reshard old/*.tar.gz -o shards/                   compressed tars: gzip, bzip2, xz, zstd
  pack reshard --ignore-zeros joined.tar -o shards/      tars that were joined: cat a.tar b.tar
  pack reshard dated/ -o shards/ --key-by last-dot       names such as 22.05.jpg

Exit codes: 0 done   1 problems   2 wrong usage   65 bad data   73 the system refuses   75 try again";

/// Pack the samples of existing shards into other shards: split, merge, shuffle, filter
///
/// Bytes of parts pass unchanged. They are compared with the checksums of their sidecars, and entry points of JPEGs
/// are taken over from there. DIR holds no shard until the data set is complete. After an interruption, a kill
/// or a full disk, the same command continues after the last complete shard and writes the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Data sets, folders of tars, or tars: .tar, .tar.gz, .tar.bz2, .tar.xz, .tar.zst
    #[arg(required = true, value_name = "SRC")]
    pub(in crate::cli) sources: Vec<PathBuf>,
    #[arg(help = features::text(args::OUT), short, long, value_name = or_url("DIR|URL", "DIR"))]
    pub(in crate::cli) out: PathBuf,

    /// Limit shards to this size [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Shards")]
    shard_size: Option<u64>,
    /// Limit shards to N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Shards")]
    shard_samples: Option<u64>,
    /// Make exactly N shards of nearly equal size
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["shard_size", "shard_samples"], help_heading = "Shards")]
    shards: Option<u64>,
    /// Name shards PREFIX-000000.tar
    #[arg(long, default_value = "shard", help_heading = "Shards")]
    prefix: String,
    /// Distribute samples over shards at random; the same seed gives the same shards. Without it, samples keep
    /// their order
    #[arg(long, value_name = "SEED", help_heading = "Shards")]
    shuffle: Option<u64>,
    /// Compress shards: zstd or zstd:LEVEL, 1 to 22 [default level: 3]; see `pack build --help`
    #[arg(long, value_name = "zstd[:LEVEL]", value_parser = Compress::parse, help_heading = "Shards")]
    compress: Option<Compress>,
    /// Store typed values of samples in the sidecars, such as class:u32,split:str; see `pack build --help` [default:
    /// the columns of the sources; an empty text for none]
    #[arg(long, value_name = "COLUMNS", help_heading = "Shards")]
    columns: Option<String>,

    /// Pack only samples that meet this condition; repeatable, all must hold
    #[arg(long = "where", value_name = "CONDITION", help_heading = "Samples")]
    filters: Vec<String>,
    /// Pack only the samples whose keys FILE lists: one key per line, or JSON objects with a field `key`
    #[arg(long, value_name = "FILE", help_heading = "Samples")]
    keys: Option<PathBuf>,
    /// Leave out members that match GLOB, or the samples whose keys FILE lists; repeatable
    #[arg(long, value_name = "GLOB|@FILE", help_heading = "Samples")]
    exclude: Vec<String>,
    /// Pack the parts with these extensions only
    #[arg(long, value_name = "EXT,EXT..", value_delimiter = ',', help_heading = "Samples")]
    parts: Vec<String>,
    /// Leave out the parts with these extensions
    #[arg(long, value_name = "EXT,EXT..", value_delimiter = ',', help_heading = "Samples")]
    drop: Vec<String>,
    /// Rename extensions; --parts, --drop and --where have the names in the source
    #[arg(long, value_name = "FROM=TO,..", default_value = "", help_heading = "Samples")]
    rename: String,
    /// Put a text before the keys of each SRC, in their order: a/,b/
    #[arg(long, value_name = "TEXT,TEXT..", value_delimiter = ',', help_heading = "Samples")]
    key_prefix: Vec<String>,
    /// Handle names that some readers misread; see `pack build --help`
    #[arg(long, value_name = "RULES", default_value = "allow", help_heading = "Samples")]
    names: String,
    /// End the key of a name at its first dot, as readers of shards do, or at its last one: with `last-dot`,
    /// 22.05.jpg and 22.06.jpg are two samples, and dots in keys become `_`. Extensions with dots that --parts
    /// names stay whole
    #[arg(long, value_name = "DOT", default_value = "first-dot", value_parser = choice::<KeyBy>(),
          help_heading = "Samples")]
    key_by: KeyBy,
    /// Leave out samples whose image has the same bytes as an earlier image
    #[arg(long, help_heading = "Samples")]
    dedupe: bool,
    /// Pack the first N samples only (of the shuffled order, with --shuffle)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Samples")]
    limit: Option<u64>,
    /// Divide the samples into splits by the hash of their keys [default: the splits of the sources]
    #[arg(long, value_name = "NAME=SHARE,..", conflicts_with = "shards", help_heading = "Samples")]
    split: Option<String>,
    /// Take the shares of --split in each class; FIELD is in the sample's JSON
    #[arg(long, value_name = "FIELD", requires = "split", help_heading = "Samples")]
    stratify: Option<String>,
    /// Put samples with the same value of FIELD into one split of --split
    #[arg(
        long,
        value_name = "FIELD",
        requires = "split",
        conflicts_with = "stratify",
        help_heading = "Samples"
    )]
    split_group: Option<String>,
    /// Take the splits from lists of samples: train=train.txt,val=val.txt; NAME=* has what no list names
    #[arg(long, value_name = "NAME=FILE,..", conflicts_with_all = ["split", "split_by", "shards"],
          help_heading = "Samples")]
    split_list: Option<String>,
    /// Take the split from a field of the JSON or a folder, `source` from the shard that holds the
    /// sample, or by patterns of shards (file:test=eval-*,train=*); `none` makes no splits
    #[arg(
        long,
        value_name = "FIELD|folder[=N]|source|file:NAME=PATTERN,..|none",
        conflicts_with = "split",
        help_heading = "Samples"
    )]
    split_by: Option<String>,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names [default: as the sources were packed]
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>(), help_heading = "Samples")]
    json_rules: Option<JsonRules>,
    /// Check the content of parts at this level [default: structure]
    #[arg(long, value_parser = choice::<CheckLevel>(), help_heading = "Samples")]
    check: Option<CheckLevel>,
    /// Handle problems this way; `fail` publishes nothing
    #[arg(long, value_parser = choice::<Policy>(), default_value = "fail", help_heading = "Samples")]
    on_problem: Policy,
    /// Leave out the entry points of JPEGs
    #[arg(long, help_heading = "Samples")]
    no_entry_points: bool,

    /// State something about this build, which dataset.json keeps and `pack info` shows: by=jane@example.org;
    /// repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Samples")]
    provenance: Vec<String>,

    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    jobs: Jobs,
    /// Discard an unfinished build in DIR and start over
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Show the plan (shards, sizes, problems) and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write to a store that ignores conditional writes: no other command may write there
    #[arg(long, help_heading = "Stores", hide = Feature::Remote.is_missing())]
    single_writer: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.request()?;
    let bucket = storage::bucket(&args.out)?;
    let build = preparation::begin(bucket, request, args.single_writer, args.show)?;
    packing::build(build.with_settings(args.run.settings()), args.show)
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        let options = BuildOptions {
            shard_size: self.shard_size,
            shard_samples: self.shard_samples,
            shards: self.shards,
            prefix: self.prefix.clone(),
            shuffle: self.shuffle,
            split: self.split.clone(),
            stratify: self.stratify.clone(),
            split_by: self.split_by.clone(),
            split_list: self.split_list.clone(),
            split_group: self.split_group.clone(),
            ext_map: self.rename.clone(),
            names: self.names.clone(),
            key_by: self.key_by,
            ignore_zeros: zeros::are_ignored(),
            exclude: self.exclude.clone(),
            provenance: self.provenance.clone(),
            entry_points: !self.no_entry_points,
            dedupe: self.dedupe,
            limit: self.limit,
            prepare: self.images.preparation()?,
            check: self.check,
            on_problem: self.on_problem,
            jobs: self.jobs.given().map(|n| n as u64),
            fresh: self.fresh,
            dry_run: self.dry_run,
            compress: self.compress,
            columns: self.columns.clone(),
            json_rules: self.json_rules,
            tars: self.tars()?,
            selection: Selection {
                filters: self.filters.clone(),
                keys: self.keys.clone(),
                parts: self.parts.clone(),
                drop: self.drop.clone(),
            },
            ..BuildOptions::new(Vec::new(), self.out.clone())
        };
        let mut request = options.request()?;
        request.stop = signals::stop();
        Ok(request)
    }

    fn tars(&self) -> Result<Vec<Tars>, Failure> {
        let given = self.key_prefix.len();
        let sources = self.sources.len();
        if given > 0 && given != sources {
            return Err(Failure::usage(format!(
                "--key-prefix has {given} texts for {sources} sources; give one for each, an empty one to change \
                 nothing"
            )));
        }
        let tars = self.sources.iter().enumerate();
        Ok(tars
            .map(|(n, path)| Tars { path: path.clone(), prefix: given_prefix(&self.key_prefix, n) })
            .collect())
    }
}

fn given_prefix(prefixes: &[String], n: usize) -> Option<String> {
    prefixes.get(n).filter(|text| !text.is_empty()).cloned()
}
