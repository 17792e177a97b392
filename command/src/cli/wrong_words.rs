//! Words that no command line has, and what to write instead: options and commands of other tools, a folder in place of
//! a command.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{features, places};

/// Words of other tools that mean the same.
type Words = &'static [&'static str];
/// Ids of options, each with a tip.
type Tips = &'static [(&'static str, &'static str)];

/// Options that users of other tools try, the id of the option that is meant, and a tip. The first id that a command has
/// counts; an empty id is one of every command.
const OPTIONS: [(Words, Tips); 24] = [
    (
        &[
            "--threads",
            "--num-threads",
            "--nthreads",
            "--workers",
            "--num-workers",
            "--num_workers",
            "--processes",
            "--nproc",
            "--procs",
            "--parallel",
            "--cpus",
            "--concurrency",
            "-t",
            "-w",
            "-p",
            "-P",
        ],
        &[("jobs", "'--jobs N' uses N threads")],
    ),
    (
        &["--force", "--overwrite", "--clobber", "--replace", "--yes", "-f", "-y"],
        &[
            ("force", "'--force' replaces what is there"),
            (
                "fresh",
                "published data sets are not overwritten: name another folder with -o, or remove the old one; \
                 '--fresh' discards an unfinished build",
            ),
            ("out", "nothing is overwritten: name another place with -o, or remove the old one"),
        ],
    ),
    (
        &["--resume", "--continue", "--restart", "-c"],
        &[("out", "the same command goes on where it was ended, without an option")],
    ),
    (
        &[
            "--output",
            "--output-dir",
            "--output_dir",
            "--out-dir",
            "--outdir",
            "--dest",
            "--destination",
            "--target",
            "-d",
        ],
        &[("out", "'-o PATH' (--out) names what is written")],
    ),
    (
        &[
            "--input",
            "--input-dir",
            "--src",
            "--source",
            "--data",
            "--data-dir",
            "--path",
            "--dir",
            "--root",
            "-i",
        ],
        &[
            ("sources", "name SRC without an option"),
            ("path", "name the data set without an option"),
            ("paths", "name the data set without an option"),
        ],
    ),
    (
        &[
            "--maxsize",
            "--max-size",
            "--size",
            "--shard-bytes",
            "--target-size",
            "--max-shard-size",
            "--size-limit",
            "--chunk-size",
        ],
        &[("shard_size", "'--shard-size SIZE' limits the bytes of a shard, for example 256MiB")],
    ),
    (
        &[
            "--maxcount",
            "--max-count",
            "--samples-per-shard",
            "--shard-count",
            "--per-shard",
            "--max-samples",
        ],
        &[("shard_samples", "'--shard-samples N' limits the samples of a shard")],
    ),
    (
        &["--num-shards", "--num_shards", "--nshards", "--n-shards", "--number-of-shards"],
        &[("shards", "'--shards N' makes N shards")],
    ),
    (
        &["--seed", "--random-seed", "--random", "--shuffle-seed"],
        &[("shuffle", "'--shuffle SEED' mixes the samples")],
    ),
    (
        &[
            "--val",
            "--val-split",
            "--val-size",
            "--test-size",
            "--train-size",
            "--train-split",
            "--validation-split",
            "--splits",
            "--ratio",
            "--ratios",
        ],
        &[("split", "'--split train=0.9,val=0.1' divides the samples")],
    ),
    (
        &[
            "--labels",
            "--class",
            "--class-from",
            "--imagefolder",
            "--image-folder",
            "--classes-from",
        ],
        &[(
            "label",
            "'--label folder' takes the class from the folder of an image, '--join labels.csv' from a table",
        )],
    ),
    (
        &[
            "--csv",
            "--table",
            "--metadata",
            "--annotations",
            "--captions",
            "--label-file",
            "--labels-file",
        ],
        &[("join", "'--join FILE' makes the rows of a table the JSON of the samples")],
    ),
    (
        &["--include", "--glob", "--pattern", "--only", "--match"],
        &[
            ("filters", "'--where CONDITION' selects samples, for example 'key ~ \"cat/*\"'"),
            ("prefix", "'--prefix PREFIX' selects keys"),
            ("exclude", "'--exclude GLOB' leaves files out"),
        ],
    ),
    (
        &["--filter", "--select", "--query"],
        &[
            ("filters", "'--where CONDITION' selects samples, for example 'json:/width >= 224'"),
            (
                "exclude",
                "'--exclude GLOB' leaves files out; `pack reshard --where` selects packed samples",
            ),
        ],
    ),
    (
        &[
            "--skip-errors",
            "--ignore-errors",
            "--skip-bad",
            "--skip-corrupt",
            "--keep-going",
            "--continue-on-error",
            "--on-error",
            "-k",
        ],
        &[("on_problem", "'--on-problem skip' leaves bad samples out, and lists them")],
    ),
    (
        &["--dryrun", "--simulate", "--check-only", "--preview", "-n"],
        &[("dry_run", "'--dry-run' shows what would be done")],
    ),
    (
        &["--gzip", "--gz", "--zstd", "--zst", "--compression", "--compression-level", "-z"],
        &[("compress", "'--compress zstd' compresses shards")],
    ),
    (
        &["--image-size", "--img-size", "--max-dim", "--scale", "--max-side", "--short-side"],
        &[("resize", "'--resize short:320' makes images smaller")],
    ),
    (
        &["--json", "--as-json", "--output-format", "--machine-readable"],
        &[("format", "'--format json' prints JSON")],
    ),
    (
        &["--silent", "--no-progress", "--no-bar", "-s"],
        &[("quiet", "'--quiet' prints errors alone")],
    ),
    (
        &["--verbose", "--debug", "--log-level", "-v"],
        &[("", "everything that is found is printed; no option prints more")],
    ),
    (
        &["--recursive", "-r", "-R"],
        &[("sources", "folders are read with all folders in them: leave the option out")],
    ),
    (
        &["--checksum", "--checksums", "--hash", "--deep", "--full", "--fast", "--quick"],
        &[("level", "'--level quick', 'full' and 'decode' determine what is read")],
    ),
    (
        &[
            "--region",
            "--endpoint",
            "--endpoint-url",
            "--profile",
            "--anonymous",
            "--no-sign-request",
            "--account",
        ],
        &[(
            "storage",
            "'--storage NAME=VALUE' sets an option of a store, for example --storage region=eu-west-1",
        )],
    ),
];

