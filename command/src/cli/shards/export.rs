//! `pack export`: writes a data set in the format of another loader.

use std::io::Write;
use std::path::PathBuf;

use tarflume_base::{Choice, Exit, Failure, Outcome, size, units};
use tarflume_export::{Encoding, ExportOptions, Format, JsonAs, Numbers};
use tarflume_formats::Durability;
use tarflume_formats::json::JsonRules;
use tarflume_shards::listing::Listing;
use tarflume_tokens::export::to_megatron;

use crate::cli::arguments::args::{Described, Jobs, choice};
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart, or_url};
use crate::cli::output::out::{self, Bar};
use crate::signals;

const AFTER: &[HelpPart] = &[
    Always("\
Examples:
  pack export shards/ --to mds -o mds/                    for MosaicML Streaming
  pack export shards/ --to litdata -o chunks/             for LitData
  pack export shards/ --to tfrecord -o records/           for TensorFlow"),
    With(Feature::Tables, "
  pack export shards/ --to hf -o repository/              Parquet for Hugging Face datasets"),
    Always("
  pack export shards/ --to folder -o photos/              files and metadata.jsonl
  pack export shards/ --to csv -o table.csv               keys, sizes and JSON fields, no images
  pack export shards/ --to mds -o mds/ --as jpg=bytes     readers get JPEGs as bytes, not decoded"),
    With(Feature::Tables, "
  pack export shards/ --to parquet -o table/ --parts json  keys, sizes and JSON fields in Parquet"),
    Always("
  pack export tokens/ --to megatron -o corpus             corpus.bin and corpus.idx, from `pack tokens`

Bytes of parts pass unchanged and are compared with their checksums. The types of JSON fields hold
over all samples; two samples that disagree end the export with both their keys.

-o must not exist. It appears once every file in it is complete, so a killed export leaves nothing
under this name, and the same command starts from the beginning.

Exit codes: 0 done   2 wrong usage, or -o exists   65 bad data   73 the system refuses   75 try again"),
];

const SHARD_SIZE: &[HelpPart] = &[
    Always("Begin a new file after SIZE [default: 64MiB mds, 64MB litdata, 128MiB tfrecord"),
    With(Feature::Tables, ", 500MB parquet and hf"),
    Always("]"),
];

/// Write a data set in the format of another loader
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    /// Folder of shards, or one tar
    #[arg(value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Write this format
    #[arg(long, value_name = "FORMAT", value_parser = choice::<Target>())]
    to: Target,
    /// Write to this new folder (csv: file; megatron: PATH.bin and PATH.idx)
    #[arg(short, long, value_name = "PATH")]
    out: PathBuf,
    /// Export the parts with these extensions only
    #[arg(long, value_name = "EXT,EXT..", value_delimiter = ',')]
    parts: Option<Vec<String>>,
    /// Export JSON this way [default: columns; text for mds and litdata]
    #[arg(long, value_name = "WAY", value_parser = choice::<JsonAs>())]
    json: Option<JsonAs>,
    /// Handle numbers of JSON that columns do not hold this way: exact, text or nearest
    #[arg(long, value_name = "WAY", value_parser = choice::<Numbers>(), default_value = "exact")]
    numbers: Numbers,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names [default: as the data set was packed]
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>())]
    json_rules: Option<JsonRules>,
    /// Declare the parts with this extension as bytes, jpeg, png, str, int or json
    #[arg(long = "as", value_name = "EXT=ENCODING", value_parser = encoding)]
    encodings: Vec<(String, Encoding)>,
    #[arg(help = features::text(SHARD_SIZE), long, value_name = "SIZE", value_parser = size::parse)]
    shard_size: Option<u64>,
    /// Clean names in a folder: `path=replace` makes a/b.jpg of /a/b.jpg and a//b.jpg [default: path=refuse]; a
    /// leading ./ is always left out
    #[arg(long, value_name = "RULE", value_parser = ["path=replace", "path=refuse"])]
    names: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// Do not wait for the disk: faster, but a power cut may damage the files
    #[arg(long)]
    no_fsync: bool,
    /// Print errors and warnings only
    #[arg(long, short)]
    quiet: bool,
}

/// Parses `EXT=ENCODING`.
fn encoding(text: &str) -> Result<(String, Encoding), String> {
    let (ext, word) = text.split_once('=').ok_or("give EXT=ENCODING, for example jpg=bytes")?;
    match Encoding::from_word(word) {
        Some(encoding) => Ok((ext.to_ascii_lowercase(), encoding)),
        None => {
            let words: Vec<_> = Encoding::ALL.iter().map(|encoding| encoding.word()).collect();
            Err(format!("no encoding '{word}'; there are: {}", words.join(", ")))
        }
    }
}

/// What to export to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A format of samples.
    Format(Format),
    /// The documents of token blocks for Megatron-LM.
    Megatron,
}

impl Choice for Target {
    const ALL: &'static [Target] = &[
        Target::Format(Format::Folder),
        Target::Format(Format::Csv),
        Target::Format(Format::Coco),
        Target::Format(Format::Mds),
        Target::Format(Format::LitData),
        Target::Format(Format::TfRecord),
        Target::Format(Format::Parquet),
        Target::Format(Format::Hf),
        Target::Megatron,
    ];

    fn word(self) -> &'static str {
        match self {
            Target::Format(format) => format.word(),
            Target::Megatron => "megatron",
        }
    }
}

