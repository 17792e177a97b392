//! `pack cache`: shows, checks, fills and removes the cache of this machine for shards in stores.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;
use tarflume::{Size, Storage, Warmed, warm_cache};
use tarflume_base::{Exit, Failure, FailureKind, Outcome, Stop, units};
use tarflume_cache::{Cache, CacheStats, Settings};
use tarflume_formats::shown::{self, ShowPath};
use tarflume_formats::url::is_url;

use crate::cli::arguments::args::Format;
use crate::cli::arguments::storage;
use crate::cli::output::out;
use crate::signals;

const AFTER: &str = "\
Examples:
  pack cache stat                                 what the cache has, and how often it was used
  pack cache warm s3://bucket/photos --size 200GiB
                                                  fetch a data set before a job starts
  pack cache verify                               read every block and compare its checksums
  pack cache drop                                 remove the cache and free its space

A loader uses the cache with cache=\"200GiB\" (Python), Storage::cache (Rust) or
TARFLUME_CACHE_SIZE=200GiB. It is one file, which all processes of this machine share.

Exit codes: 0 done   1 damaged blocks   2 no cache   73 the system refuses   75 try again";

/// Show, check, fill or remove the cache of this machine
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Folder of the cache, on a local disk [default: TARFLUME_CACHE, or /var/tmp/tarflume-UID]
    #[arg(long, global = true, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show what the cache has, and how often it was used
    Stat {
        /// Print text, or one JSON object
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Read every block, compare its checksums, and drop damaged ones
    Verify,
    /// Fetch the blocks of a data set that the cache does not have
    Warm {
        /// URL of a data set
        url: String,
        /// Size of the cache if there is none yet, for example 200GiB [default: TARFLUME_CACHE_SIZE]
        #[arg(long, value_name = "SIZE")]
        size: Option<Size>,
        /// Print no progress
        #[arg(long, short)]
        quiet: bool,
    },
    /// Remove the cache. Jobs that use it go on with it, and its space is free once they have ended
    Drop,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let mut settings = Settings::new(0);
    if let Some(folder) = &args.folder {
        settings = settings.folder(folder);
    }
    match &args.action {
        Action::Stat { format } => stat(&existing(&settings)?, *format),
        Action::Verify => verify(&existing(&settings)?),
        Action::Warm { url, size, quiet } => {
            let found = Cache::find(&settings).map_err(failure)?;
            // A cache that exists keeps its size.
            let size = found.map(|cache| Size::new(cache.bytes())).or(*size);
            warm(url, size, args.folder.as_ref(), *quiet)
        }
        Action::Drop => drop_cache(&settings),
    }
}

/// The cache, which must exist.
fn existing(settings: &Settings) -> Result<Cache, Failure> {
    Cache::find(settings).map_err(failure)?.ok_or_else(|| {
        Failure::usage(
            "there is no cache; a loader makes it with cache=\"200GiB\", `pack cache warm` with \
             --size",
        )
        .in_file(settings.path())
    })
}

fn failure(error: tarflume_cache::Error) -> Failure {
    let kind = if error.is_machine() { FailureKind::TryAgain } else { FailureKind::Usage };
    Failure::new(kind, error.text()).in_file(error.path())
}

