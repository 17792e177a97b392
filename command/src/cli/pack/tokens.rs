//! `pack tokens`: text to shards of token blocks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tarflume_base::compress::Compress;
use tarflume_base::{Exit, Failure, Outcome, size, units};
use tarflume_formats::Durability;
use tarflume_formats::shown::{self, ShowPath};
use tarflume_packer::build::SHARD_SIZE;
use tarflume_tokens::build::{
    self, Built, Counter, Input, Lengths, Longer, Report, Request, Special, UNIT,
};
use tarflume_tokens::packing::{Packer, Packing};
use tarflume_tokens::sample::Width;
use tarflume_tokens::source::{Reading, list};
#[cfg(feature = "tokenizers")]
use tarflume_tokens::{ChatEncoder, Tokenizer, TokenizerOptions};
use tarflume_tokens::{Condition, Encode};

use crate::cli::arguments::args::Jobs;
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::arguments::zeros;
use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::output::{out, progress};
use crate::cli::pack::chats::ChatArgs;
use crate::signals;

const AFTER: &[HelpPart] = &[
    Always("Examples:"),
    With(Feature::Tokenizers, "
  pack tokens corpus/ -o tokens/ --tokenizer tokenizer.json --length 2048 --eos '<|endoftext|>'
  pack tokens corpus/ -o longer/ --tokenizer tokenizer.json --length 4096 --cache tokens/.tokens/cache
  pack tokens books/ -o books-tok/ --tokenizer tokenizer.json --length 2048 --pack concat --eos 2
  pack tokens shards/ -o tok/ --tokenizer t.json --length 512 --text-part json --text-field caption
  pack tokens chats.jsonl -o sft/ --tokenizer model/tokenizer.json --messages messages --mask-prompt"),
    Always("
  pack tokens megatron:data/corpus -o tok/ --length 2048

SRC is a file or a folder of .jsonl, .txt (both also .gz and .zst)"),
    With(Feature::Tables, ", .parquet, .arrow and .tar"),
    Without(Feature::Tables, " and .tar"),
    Always(", or
megatron:PREFIX for PREFIX.bin and PREFIX.idx, which need no tokenizer.

A sample has ids.npy (LENGTH ids, filled up with the padding id), cu_seqlens.npy (where documents
begin, and the number of ids without padding) and json (the names of documents). With --pack rows it
has the ids of one document and no cu_seqlens.npy; with --mask-prompt also loss.npy (where ids with
loss begin and end).

Text is tokenized in units of about --unit bytes. Their ids are cached by the content of text and
tokenizer. A rerun, another length, packing or --where tokenizes nothing again, a corpus that has
grown only what is new. A run that was killed is repeated with the same command.

Exit codes: 0 done   2 wrong usage   65 bad data   73 the system refuses   75 try again"),
];

const ABOUT: &[HelpPart] = &[
    With(Feature::Tokenizers, "Tokenize text and pack it into blocks"),
    Without(Feature::Tokenizers, "Pack the ids of Megatron files into blocks"),
    Always(" of one length"),
];

const SOURCES: &[HelpPart] =
    &[With(Feature::Tokenizers, "Files or folders of text, or "), Always("megatron:PREFIX")];

const TEXT_FIELD: &[HelpPart] = &[
    Always("Read the text from this field of JSON"),
    With(Feature::Tables, ", or this column of Parquet"),
];

/// The arguments of `pack tokens`.
#[derive(Debug, clap::Args)]
#[command(about = features::text(ABOUT), after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(SOURCES), required = true, value_name = "SRC")]
    sources: Vec<PathBuf>,
    /// Write the data set to this folder; created if missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Tokenize with this tokenizer.json of Hugging Face tokenizers
    #[arg(long, value_name = "FILE", hide = Feature::Tokenizers.is_missing())]
    tokenizer: Option<PathBuf>,
    /// Make samples of N ids
    #[arg(long, value_name = "N", value_parser = lengths())]
    length: Option<usize>,

    #[command(flatten)]
    chats: ChatArgs,

    /// Fill samples this way [default: bfd with --length, rows for conversations without]
    #[arg(long, value_enum, help_heading = "Packing")]
    pack: Option<Pack>,
    /// Pack over a window of N documents (bfd)
    #[arg(long, value_name = "N", default_value_t = Packer::WINDOW, help_heading = "Packing")]
    window: usize,
    /// Put this token behind each document: an id, or a token's text
    #[arg(long, value_name = "ID|TOKEN", help_heading = "Packing")]
    eos: Option<String>,
    /// Fill up samples with this token [default: that of --eos, or 0]
    #[arg(long, value_name = "ID|TOKEN", help_heading = "Packing")]
    pad: Option<String>,
    /// Pack only documents for which this holds, such as 'len(ids) >= 10'
    #[arg(long = "where", value_name = "CONDITION", help_heading = "Packing")]
    condition: Option<String>,
    /// Cut documents of more than N ids, as --truncate says
    #[arg(long, value_name = "N", value_parser = lengths(), help_heading = "Packing")]
    max_length: Option<usize>,
    /// Cut this end of longer documents, or stop at them
    #[arg(
        long,
        value_enum,
        value_name = "END",
        default_value = "right",
        requires = "max_length",
        help_heading = "Packing"
    )]
    truncate: Truncate,
    /// Leave out documents of more than --max-length ids
    #[arg(long, requires = "max_length", conflicts_with = "truncate", help_heading = "Packing")]
    drop_longer: bool,
    /// Leave out documents of fewer than N ids
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Packing")]
    min_length: usize,
    /// Refuse ids from N on; for a model that has more ids than its tokenizer [default: those of the tokenizer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32), help_heading = "Packing")]
    vocabulary: Option<u64>,
    /// Store ids as this type; auto is the narrowest for the vocabulary
    #[arg(long, value_enum, default_value = "auto", help_heading = "Packing")]
    dtype: Dtype,

    #[arg(help = features::text(TEXT_FIELD), long, value_name = "NAME", default_value = "text", help_heading = "Text")]
    text_field: String,
    /// Read the text from this part of the samples of a tar; JSON if it ends in json
    #[arg(long, value_name = "EXT", default_value = "txt", help_heading = "Text")]
    text_part: String,
    /// Make each line of a text file a document
    #[arg(long, help_heading = "Text")]
    per_line: bool,
    /// Add the tokens that the tokenizer's post processor adds to a text, such as [CLS]
    #[arg(long, help_heading = "Text", hide = Feature::Tokenizers.is_missing())]
    special_tokens: bool,
    /// Take special tokens in the text, such as '<|endoftext|>', as text
    #[arg(long, help_heading = "Text", hide = Feature::Tokenizers.is_missing())]
    split_special_tokens: bool,
    /// Leave out up to N documents that cannot be read, and list them
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Text")]
    bad_budget: u64,
    /// Keep ids in this folder; several data sets may share it [default: DIR/.tokens/cache]
    #[arg(long, value_name = "DIR", help_heading = "Text")]
    cache: Option<PathBuf>,
    /// Tokenize and cache units of this many bytes of text [default: 2MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Text")]
    unit: Option<u64>,

    /// Limit shards to this size [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Shards")]
    shard_size: Option<u64>,
    /// Limit shards to N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Shards")]
    shard_samples: Option<u64>,
    /// Name shards PREFIX-000000.tar
    #[arg(long, default_value = "shard", help_heading = "Shards")]
    prefix: String,
    /// Compress shards: zstd or zstd:LEVEL, 1 to 22 [default level: 3].
    ///
    /// Shards are PREFIX-000000.tar.zst. An id takes the bytes that its digits need, and headers next to none; a loader
    /// decompresses the frame of up to 1 MiB that holds a sample.
    #[arg(long, value_name = "zstd[:LEVEL]", value_parser = Compress::parse, help_heading = "Shards")]
    compress: Option<Compress>,

    #[command(flatten)]
    jobs: Jobs,
    /// Do not wait for the disk: faster, but a power cut may damage finished shards
    #[arg(long)]
    no_fsync: bool,
    /// Discard an unfinished data set of another command in DIR
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    show: ShowArgs,
}

