//! `pack ls`: lists samples with their parts.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::shown::{self, ShowPath};
use tarflume_formats::{Error, name};
use tarflume_shards::listing::Shard;

use crate::cli::arguments::args::{self, Format};
use crate::cli::arguments::storage;
use crate::cli::features::{self, or_url};
use crate::cli::output::out;

const AFTER: &str = "\
Examples:
  pack ls shards/ | head                        keys and extensions, in the order of the data set
  pack ls --long --prefix cats/ shards/         with shard, byte, sizes and image dimensions
  pack ls --split val shards/                   one split alone
  pack ls --format json shards/ | jq .key       one JSON object per line, for programs

A tar without sidecar is listed by its headers.

Exit codes: 0 done   2 no data set   65 bad data   75 try again";

/// List samples with their parts
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::DATA_SET), value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Show shard, byte, sizes and image dimensions
    #[arg(long, short)]
    long: bool,
    /// List only keys with this prefix
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<OsString>,
    /// List only the samples of this split
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Print text, or one JSON object per sample
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let mut listing = storage::listing(&args.path)?;
    if let Some(split) = &args.split {
        listing = listing.split(split)?;
    }
    let prefix = args.prefix.as_ref().map_or(b"".as_slice(), |prefix| prefix.as_bytes());
    let mut to = out::stdout();
    let mut line = Vec::new();
    for shard in &listing.shards {
        for sample in shard.index.iter() {
            let sample = sample?;
            if !sample.key.starts_with(prefix) {
                continue;
            }
            line.clear();
            match (args.format, args.long) {
                (Format::Json, _) => json(&mut line, shard, &sample)?,
                (Format::Text, true) => long(&mut line, shard, &sample)?,
                (Format::Text, false) => short(&mut line, &sample)?,
            }
            let written = to.write_all(&line);
            if out::is_closed(&written) {
                return Ok(Exit::Done);
            }
            out::printed(written)?;
        }
    }
    out::printed(to.flush())?;
    Ok(Exit::Done)
}

/// Writing to memory does not fail, so every error is the sidecar's.
type Line = Result<(), Error>;

fn put(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let written: io::Result<()> = line.write_fmt(text);
    debug_assert!(written.is_ok());
}

fn short(line: &mut Vec<u8>, sample: &Sample<'_>) -> Line {
    put(line, format_args!("{} ", sample.shown_key()));
    for part in sample.parts() {
        put(line, format_args!(" {}", name::shown(part?.ext)));
    }
    line.push(b'\n');
    Ok(())
}

fn long(line: &mut Vec<u8>, shard: &Shard, sample: &Sample<'_>) -> Line {
    let tar = Path::new(shard.tar.file_name().unwrap_or_default());
    let tar = tar.shown();
    put(line, format_args!("{tar}  {:>12}  {}", units::count(sample.first), sample.shown_key()));
    if let Some((width, height)) = sample.dimensions {
        put(line, format_args!("  {width}x{height}"));
    }
    for part in sample.parts() {
        let part = part?;
        put(line, format_args!("  {} {}", name::shown(part.ext), units::count(part.length)));
    }
    line.push(b'\n');
    Ok(())
}

#[derive(Serialize)]
struct JsonSample {
    key: String,
    shard: String,
    row: u64,
    byte: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    parts: Vec<JsonPart>,
}

#[derive(Serialize)]
struct JsonPart {
    ext: String,
    offset: u64,
    length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32c: Option<String>,
    /// Bytes of its entry points.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_points: Option<u64>,
    /// Bytes of the checksums of its strips.
    #[serde(skip_serializing_if = "Option::is_none")]
    strips: Option<u64>,
}

fn json(line: &mut Vec<u8>, shard: &Shard, sample: &Sample<'_>) -> Line {
    let sample = JsonSample {
        key: lossy(sample.key),
        shard: shard.tar.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        row: sample.row,
        byte: sample.first,
        width: sample.dimensions.map(|d| d.0),
        height: sample.dimensions.map(|d| d.1),
        parts: sample
            .parts()
            .map(|p| p.and_then(|part| json_part(part, shard)))
            .collect::<Result<_, _>>()?,
    };
    put(line, format_args!("{}\n", shown::json(&sample)));
    Ok(())
}

fn json_part(part: Part<'_>, shard: &Shard) -> Result<JsonPart, Error> {
    let points = shard.index.entry_points(part.number)?;
    let strips = shard.index.strips(part.number)?;
    Ok(JsonPart {
        ext: lossy(part.ext),
        offset: part.offset,
        length: part.length,
        crc32c: part.checksum.map(|sum| format!("{sum:08x}")),
        entry_points: points.map(|points| points.len() as u64),
        strips: strips.map(|strips| strips.len() as u64),
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use tarflume_formats::{Durability, ShardWriter};

    use super::*;
    use tarflume_shards::listing;

    #[test]
    fn json_output_has_the_bytes_of_entry_points_of_a_part() {
        let dir = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(dir.path(), "0.tar").unwrap();
        shard.begin(b"a");
        shard.part(b"jpg", 1).unwrap().fill(0);
        shard.entry_points(b"points");
        shard.strips(b"sums");
        shard.part(b"json", 1).unwrap().fill(0);
        shard.commit(None).unwrap();
        shard.finish().unwrap().publish(dir.path(), "0.tar", Durability::Cached).unwrap();
        let listing = listing::open(&dir.path().join("0.tar")).unwrap();
        let shard = &listing.shards[0];
        let mut line = Vec::new();
        json(&mut line, shard, &shard.index.sample(0).unwrap().unwrap()).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(found["parts"][0]["entry_points"], 6);
        assert_eq!(found["parts"][0]["strips"], 4);
        assert!(found["parts"][1].get("entry_points").is_none());
    }
}