fn stat(cache: &Cache, format: Format) -> Outcome {
    let has = cache.contents();
    let did = cache.total_stats();
    cache.intact().map_err(failure)?;
    let mut to = out::screen();
    let written = match format {
        Format::Text => text(&mut to, cache, &did),
        Format::Json => {
            let found = json!({
                "path": cache.path().shown().to_string(), "bytes": cache.bytes(), "slots": cache.slots(),
                "blocks": has.blocks, "block_bytes": has.bytes,
                "filling": has.filling, "abandoned": has.abandoned,
                "hits": did.hits, "hit_bytes": did.hit_bytes, "misses": did.misses, "fills": did.fills,
                "evictions": did.evictions, "damaged": did.damaged, "errors": did.errors,
            });
            writeln!(to, "{}", shown::json_lines(&found))
        }
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(Exit::Done)
}

fn text(to: &mut impl Write, cache: &Cache, did: &CacheStats) -> io::Result<()> {
    let has = cache.contents();
    line(to, "file", cache.path().shown().to_string())?;
    line(to, "size", units::bytes(cache.bytes()))?;
    let share = has.blocks as f64 / cache.slots() as f64 * 100.0;
    let blocks = units::counted(has.blocks, "block", "blocks");
    let slots = units::count(cache.slots());
    line(
        to,
        "content",
        format!("{blocks} of {slots} ({share:.1} %), {}", units::bytes(has.bytes)),
    )?;
    if has.filling + has.abandoned > 0 {
        let text = format!("{} being written, {} abandoned", has.filling, has.abandoned);
        line(to, "", text)?;
    }
    line(to, "hits", format!("{}, {}", units::count(did.hits), units::bytes(did.hit_bytes)))?;
    line(to, "misses", units::count(did.misses))?;
    line(to, "written", units::counted(did.fills, "block", "blocks"))?;
    line(to, "replaced", units::counted(did.evictions, "block", "blocks"))?;
    line(to, "damaged", units::counted(did.damaged, "block", "blocks"))?;
    line(to, "errors", units::count(did.errors))
}

fn line(to: &mut impl Write, name: &str, value: impl AsRef<str>) -> io::Result<()> {
    writeln!(to, "{name:<12}{}", shown::text(value.as_ref()))
}

/// Lets signals end the command between two blocks.
fn listen() -> Result<Stop, Failure> {
    signals::listen().map_err(|e| Failure::try_again(format!("cannot handle signals: {e}")))?;
    Ok(signals::stop())
}

fn verify(cache: &Cache) -> Outcome {
    let stop = listen()?;
    let found = cache.scrub(&|| stop.requested());
    if stop.requested() {
        return Err(Failure::interrupted());
    }
    for slot in &found.damaged {
        print_message!(
            "warning: slot {slot}: its bytes do not have their checksums; it is empty now"
        );
    }
    if let Some((slot, reason)) = found.unread.first() {
        return Err(Failure::try_again(format!(
            "cannot read slot {slot}: {reason}; if this stays, remove the cache with `pack cache \
             drop`"
        ))
        .in_file(cache.path()));
    }
    cache.intact().map_err(failure)?;
    let damaged = units::count(found.damaged.len() as u64);
    print_result!(
        "{}: {} right, {damaged} damaged",
        cache.path().shown(),
        units::counted(found.right, "block", "blocks")
    );
    Ok(if found.damaged.is_empty() { Exit::Done } else { Exit::Problems })
}

fn warm(url: &str, size: Option<Size>, folder: Option<&PathBuf>, quiet: bool) -> Outcome {
    if !is_url(url) {
        let text = "give the URL of a data set, such as s3://bucket/photos";
        return Err(Failure::usage(text).in_file(url));
    }
    let mut place = Storage::new();
    for (name, value) in storage::given() {
        place = place.option(name, value).map_err(Failure::from)?;
    }
    if let Some(size) = size {
        place = place.cache(size);
    }
    if let Some(folder) = folder {
        place = place.cache_folder(folder);
    }
    let stop = listen()?;
    let bar = out::Bar::new(quiet);
    let last = std::sync::atomic::AtomicU64::new(0);
    let warmed = warm_cache(url, &place, &|now: &Warmed| {
        bar.advance(now.bytes - last.swap(now.bytes, std::sync::atomic::Ordering::Relaxed));
        !stop.requested()
    })?;
    bar.end();
    if warmed.stopped {
        return Err(Failure::interrupted());
    }
    if !quiet {
        print_result!("{url}: {}", sentence(&warmed));
    }
    Ok(Exit::Done)
}

fn sentence(warmed: &Warmed) -> String {
    let kept = if warmed.kept == warmed.blocks {
        String::new()
    } else {
        format!(
            " The cache keeps {} of {}: it is smaller than the data set.",
            units::count(warmed.kept),
            blocks(warmed.blocks)
        )
    };
    format!(
        "{} fetched ({}), {} were there.{kept}",
        blocks(warmed.fetched),
        units::bytes(warmed.bytes),
        units::count(warmed.present)
    )
}

fn blocks(n: u64) -> String {
    units::counted(n, "block", "blocks")
}

fn drop_cache(settings: &Settings) -> Outcome {
    let path = settings.path();
    if Cache::remove(settings).map_err(failure)? {
        print_result!("{}: removed", path.shown())
    } else {
        print_result!("{}: there was no cache", path.shown())
    }
    Ok(Exit::Done)
}
