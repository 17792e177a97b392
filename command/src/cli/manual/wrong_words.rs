//! Words that no command line has, and what to write instead: options and commands of other tools, a folder in place of
//! a command.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::arguments::places;
use crate::cli::features;

/// Options that users of other tools try, and what they mean by them.
struct Tried {
    words: &'static [&'static str],
    /// The first option that a command has counts.
    meant: &'static [Meant],
}

/// An option that a command may have.
struct Meant {
    /// Its id; the empty id is one of every command.
    option: &'static str,
    tip: &'static str,
}

const OPTIONS: [Tried; 24] = [
    Tried {
        words: &[
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
        meant: &[Meant { option: "jobs", tip: "'--jobs N' uses N threads" }],
    },
    Tried {
        words: &["--force", "--overwrite", "--clobber", "--replace", "--yes", "-f", "-y"],
        meant: &[
            Meant { option: "force", tip: "'--force' replaces what is there" },
            Meant {
                option: "fresh",
                tip: "published data sets are not overwritten: name another folder with -o, or remove the old one; \
                 '--fresh' discards an unfinished build",
            },
            Meant {
                option: "out",
                tip: "nothing is overwritten: name another place with -o, or remove the old one",
            },
        ],
    },
    Tried {
        words: &["--resume", "--continue", "--restart", "-c"],
        meant: &[Meant {
            option: "out",
            tip: "the same command goes on where it was ended, without an option",
        }],
    },
    Tried {
        words: &[
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
        meant: &[Meant { option: "out", tip: "'-o PATH' (--out) names what is written" }],
    },
    Tried {
        words: &[
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
        meant: &[
            Meant { option: "sources", tip: "name SRC without an option" },
            Meant { option: "path", tip: "name the data set without an option" },
            Meant { option: "paths", tip: "name the data set without an option" },
        ],
    },
    Tried {
        words: &[
            "--maxsize",
            "--max-size",
            "--size",
            "--shard-bytes",
            "--target-size",
            "--max-shard-size",
            "--size-limit",
            "--chunk-size",
        ],
        meant: &[Meant {
            option: "shard_size",
            tip: "'--shard-size SIZE' limits the bytes of a shard, for example 256MiB",
        }],
    },
    Tried {
        words: &[
            "--maxcount",
            "--max-count",
            "--samples-per-shard",
            "--shard-count",
            "--per-shard",
            "--max-samples",
        ],
        meant: &[Meant {
            option: "shard_samples",
            tip: "'--shard-samples N' limits the samples of a shard",
        }],
    },
    Tried {
        words: &["--num-shards", "--num_shards", "--nshards", "--n-shards", "--number-of-shards"],
        meant: &[Meant { option: "shards", tip: "'--shards N' makes N shards" }],
    },
    Tried {
        words: &["--seed", "--random-seed", "--random", "--shuffle-seed"],
        meant: &[Meant { option: "shuffle", tip: "'--shuffle SEED' mixes the samples" }],
    },
    Tried {
        words: &[
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
        meant: &[Meant { option: "split", tip: "'--split train=0.9,val=0.1' divides the samples" }],
    },
    Tried {
        words: &[
            "--labels",
            "--class",
            "--class-from",
            "--imagefolder",
            "--image-folder",
            "--classes-from",
        ],
        meant: &[Meant {
            option: "label",
            tip: "'--label folder' takes the class from the folder of an image, '--join labels.csv' from a table",
        }],
    },
    Tried {
        words: &[
            "--csv",
            "--table",
            "--metadata",
            "--annotations",
            "--captions",
            "--label-file",
            "--labels-file",
        ],
        meant: &[Meant {
            option: "join",
            tip: "'--join FILE' makes the rows of a table the JSON of the samples",
        }],
    },
    Tried {
        words: &["--include", "--glob", "--pattern", "--only", "--match"],
        meant: &[
            Meant {
                option: "filters",
                tip: "'--where CONDITION' selects samples, for example 'key ~ \"cat/*\"'",
            },
            Meant { option: "prefix", tip: "'--prefix PREFIX' selects keys" },
            Meant { option: "exclude", tip: "'--exclude GLOB' leaves files out" },
        ],
    },
    Tried {
        words: &["--filter", "--select", "--query"],
        meant: &[
            Meant {
                option: "filters",
                tip: "'--where CONDITION' selects samples, for example 'json:/width >= 224'",
            },
            Meant {
                option: "exclude",
                tip: "'--exclude GLOB' leaves files out; `pack reshard --where` selects packed samples",
            },
        ],
    },
    Tried {
        words: &[
            "--skip-errors",
            "--ignore-errors",
            "--skip-bad",
            "--skip-corrupt",
            "--keep-going",
            "--continue-on-error",
            "--on-error",
            "-k",
        ],
        meant: &[Meant {
            option: "on_problem",
            tip: "'--on-problem skip' leaves bad samples out, and lists them",
        }],
    },
    Tried {
        words: &["--dryrun", "--simulate", "--check-only", "--preview", "-n"],
        meant: &[Meant { option: "dry_run", tip: "'--dry-run' shows what would be done" }],
    },
    Tried {
        words: &["--gzip", "--gz", "--zstd", "--zst", "--compression", "--compression-level", "-z"],
        meant: &[Meant { option: "compress", tip: "'--compress zstd' compresses shards" }],
    },
    Tried {
        words: &[
            "--image-size",
            "--img-size",
            "--max-dim",
            "--scale",
            "--max-side",
            "--short-side",
        ],
        meant: &[Meant { option: "resize", tip: "'--resize short:320' makes images smaller" }],
    },
    Tried {
        words: &["--json", "--as-json", "--output-format", "--machine-readable"],
        meant: &[Meant { option: "format", tip: "'--format json' prints JSON" }],
    },
    Tried {
        words: &["--silent", "--no-progress", "--no-bar", "-s"],
        meant: &[Meant { option: "quiet", tip: "'--quiet' prints errors alone" }],
    },
    Tried {
        words: &["--verbose", "--debug", "--log-level", "-v"],
        meant: &[Meant {
            option: "",
            tip: "everything that is found is printed; no option prints more",
        }],
    },
    Tried {
        words: &["--recursive", "-r", "-R"],
        meant: &[Meant {
            option: "sources",
            tip: "folders are read with all folders in them: leave the option out",
        }],
    },
    Tried {
        words: &["--checksum", "--checksums", "--hash", "--deep", "--full", "--fast", "--quick"],
        meant: &[Meant {
            option: "level",
            tip: "'--level quick', 'full' and 'decode' determine what is read",
        }],
    },
    Tried {
        words: &[
            "--region",
            "--endpoint",
            "--endpoint-url",
            "--profile",
            "--anonymous",
            "--no-sign-request",
            "--account",
        ],
        meant: &[Meant {
            option: "storage",
            tip: "'--storage NAME=VALUE' sets an option of a store, for example --storage region=eu-west-1",
        }],
    },
];

/// Commands of other tools, and a tip.
const COMMANDS: [(&[&str], &str); 11] = [
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
pub(in crate::cli) fn advised(
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
    let known = OPTIONS.iter().filter(|tried| tried.words.contains(&name));
    if let Some(meant) =
        known.flat_map(|tried| tried.meant).find(|meant| has(command, meant.option))
    {
        return Some(meant.tip.into());
    }
    let long = name.strip_prefix("--")?;
    let others: Vec<String> = line
        .get_subcommands()
        .filter(|sub| sub.get_arguments().any(|arg| arg.get_long() == Some(long)))
        .map(|sub| format!("'pack {}'", sub.get_name()))
        .collect();
    (!others.is_empty()).then(|| format!("'{name}' is an option of {}", others.join(", ")))
}

fn has(command: &Command, id: &str) -> bool {
    id.is_empty() || command.get_arguments().any(|arg| arg.get_id() == id)
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
