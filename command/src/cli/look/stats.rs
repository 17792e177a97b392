//! `pack stats`: sizes, dimensions, classes and problems of a data set.

use std::io::{self, Write};
use std::path::PathBuf;

use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::shown;
use tarflume_inspect::stats::{ClassSource, Distribution, Measured, Options, Stats, measure};

use crate::cli::arguments::args::{self, Format, Jobs};
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart, or_url};
use crate::cli::output::out;
use crate::signals;

const AFTER: &[HelpPart] = &[
    Always(
        "\
Sidecars give sizes and dimensions of all samples. The JSON and the first bytes of the picture are
read of --examine samples, spread evenly.

Examples:
  pack stats shards/                             tables for people
  pack stats --class json:/label shards/         classes at a pointer of the JSON",
    ),
    With(
        Feature::Remote,
        "
  pack stats --examine all s3://bucket/photos    exact classes of all samples",
    ),
    Always(
        "
  pack stats --format json shards/ | jq .findings

Exit codes: 0 done   2 no data set   65 bad data   73 the system refuses   75 try again",
    ),
];

/// Show sizes, dimensions, classes and problems of a data set
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::DATA_SET), value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) measuring: Measuring,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What is read; shared with `pack view`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Measuring {
    /// Where classes are: an extension (cls) or EXT:POINTER (json:/label) [default: the class
    /// table of the data set, or a usual place]
    #[arg(long, value_name = "PLACE", value_parser = ClassSource::parse)]
    class: Option<ClassSource>,
    /// Samples whose JSON and picture header are read, spread evenly: a number, or `all` [default:
    /// 100000; all for the server of `pack view`]
    #[arg(long, value_name = "N", value_parser = examined)]
    examine: Option<u64>,
    /// Measure one split alone
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Measuring {
    /// Opens the data set and measures it. `all` is the number of samples that are read by default.
    pub(in crate::cli) fn run(
        &self,
        path: &std::path::Path,
        default: u64,
        postings: bool,
    ) -> Result<(tarflume_shards::listing::Listing, Measured), tarflume_base::Failure> {
        signals::listen().map_err(|e| tarflume_base::Failure::try_again(e.to_string()))?;
        let options = Options {
            class: self.class.clone(),
            examine: self.examine.unwrap_or(default),
            jobs: self.jobs.count(),
            stop: signals::stop(),
            postings,
        };
        let path = path.to_path_buf();
        let split = self.split.clone();
        signals::unless_stopped(move || {
            let mut listing = storage::listing(&path)?;
            if let Some(split) = &split {
                listing = listing.split(split)?;
            }
            let measured = measure(&listing, &options)?;
            Ok((listing, measured))
        })
    }
}

fn examined(text: &str) -> Result<u64, String> {
    match text {
        "all" => Ok(u64::MAX),
        text => text.parse().map_err(|_| "expected a number of samples, or 'all'".into()),
    }
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let (_, measured) = args.measuring.run(&args.path, Options::default().examine, false)?;
    let stats = &measured.stats;
    let mut to = out::screen();
    let written = match args.format {
        Format::Text => text(&mut to, stats, args.measuring.class.as_ref()),
        Format::Json => writeln!(to, "{}", shown::json_lines(stats)),
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(Exit::Done)
}

fn text(to: &mut impl Write, stats: &Stats, class: Option<&ClassSource>) -> io::Result<()> {
    let shards = units::counted(stats.shards, "shard", "shards");
    writeln!(
        to,
        "samples  {} in {shards}, {}",
        units::count(stats.samples),
        units::bytes(stats.bytes)
    )?;
    if stats.examined < stats.samples {
        writeln!(to, "read     {} of them, for classes and formats", units::count(stats.examined))?;
    }
    writeln!(to)?;
    parts(to, stats)?;
    pictures(to, stats)?;
    classes(to, stats, class)?;
    objects(to, stats)?;
    problems(to, stats)
}

fn parts(to: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let names = ["part", "samples", "min", "median", "p90", "max", "all"].map(String::from);
    writeln!(to, "{}", row(&names))?;
    for of in &stats.extensions {
        let Distribution { min, median, p90, max, count, .. } = of.sizes;
        let sizes = [min, median, p90, max, of.bytes].map(units::bytes);
        let [min, median, p90, max, all] = sizes;
        let ext = shown::text(&of.ext).into_owned();
        writeln!(to, "{}", row(&[ext, units::count(count), min, median, p90, max, all]))?;
    }
    Ok(())
}

fn row([ext, samples, rest @ ..]: &[String; 7]) -> String {
    let rest: String = rest.iter().map(|cell| format!(" {cell:>10}")).collect();
    format!("{ext:<12} {samples:>11}{rest}")
}

fn pictures(to: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let Some(width) = &stats.width else { return Ok(()) };
    let Some(height) = &stats.height else { return Ok(()) };
    writeln!(to, "\n{} with known dimensions", units::counted(width.count, "picture", "pictures"))?;
    for (name, of) in [("width", width), ("height", height)] {
        let all = [of.min, of.median, of.p90, of.max].map(units::count);
        let [min, median, p90, max] = all;
        writeln!(to, "  {name:<8} {min} to {max}, median {median}, p90 {p90}")?;
    }
    let wide = share(stats, |ratio| ratio > 1.06);
    let tall = share(stats, |ratio| ratio < 0.94);
    let square = width.count - wide - tall;
    let [wide, square, tall] = [wide, square, tall].map(units::count);
    writeln!(to, "  aspect   {wide} wide, {square} square, {tall} tall")?;
    for (n, of) in stats.dimensions.iter().take(5).enumerate() {
        let name = if n == 0 { "most" } else { "" };
        writeln!(to, "  {name:<8} {}x{}: {}", of.width, of.height, units::count(of.count))?;
    }
    for (n, kind) in stats.kinds.iter().enumerate() {
        let name = if n == 0 { "formats" } else { "" };
        let words: Vec<&str> =
            [Some(kind.format), kind.coding, kind.colors].into_iter().flatten().collect();
        writeln!(to, "  {name:<8} {}: {}", words.join(" "), units::count(kind.count))?;
    }
    Ok(())
}

fn share(stats: &Stats, of: fn(f64) -> bool) -> u64 {
    stats.aspects.iter().filter(|bar| of(bar.ratio)).map(|bar| bar.count).sum()
}

/// Classes of the text form; the JSON has all.
const CLASSES: usize = 20;

fn classes(to: &mut impl Write, stats: &Stats, class: Option<&ClassSource>) -> io::Result<()> {
    let Some(source) = stats.class_source.as_ref().filter(|_| !stats.classes.is_empty()) else {
        return match class {
            Some(class) => writeln!(
                to,
                "\nno classes were found: no sample that was read has a value at --class {class}; `pack ls` and \
                 `pack cat` show parts and fields"
            ),
            None => writeln!(to, "\nno classes were found; name their place with --class"),
        };
    };
    let count = units::counted(stats.classes.len() as u64, "class", "classes");
    let labeled = units::counted(stats.labeled, "sample", "samples");
    writeln!(to, "\n{count} of {labeled}, from {}", shown::text(source))?;
    for class in stats.classes.iter().take(CLASSES) {
        let percent = 100.0 * class.count as f64 / stats.labeled.max(1) as f64;
        let name = shown::text(&class.name);
        writeln!(to, "  {name:<24} {:>11} {percent:>5.1} %", units::count(class.count))?;
    }
    if stats.classes.len() > CLASSES {
        let more = units::count((stats.classes.len() - CLASSES) as u64);
        writeln!(to, "  and {more} more; --format json has all")?;
    }
    Ok(())
}

fn objects(to: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let Some(found) = &stats.objects else { return Ok(()) };
    let of = &found.per_picture;
    let count = units::counted(found.objects, "object", "objects");
    writeln!(to, "\n{count} of {}", units::counted(of.count, "sample", "samples"))?;
    let [min, median, p90, max] = [of.min, of.median, of.p90, of.max].map(units::count);
    writeln!(to, "  {:<8} {min} to {max}, median {median}, p90 {p90}", "each has")?;
    let areas = [found.small, found.medium, found.large].map(units::count);
    let [small, medium, large] = areas;
    writeln!(
        to,
        "  {:<8} {small} below 32x32 pixels, {medium} below 96x96, {large} larger",
        "areas"
    )?;
    for class in found.classes.iter().take(CLASSES) {
        let percent = 100.0 * class.count as f64 / found.objects.max(1) as f64;
        let name = shown::text(&class.name);
        writeln!(to, "  {name:<24} {:>11} {percent:>5.1} %", units::count(class.count))?;
    }
    if found.classes.len() > CLASSES {
        let more = units::count((found.classes.len() - CLASSES) as u64);
        writeln!(to, "  and {more} more; --format json has all")?;
    }
    Ok(())
}

fn problems(to: &mut impl Write, stats: &Stats) -> io::Result<()> {
    if stats.findings.is_empty() {
        writeln!(to, "\nno problems were found")?;
    } else {
        writeln!(to, "\nproblems")?;
    }
    for found in &stats.findings {
        let what = format!("{} {}", found.kind.word(), shown::text(&found.detail));
        let keys: Vec<&str> =
            found.examples.iter().take(3).map(|example| example.key.as_str()).collect();
        let more = if found.count > 3 { ", ..." } else { "" };
        writeln!(to, "  {what:<24} {:>11}  {}{more}", units::count(found.count), keys.join(", "))?;
    }
    if !stats.has_checksums {
        writeln!(
            to,
            "  duplicates were not searched: the sidecars have no checksums (`pack index --force DIR` adds them)"
        )?;
    }
    Ok(())
}
