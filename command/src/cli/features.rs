//! Features that this program was built without: the help does not name what needs them.

use clap::{Arg, Command};

/// A feature of this crate, and its places in the help.
#[derive(Debug)]
pub(in crate::cli) struct Feature {
    is_built: bool,
    /// Ids of options.
    options: &'static [&'static str],
    /// Names of values, and what they are without it.
    values: &'static [(&'static str, &'static str)],
    /// An example with one of these is about it.
    words: &'static [&'static str],
    /// Texts, and what they are without it.
    texts: &'static [(&'static str, &'static str)],
}

/// The features. Only the names of values are elsewhere, at their types.
const ALL: [Feature; 6] = [
    Feature {
        is_built: cfg!(feature = "remote"),
        options: &["storage", "single_writer"],
        values: &[("DIR|SHARD|URL", "DIR|SHARD"), ("DIR|URL", "DIR")],
        words: &["s3://", "pack cache"],
        texts: &[
            (", or to a URL: s3://BUCKET/PREFIX, gs://, az://", ""),
            (", one tar, or the URL of a data set in a store", " or one tar"),
            (
                ", one tar with its sidecar, or the URL of a data set in a store",
                " or one tar with its sidecar",
            ),
            ("folder, tar or URL", "folder or tar"),
            ("Folder or URL", "Folder"),
            ("between folders and stores", "between folders"),
            ("that of the usual class of the URL's store; s3-standard for a folder", "s3-standard"),
        ],
    },
    Feature {
        is_built: cfg!(feature = "tables"),
        options: &[],
        values: &[],
        words: &["--to parquet", "--to hf"],
        texts: &[
            (" parquet:,", ""),
            (", or .parquet", ""),
            (", metadata.jsonl and metadata.parquet", " and metadata.jsonl"),
            (", .jsonl and .parquet", " and .jsonl"),
            (", .parquet and .tar", " and .tar"),
            (" .parquet,", ""),
            (", or this column of Parquet", ""),
            (", 500MB parquet and hf", ""),
        ],
    },
    Feature {
        is_built: cfg!(feature = "hdf5"),
        options: &[],
        values: &[],
        words: &[],
        texts: &[(" hdf5:,", ""), (", hdf5:t.h5?image=/x&label=/y", "")],
    },
    Feature {
        is_built: cfg!(feature = "tokenizers"),
        options: &["tokenizer", "special_tokens", "split_special_tokens"],
        values: &[],
        words: &["--tokenizer"],
        texts: &[
            ("Tokenize text and pack it into blocks", "Pack the ids of Megatron files into blocks"),
            ("Files or folders of text, or megatron:PREFIX", "megatron:PREFIX"),
        ],
    },
    Feature {
        is_built: cfg!(feature = "schema"),
        options: &["schema"],
        values: &[],
        words: &["--schema"],
        texts: &[(" a --schema for a part that no\nsample has,", "")],
    },
    Feature {
        is_built: cfg!(feature = "sqlite"),
        options: &[],
        values: &[],
        words: &["dali,energon"],
        texts: &[
            ("energon: SHARD.tar.idx and .nv-meta; ", ""),
            ("dali, energon, wids", "dali, wids"),
        ],
    },
];

/// The features that the help leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Missing {
    /// Those that this program was built without.
    Here,
    /// All: for tests.
    #[cfg(test)]
    All,
}

impl Missing {
    fn features(self) -> impl Iterator<Item = &'static Feature> {
        ALL.iter().filter(move |feature| match self {
            Missing::Here => !feature.is_built,
            #[cfg(test)]
            Missing::All => true,
        })
    }

    /// Returns an argument without what needs the features; one that needs a feature is hidden.
    pub(in crate::cli) fn of_arg(self, mut arg: Arg) -> Arg {
        for feature in self.features() {
            if feature.options.contains(&arg.get_id().as_str()) {
                arg = arg.hide(true);
            }
            if let Some(help) = arg.get_help().map(|help| feature.leave_out(&help.to_string())) {
                arg = arg.help(help);
            }
            if let Some(help) = arg.get_long_help().map(|help| feature.leave_out(&help.to_string()))
            {
                arg = arg.long_help(help);
            }
            let names = arg.get_value_names().unwrap_or_default();
            let found =
                feature.values.iter().find(|(with, _)| names.iter().any(|name| name == with));
            if let Some((_, without)) = found {
                arg = arg.value_name(*without);
            }
        }
        arg
    }

    /// Returns a command whose summary does not name the features.
    pub(in crate::cli) fn of_command(self, mut command: Command) -> Command {
        for feature in self.features() {
            if let Some(about) =
                command.get_about().map(|about| feature.leave_out(&about.to_string()))
            {
                command = command.about(about);
            }
        }
        command
    }

    /// Returns a text without the examples and the words of the features.
    pub(in crate::cli) fn of_text(self, text: &str) -> String {
        let is_about = |line: &str| {
            self.features().any(|feature| feature.words.iter().any(|word| line.contains(word)))
        };
        let mut leaves_out = false;
        let kept = text.lines().filter(|line| {
            let is_item = line.starts_with("  ") && !line.starts_with("   ");
            // The remark of an example may be on the next line.
            leaves_out = if is_item || !line.starts_with(' ') {
                is_item && is_about(line)
            } else {
                leaves_out
            };
            !leaves_out
        });
        let text = kept.collect::<Vec<_>>().join("\n");
        self.features().fold(text, |text, feature| feature.leave_out(&text))
    }
}

impl Feature {
    fn leave_out(&self, text: &str) -> String {
        self.texts
            .iter()
            .fold(text.to_string(), |text, (with, without)| text.replace(with, without))
    }
}

/// Returns which program has a subcommand that this one lacks.
pub(in crate::cli) fn of_subcommand(name: &str) -> Option<&'static str> {
    (name == "cache" && !cfg!(feature = "remote")).then_some(
        "'pack cache' needs the feature `remote`, which this program was built without; a program of the default \
         features has it, such as that of the Python package",
    )
}
