//! `Face`: where a message is read.

/// Where a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// The program `pack`: options and commands.
    Command,
    /// The Python package: keywords and calls of functions.
    Python,
    /// The crates: setters of builders.
    Rust,
}
