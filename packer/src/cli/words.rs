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

/// The number of threads: as asked, or the machine's cores.
pub(super) fn jobs(asked: Option<u64>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, |n| n as usize)
}

/// The word by which a choice is said on the command line.
pub(super) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}