/// How samples are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Pack {
    /// Best fit: splits only documents longer than a sample
    Bfd,
    /// One document after the other, cut at every sample
    Concat,
    /// One document in each sample, without padding
    Rows,
}

/// What is cut of a document that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Truncate {
    /// The end: the first ids stay
    Right,
    /// The beginning: the last ids stay
    Left,
    /// Nothing: a longer document ends the command
    Error,
}

/// Numbers of ids: at least one.
fn lengths() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}

/// The type of stored ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Dtype {
    Auto,
    Uint16,
    Uint32,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.request()?;
    let counter = Counter::default();
    let built = progress::during(
        args.show.mode(),
        |passed| now(&counter, passed),
        || build::build(&request, &counter),
    )?;
    print(args, &built);
    Ok(Exit::Done)
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        if !self.chats.rows()?.are_conversations() {
            self.chats.refuse()?;
        }
        let condition = self.condition.as_deref().map(Condition::parse).transpose();
        let condition = condition.map_err(|told| Failure::usage(format!("--where: {told}")))?;
        Ok(Request {
            packing: self.packing()?,
            lengths: self.lengths(),
            window: self.window,
            eos: special(self.eos.as_ref()),
            pad: special(self.pad.as_ref()),
            width: match self.dtype {
                Dtype::Auto => None,
                Dtype::Uint16 => Some(Width::U16),
                Dtype::Uint32 => Some(Width::U32),
            },
            vocabulary: self.vocabulary,
            bad_budget: self.bad_budget,
            condition,
            cache: self.cache.clone(),
            unit: self.unit.unwrap_or(UNIT),
            shard_size: self.shard_size.unwrap_or(SHARD_SIZE),
            shard_samples: self.shard_samples,
            prefix: self.prefix.clone(),
            compress: self.compress,
            durability: if self.no_fsync { Durability::Cached } else { Durability::Synced },
            fresh: self.fresh,
            jobs: self.jobs.count(),
            stop: signals::stop(),
            ..Request::new(self.input()?, self.out.clone(), self.length.unwrap_or(0))
        })
    }

    fn packing(&self) -> Result<Packing, Failure> {
        let given = self.pack.map(|pack| match pack {
            Pack::Bfd => Packing::BestFit,
            Pack::Concat => Packing::Concat,
            Pack::Rows => Packing::Rows,
        });
        Packing::asked(given, self.length, self.chats.rows()?.are_conversations())
    }

    fn lengths(&self) -> Lengths {
        let longer = match self.truncate {
            _ if self.drop_longer => Longer::Drop,
            Truncate::Right => Longer::KeepFirst,
            Truncate::Left => Longer::KeepLast,
            Truncate::Error => Longer::Refuse,
        };
        Lengths { most: self.max_length, longer, fewest: self.min_length }
    }

    /// Returns the text and its tokenizer, or the prefixes of Megatron files.
    fn input(&self) -> Result<Input, Failure> {
        match (Input::megatron(&self.sources), &self.tokenizer) {
            (Some(prefixes), None) => Ok(Input::Megatron(prefixes)),
            (Some(_), Some(_)) => {
                Err(Failure::usage("Megatron files have ids: leave out --tokenizer"))
            }
            (None, Some(tokenizer)) => {
                let reading = Reading {
                    rows: self.chats.rows()?,
                    field: self.text_field.clone(),
                    part: self.text_part.clone(),
                    per_line: self.per_line,
                    ignore_zeros: zeros::are_ignored(),
                };
                let sources = list(&self.sources, &reading)?;
                Ok(Input::Text(sources, self.opened(tokenizer)?))
            }
            (None, None) => Err(Failure::usage(
                "text needs a tokenizer: give --tokenizer tokenizer.json; only megatron:PREFIX has ids",
            )),
        }
    }

    #[cfg(feature = "tokenizers")]
    fn opened(&self, path: &Path) -> Result<Arc<dyn Encode>, Failure> {
        let options = TokenizerOptions {
            add_special_tokens: self.special_tokens,
            split_special_tokens: self.split_special_tokens,
        };
        if self.chats.rows()?.are_conversations() {
            return Ok(Arc::new(ChatEncoder::read(path, options, &self.chats.options())?));
        }
        Ok(Arc::new(Tokenizer::open(path, options)?))
    }

    #[cfg(not(feature = "tokenizers"))]
    fn opened(&self, _: &Path) -> Result<Arc<dyn Encode>, Failure> {
        Err(Failure::not_built("--tokenizer", "tokenizers"))
    }
}

