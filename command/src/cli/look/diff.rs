//! `pack diff`: samples that two data sets do not have in common.

mod markdown;
mod steps;

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use tarflume_base::{Exit, Failure, Outcome, Stop, units};
use tarflume_formats::shown::{self, ShowPath};
use tarflume_inspect::diff::{Change, PartChange, SampleChange, Totals, diff, table_differences};

use self::markdown::Page;
use self::steps::Steps;
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::output::out;

const AFTER: &[HelpPart] = &[
    Always("\
Samples are compared by key, and their parts by size and checksum, which the sidecars have: no tar
is read. Order and shards may differ. The classes and columns that the manifests state are compared, too.

Examples:
  pack diff main/ branch/                       what a branch adds, removes and changes"),
    With(Feature::Remote, "
  pack diff --summary s3://bucket/v1 shards/    numbers alone"),
    Always("
  pack diff --format json a/ b/ | jq .key       one JSON object a line
  pack diff --format markdown a/ b/ > diff.md   a comment for a pull request
  pack diff --summary --batch-size 256 a/ b/    what an epoch becomes

Exit codes: 0 equal   1 they differ   2 no data set   65 bad data   75 try again"),
];

const BEFORE: &[HelpPart] = &[
    Always("The data set before: folder"),
    With(Feature::Remote, ", tar or URL"),
    Without(Feature::Remote, " or tar"),
];

/// List the samples that were added, removed and changed between two data sets
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(BEFORE), value_name = "BEFORE")]
    pub(in crate::cli) before: PathBuf,
    /// The data set after
    #[arg(value_name = "AFTER")]
    pub(in crate::cli) after: PathBuf,
    /// Print the totals only
    #[arg(long)]
    summary: bool,
    /// End with 2 if a data set has no checksums, so that parts are compared by size alone. By default that is a warning
    #[arg(long)]
    require_checksums: bool,
    /// Say how many batches of N samples an epoch has before and after; with several ranks, N is that of all together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch_size: Option<u64>,
    /// Print text, one JSON object a line with the totals last, or tables for a pull request
    #[arg(long, value_enum, default_value_t = DiffForm::Text)]
    format: DiffForm,
}

/// The form of the differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DiffForm {
    /// For people
    Text,
    /// For programs
    Json,
    /// For a comment in a pull request
    Markdown,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let before = storage::listing(&args.before)?;
    let after = storage::listing(&args.after)?;
    let mut to = out::stdout();
    let mut is_closed = false;
    let mut page = match args.format {
        DiffForm::Markdown => Some(Page::new(&before, &after)?),
        DiffForm::Text | DiffForm::Json => None,
    };
    let mut put = |change: SampleChange| -> Result<(), Failure> {
        if let Some(page) = &mut page {
            return page.add(&change, &text(&change));
        }
        if args.summary || is_closed {
            return Ok(());
        }
        let line = match args.format {
            DiffForm::Json => shown::json(&json_of(&change)),
            DiffForm::Text | DiffForm::Markdown => text(&change),
        };
        let written = writeln!(to, "{line}");
        is_closed = out::is_closed(&written);
        if is_closed { Ok(()) } else { out::printed(written) }
    };
    let totals = diff(&before, &after, &Stop::new(), &mut put)?;
    let tables = table_differences(&before, &after);
    for difference in tables.iter().filter(|_| !is_closed && page.is_none()) {
        let line = match args.format {
            DiffForm::Json => shown::json(&json!({"change": "manifest", "what": difference})),
            DiffForm::Text | DiffForm::Markdown => {
                format!("dataset.json: {}", shown::text(difference))
            }
        };
        out::printed(writeln!(to, "{line}"))?;
    }
    let steps = args.batch_size.map(|batch_size| Steps::of(batch_size, &totals));
    let line = match (args.format, page) {
        (_, Some(page)) => page.text(&totals, &tables, steps)?.trim_end().to_string(),
        (DiffForm::Json, None) => json_of_totals(&totals, steps).to_string(),
        (DiffForm::Text | DiffForm::Markdown, None) => {
            let steps = steps.map(|steps| format!("\n{}", steps.text()));
            format!("{}{}", summary(&totals), steps.unwrap_or_default())
        }
    };
    if !is_closed {
        out::printed(writeln!(to, "{line}").and_then(|()| to.flush()))?;
    }
    if !totals.has_checksums {
        let text = format!(
            "{} or {} has no checksums, so parts are compared by size alone; `pack index --force DIR` adds them",
            args.before.shown(),
            args.after.shown()
        );
        if args.require_checksums {
            return Err(Failure::usage(text).with_file(&args.before));
        }
        print_message!("warning: {text}");
    }
    for (path, one, other) in [(&args.before, &before, &after), (&args.after, &after, &before)] {
        let is_described = other.manifest.as_ref().is_some_and(|m| !m.about.is_empty());
        if one.manifest.is_none() && is_described {
            print_message!(
                "warning: {} has no dataset.json, so classes and columns are not compared",
                path.shown()
            );
        }
    }
    Ok(if totals.are_same() && tables.is_empty() { Exit::Done } else { Exit::Problems })
}

fn text(change: &SampleChange) -> String {
    let sign = match change.change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Changed => '~',
    };
    let parts: Vec<String> =
        change.parts.iter().map(|part| text_of_part(part, change.change)).collect();
    format!("{sign} {}: {}", change.key, parts.join(", "))
}

fn text_of_part(part: &PartChange, change: Change) -> String {
    match (part.before, part.after) {
        (Some(before), Some(after)) if before == after => format!("{} other bytes", part.ext),
        (Some(before), Some(after)) => {
            format!("{} {} -> {}", part.ext, units::bytes(before), units::bytes(after))
        }
        (None, Some(after)) if change == Change::Changed => {
            format!("+{} {}", part.ext, units::bytes(after))
        }
        (Some(before), None) if change == Change::Changed => {
            format!("-{} {}", part.ext, units::bytes(before))
        }
        (before, after) => {
            format!("{} {}", part.ext, units::bytes(before.or(after).unwrap_or_default()))
        }
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
    }
}

fn json_of(change: &SampleChange) -> serde_json::Value {
    let parts: Vec<_> = change.parts.iter().map(json_of_part).collect();
    json!({"change": word(change.change), "key": change.key, "ordinal": change.ordinal, "parts": parts})
}

fn json_of_part(part: &PartChange) -> serde_json::Value {
    json!({"ext": part.ext, "before": part.before, "after": part.after})
}

fn json_of_totals(totals: &Totals, steps: Option<Steps>) -> serde_json::Value {
    let mut json = json!({"before": totals.before, "after": totals.after, "same": totals.same, "added": totals.added,
           "removed": totals.removed, "changed": totals.changed, "has_checksums": totals.has_checksums});
    if let Some(steps) = steps {
        json["steps"] = steps.json();
    }
    json
}

fn summary(totals: &Totals) -> String {
    format!(
        "{} -> {}: {} added, {} removed, {} changed, {} the same",
        units::counted(totals.before, "sample", "samples"),
        units::counted(totals.after, "sample", "samples"),
        units::count(totals.added),
        units::count(totals.removed),
        units::count(totals.changed),
        units::count(totals.same)
    )
}