/// Commands of other tools, and a tip.
const COMMANDS: [(Words, &str); 11] = [
    (
        &["create", "make", "pack", "write", "import", "prepare", "encode"],
        "'pack build' packs folders into shards",
    ),
    (&["add", "extend"], "'pack append' adds samples to a data set"),
    (&["check", "validate", "test", "fsck", "lint"], "'pack verify' checks data sets"),
    (&["list", "keys", "tree"], "'pack ls' lists samples"),
    (&["show", "describe", "count", "size", "head"], "'pack info' shows the content of a data set"),
    (
        &["extract", "untar", "unshard", "expand", "restore"],
        "'pack unpack' writes the files of a data set",
    ),
    (
        &["merge", "concat", "join", "split", "shuffle", "filter", "repack", "sample", "subset"],
        "'pack reshard' merges, splits, shuffles and filters data sets",
    ),
    (
        &["copy", "cp", "upload", "download", "push", "pull", "clone"],
        "'pack sync' copies a data set",
    ),
    (
        &["serve", "browse", "open", "web", "ui", "gui", "viewer"],
        "'pack view' shows a data set in a browser",
    ),
    (&["convert", "to", "save"], "'pack build' packs other formats, 'pack export' writes them"),
    (&["tokenize", "tokenise"], "'pack tokens' tokenizes text"),
];

/// Returns the error with a tip about the word that is wrong.
pub(super) fn advised(
    mut error: clap::Error,
    mut line: Command,
    words: &[OsString],
) -> clap::Error {
    let wrong = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    let Some(ContextValue::String(word)) = error.get(wrong) else { return error };
    line.build(); // so that the usage of a subcommand names the program
    let command = words.iter().find_map(|word| line.find_subcommand(word));
    let tip = match (error.kind(), command) {
        (ErrorKind::UnknownArgument, Some(command)) => option(word, command, &line),
        (ErrorKind::UnknownArgument, None) => without_command(words),
        _ => of_command(word, words),
    };
    let usage = command.unwrap_or(&line).clone().render_usage();
    error.remove(ContextKind::Suggested); // to pass the option as a value, which suits no command
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        // That of the error names the option that clap took for similar.
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    error
}

/// Returns what to write in place of an option that `command` lacks.
fn option(word: &str, command: &Command, line: &Command) -> Option<String> {
    let name = word.split('=').next().unwrap_or(word);
    let has = |id: &str| id.is_empty() || command.get_arguments().any(|arg| arg.get_id() == id);
    let known =
        OPTIONS.iter().filter(|(words, _)| words.contains(&name)).flat_map(|(_, tips)| *tips);
    if let Some((_, tip)) = known.clone().find(|(id, _)| has(id)) {
        return Some((*tip).into());
    }
    let long = name.strip_prefix("--")?;
    let has_it = |sub: &&Command| sub.get_arguments().any(|arg| arg.get_long() == Some(long));
    let others: Vec<String> = line
        .get_subcommands()
        .filter(has_it)
        .map(|sub| format!("'pack {}'", sub.get_name()))
        .collect();
    (!others.is_empty()).then(|| format!("'{name}' is an option of {}", others.join(", ")))
}

/// Returns what to write in place of a word that is no command.
fn of_command(word: &str, words: &[OsString]) -> Option<String> {
    if let Some(told) = features::of_subcommand(word) {
        return Some(told.into());
    }
    if let Some((_, tip)) = COMMANDS.iter().find(|(others, _)| others.contains(&word)) {
        return Some((*tip).into());
    }
    places::without_command(Path::new(word), &out_of(words))
}

/// Returns the command for a line that begins with an option.
fn without_command(words: &[OsString]) -> Option<String> {
    let out = out_of(words);
    let paths = words.iter().skip(1).map(Path::new).filter(|path| *path != out);
    paths.filter_map(|path| places::without_command(path, &out)).next()
}

/// Returns the place of `-o` in a line that clap could not parse.
fn out_of(words: &[OsString]) -> std::path::PathBuf {
    let at = words.iter().position(|word| word == "-o" || word == "--out");
    at.and_then(|at| words.get(at + 1)).map_or_else(|| places::OUT.into(), Into::into)
}
