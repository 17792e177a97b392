//! The help: texts, man pages, completions, and advice for words that no command has.

pub(super) mod completions;
pub(super) mod help;
pub(super) mod man;
pub(super) mod wrong_words;
