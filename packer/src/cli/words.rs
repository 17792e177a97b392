//! What several commands share in their arguments.

use clap::ValueEnum;

/// How results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The word by which a choice is said on the command line.
pub(super) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}
