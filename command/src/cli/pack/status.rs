//! `pack status`: shows the progress of a plan.

use std::path::PathBuf;
use std::time::Duration;

use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::Manifest;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::shown::ShowPath;
use tarflume_packer::session::{Opened, StoredPlan};
use tarflume_shards::workdir::Progress;

use crate::cli::arguments::args::{self, Format};
use crate::cli::arguments::storage;
use crate::cli::features;

/// Show how many shards of a plan are finished; exit 0 if all are, 75 if not
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::PLAN), value_name = "DIR")]
    out: PathBuf,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    match StoredPlan::open(&storage::output(&args.out)?)? {
        Opened::Planned(plan) => {
            let found = plan.progress()?;
            Ok(shown(args, plan.foot(), &found, &plan.temporaries()?))
        }
        Opened::Published(manifest) => {
            published(&manifest, args.format);
            Ok(Exit::Done)
        }
    }
}

/// Prints the state of a plan.
fn shown(
    args: &Args,
    foot: &PlanFoot,
    found: &Progress,
    temporaries: &[(PathBuf, Duration)],
) -> Exit {
    let problems: usize = found.records.iter().map(|r| r.problems.len()).sum();
    match args.format {
        Format::Text => {
            let finished = found.records.len();
            let total = found.total;
            print_result!("plan {}: {finished} of {total} shards finished", &foot.content[..16]);
            if problems > 0 {
                print_result!(
                    "{}",
                    units::counted(problems as u64, "problem so far", "problems so far")
                );
            }
            if !found.missing.is_empty() {
                print_result!("missing: {}", ranges(&found.missing));
            }
            for (path, age) in temporaries {
                print_result!(
                    "in progress or abandoned, {} s old: {}",
                    age.as_secs(),
                    path.shown()
                );
            }
            if found.missing.is_empty() {
                print_result!("publish with `pack finalize {}`", args.out.shown());
            }
        }
        Format::Json => print_result!(
            "{}",
            serde_json::json!({"published": false, "plan": foot.content, "shards": found.total,
                "finished": found.records.len(), "missing": found.missing, "problems": problems})
        ),
    }
    if found.missing.is_empty() { Exit::Done } else { Exit::TryAgain }
}

fn published(manifest: &Manifest, format: Format) {
    match format {
        Format::Text => print_result!(
            "published: {}, {}",
            units::counted(manifest.shards.len() as u64, "shard", "shards"),
            units::counted(manifest.samples, "sample", "samples")
        ),
        Format::Json => print_result!(
            "{}",
            serde_json::json!({"published": true, "plan": manifest.plan,
                "shards": manifest.shards.len(), "finished": manifest.shards.len(), "missing": []})
        ),
    }
}

/// Formats `0..3, 7, 9..12`: ranges as for `--shards`, without their end.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}..{}", run[0], run[0] + run.len()),
    });
    runs.collect::<Vec<_>>().join(", ")
}