fn special(text: Option<&String>) -> Option<Special> {
    text.map(|text| Special::parse(text))
}

/// Returns the progress as a line and as an event.
fn now(counter: &Counter, passed: Duration) -> (String, Value) {
    let [text, reused, tokens, samples] =
        [&counter.text, &counter.reused, &counter.tokens, &counter.samples]
            .map(|number| number.load(Ordering::Relaxed));
    let seconds = passed.as_secs_f64();
    let event = json!({"event": "progress", "phase": if samples == 0 { "tokenize" } else { "pack" },
        "text": text, "reused": reused, "tokens": tokens, "samples": samples, "seconds": seconds});
    let line = match samples {
        0 => {
            let rate = units::bytes(((text - reused.min(text)) as f64 / seconds.max(1e-3)) as u64);
            let text = units::bytes(text);
            let tokens = units::count(tokens);
            format!("tokenizing: {text} of text, {tokens} ids, {rate}/s")
        }
        _ => format!("packing: {} samples", units::count(samples)),
    };
    (line, event)
}

fn print(args: &Args, built: &Built) {
    let Built { manifest, report } = built;
    if args.show.is_json() {
        let mut event = serde_json::to_value(report).expect("texts and numbers serialize");
        event["event"] = json!(if report.published_before { "skipped" } else { "published" });
        event["fill"] = json!(report.fill());
        event["shards"] = json!(manifest.shards.len());
        event["bytes"] = json!(manifest.bytes);
        return print_result!("{}", shown::json(&event));
    }
    if args.show.quiet {
        return;
    }
    for notice in &report.notices {
        out::print_wrapped(format!("notice: {}", shown::text(&notice.text())));
    }
    let shards = units::counted(manifest.shards.len() as u64, "shard", "shards");
    let samples = units::counted(manifest.samples, "sample", "samples");
    let size = units::bytes(manifest.bytes);
    let out = args.out.shown();
    if report.published_before {
        return print_result!("{out}: published already: {samples}, {shards}, {size}");
    }
    print_result!("{}", read(report));
    let fill = report.fill() * 100.0;
    if report.packing == Packing::Rows {
        let longest = units::count(report.length);
        return print_result!(
            "{out}: published {samples}, {shards}, {size}; the longest has {longest} ids"
        );
    }
    print_result!(
        "{out}: published {samples} of {} ids, {shards}, {size}; fill {fill:.2} %",
        report.length
    );
}