impl Described for Target {
    fn help(self) -> &'static str {
        let Target::Format(format) = self else {
            return "PREFIX.bin and PREFIX.idx of Megatron-LM, from a data set of `pack tokens`";
        };
        match format {
            Format::Folder => "Files with metadata.jsonl: an image folder of Hugging Face",
            Format::Csv => "One table of keys, sizes and JSON fields, without the parts",
            Format::Coco => {
                "One COCO file of boxes, masks, keypoints and classes, without the parts"
            }
            Format::Mds => "MDS of MosaicML Streaming",
            Format::LitData => "Chunks of LitData",
            Format::TfRecord => "TFRecord files of tf.train.Example",
            Format::Parquet => "Parquet with parts as binary columns",
            Format::Hf => "Parquet with the features of Hugging Face datasets",
        }
    }

    fn is_built(self) -> bool {
        let needs_tables = matches!(self, Target::Format(Format::Parquet | Format::Hf));
        cfg!(feature = "tables") || !needs_tables
    }
}

impl Described for Numbers {
    fn help(self) -> &'static str {
        match self {
            Numbers::Exact => "End the export with the sample, the field and the number",
            Numbers::Text => "Write all numbers of such a field as text, with their digits",
            Numbers::Nearest => "Round to the nearest float",
        }
    }
}

impl Described for JsonAs {
    fn help(self) -> &'static str {
        match self {
            JsonAs::Columns => "Make each field a column with one type",
            JsonAs::Text => "Keep the JSON as one text, byte by byte",
        }
    }
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let listing = storage::listing(&args.path)?;
    match args.to {
        Target::Format(format) => samples(args, &listing, format),
        Target::Megatron => documents(args, &listing),
    }
}

fn samples(args: &Args, listing: &Listing, format: Format) -> Outcome {
    let options = ExportOptions {
        parts: args.parts.as_ref().map(|parts| lower(parts)),
        json: args.json,
        numbers: args.numbers,
        rules: args.json_rules,
        encodings: args.encodings.clone(),
        clean_names: args.names.as_deref() == Some("path=replace"),
        file_size: args.shard_size,
        jobs: args.jobs.count(),
        durability: if args.no_fsync { Durability::Cached } else { Durability::Synced },
        stop: signals::stop(),
        ..ExportOptions::new(format)
    };
    let bar = Bar::new(args.quiet);
    let done = tarflume_export::export(listing, &args.out, &options, &|bytes| bar.advance(bytes));
    bar.end();
    let done = done?;
    if done.unproved > 0 {
        let shards = units::counted(done.unproved, "shard has", "shards have");
        print_message!("warning: {shards} no checksums, so the parts were not verified");
    }
    let samples = units::counted(done.samples, "sample", "samples");
    let files = units::counted(done.files, "file", "files");
    print(args, &format!("{samples}, {files}, {}", units::bytes(done.bytes)))
}

fn lower(parts: &[String]) -> Vec<String> {
    parts.iter().map(|ext| ext.to_ascii_lowercase()).collect()
}

fn documents(args: &Args, listing: &Listing) -> Outcome {
    let is_of_samples = args.parts.is_some()
        || args.json.is_some()
        || args.json_rules.is_some()
        || args.numbers != Numbers::Exact
        || !args.encodings.is_empty()
        || args.shard_size.is_some()
        || args.names.is_some()
        || args.jobs.given().is_some()
        || args.no_fsync;
    if is_of_samples {
        let text = "--parts, --json, --json-rules, --numbers, --as, --shard-size, --names, --jobs and --no-fsync \
                    are not for --to megatron, which writes all documents into one pair of files with one thread \
                    and syncs them";
        return Err(Failure::usage(text));
    }
    let bar = Bar::new(args.quiet);
    let done = to_megatron(listing, &args.out, &signals::stop(), &|bytes| bar.advance(bytes));
    bar.end();
    let done = done?;
    let documents = units::counted(done.documents, "document", "documents");
    let tokens = units::counted(done.tokens, "id", "ids");
    print(args, &format!("{documents}, {tokens}, {}", units::bytes(done.bytes)))
}

/// Prints the result.
fn print(args: &Args, line: &str) -> Outcome {
    if !args.quiet {
        let mut to = out::stdout();
        out::printed(writeln!(to, "{line}").and_then(|()| to.flush()))?;
    }
    Ok(Exit::Done)
}
