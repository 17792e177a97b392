//! `pack info`: shows the content of a data set or a shard in a few lines.

use std::io::{self, Write};
use std::path::PathBuf;

use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::shown;
use tarflume_inspect::survey::{self, Spread, Survey};

use crate::cli::arguments::args::{self, Format};
use crate::cli::arguments::storage;
use crate::cli::features::{self, or_url};
use crate::cli::output::out;

const AFTER: &str = "\
Examples:
  pack info shards/                              samples, bytes, extensions, image sizes
  pack info shards/train-000003.tar              one tar, with or without sidecar
  pack info --format json shards/ | jq .samples  for programs

Reads the manifest and the sidecars only; `pack verify` checks the tars.

Exit codes: 0 done   2 no data set   65 bad data   73 the system refuses   75 try again";

/// Show the content of a data set or a shard
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::DATA_SET), value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let listing = storage::listing(&args.path)?;
    let survey = survey::survey(&listing)?;
    let mut to = out::screen();
    let written = match args.format {
        Format::Text => text(&mut to, &survey),
        Format::Json => writeln!(to, "{}", shown::json_lines(&survey)),
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(Exit::Done)
}

fn text(to: &mut impl Write, survey: &Survey) -> io::Result<()> {
    line(to, "samples", units::count(survey.samples))?;
    line(to, "shards", shards(survey))?;
    for (i, split) in survey.splits.iter().enumerate() {
        let name = if i == 0 { "splits" } else { "" };
        let samples = units::counted(split.samples, "sample", "samples");
        let shards = units::counted(split.shards, "shard", "shards");
        line(
            to,
            name,
            format!("{}  {samples}, {shards}, {}", split.name, units::bytes(split.bytes)),
        )?;
    }
    if let Some(classes) = survey.classes {
        line(to, "classes", units::count(classes))?;
    }
    if let Some(builds) = survey.builds {
        line(to, "builds", units::count(builds))?;
    }
    line(to, "bytes", format!("{} ({})", units::bytes(survey.bytes), units::count(survey.bytes)))?;
    line(to, "sidecars", sidecars(survey))?;
    for (i, (ext, of)) in survey.extensions.iter().enumerate() {
        let name = if i == 0 { "extensions" } else { "" };
        let parts = units::counted(of.parts, "part", "parts");
        line(to, name, format!("{ext}  {parts}, {}", units::bytes(of.bytes)))?;
    }
    if let Some(images) = &survey.images {
        let known = units::counted(images.known, "image", "images");
        line(to, "images", format!("{known} with known dimensions"))?;
        line(to, "  width", spread(&images.width))?;
        line(to, "  height", spread(&images.height))?;
    }
    if let Some(points) = &survey.entry_points {
        let parts = units::counted(points.parts, "part", "parts");
        line(to, "JPEG entry points:", format!(" {parts}, {}", units::bytes(points.bytes)))?;
    }
    if let Some(strips) = &survey.strips {
        let parts = units::counted(strips.parts, "part", "parts");
        line(to, "JPEG strips:", format!(" {parts}, {}", units::bytes(strips.bytes)))?;
    }
    if let Some((first, last)) = survey.first_key.as_ref().zip(survey.last_key.as_ref()) {
        line(to, "keys", format!("{first} to {last}"))?;
    }
    if let Some(digest) = &survey.blake3 {
        line(to, "blake3", digest.clone())?;
    }
    if let Some(root) = &survey.root {
        line(to, "root", root.clone())?;
    }
    if let Some(tool) = &survey.tool {
        line(to, "made by", tool.clone())?;
    }
    if let Some(plan) = &survey.plan {
        line(to, "plan", plan.clone())?;
    }
    provenance(to, survey)
}

/// Prints what was stated about each build; the number of the build if there are several.
fn provenance(to: &mut impl Write, survey: &Survey) -> io::Result<()> {
    let mut title = "provenance";
    for (i, build) in survey.provenance.iter().enumerate() {
        for (name, value) in build {
            let of = match survey.provenance.len() {
                1 => String::new(),
                _ => format!("build {}: ", i + 1),
            };
            line(to, std::mem::take(&mut title), format!("{of}{name}={value}"))?;
        }
    }
    Ok(())
}

fn line(to: &mut impl Write, name: &str, value: impl AsRef<str>) -> io::Result<()> {
    writeln!(to, "{name:<12}{}", shown::text(value.as_ref()))
}

fn shards(survey: &Survey) -> String {
    let count = units::count(survey.shards);
    match (&survey.smallest, &survey.largest) {
        (Some(smallest), Some(largest)) if smallest.bytes < largest.bytes => format!(
            "{count}, from {} ({}) to {} ({})",
            units::bytes(smallest.bytes),
            smallest.name,
            units::bytes(largest.bytes),
            largest.name
        ),
        (Some(shard), _) if survey.shards > 1 => {
            format!("{count}, of {} each", units::bytes(shard.bytes))
        }
        _ => count,
    }
}

fn sidecars(survey: &Survey) -> String {
    if survey.sidecar_bytes == 0 {
        return "none; `pack index DIR` makes them".into();
    }
    let state = if survey.with_checksums == survey.shards {
        "with digests and checksums".to_string()
    } else {
        format!("{} of {} with checksums", survey.with_checksums, survey.shards)
    };
    format!("{}, {state}", units::bytes(survey.sidecar_bytes))
}

fn spread(spread: &Spread) -> String {
    let Spread { min, median, max } = spread;
    format!("{} to {}, median {}", units::count(*min), units::count(*max), units::count(*median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_inspect::survey::ExtSum;

    #[test]
    fn entry_points_are_listed_if_the_shard_has_any() {
        let printed = |survey: &Survey| {
            let mut to = Vec::new();
            text(&mut to, survey).unwrap();
            String::from_utf8(to).unwrap()
        };
        let mut survey = Survey::default();
        assert!(!printed(&survey).contains("entry points"));
        survey.entry_points = Some(ExtSum { parts: 1200, bytes: 400_000 });
        let line = format!("JPEG entry points: 1,200 parts, {}\n", units::bytes(400_000));
        assert!(printed(&survey).contains(&line), "{}", printed(&survey));
    }
}