/// Returns what was read, as a line.
fn read(report: &Report) -> String {
    let documents = units::counted(report.documents, "document", "documents");
    let mut line = format!("{documents}, {} ids ({})", units::count(report.tokens), report.dtype);
    if report.loss_tokens < report.tokens {
        let share = 100.0 * report.loss_tokens as f64 / report.tokens.max(1) as f64;
        line += &format!("; loss for {} ids ({share:.1} %)", units::count(report.loss_tokens));
    }
    if report.text_bytes > 0 {
        let share = 100.0 * report.tokenized_bytes as f64 / report.text_bytes as f64;
        let made = units::bytes(report.tokenized_bytes);
        let text = units::bytes(report.text_bytes);
        line += &format!("; tokenized {made} of {text} ({share:.1} %)");
        if let Some(path) = report.tokenizer.as_ref().filter(|_| report.tokenized_bytes > 0) {
            line += &format!(" by {}", shown::text(&path.text()));
        }
    }
    for (count, what) in [
        (report.bad, "cannot be read"),
        (report.empty, "without ids"),
        (report.filtered, "left out by --where"),
        (report.truncated, "cut to --max-length"),
        (report.longer, "left out by --drop-longer"),
        (report.shorter, "left out by --min-length"),
        (report.without_loss, "left out without an id that has loss"),
    ] {
        if count > 0 {
            line += &format!("; {} {what}", units::count(count));
        }
    }
    line
}
