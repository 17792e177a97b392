//! Columns of text, of ids and of sequences.

pub(crate) mod blocks;
pub(crate) mod sequence;
pub(crate) mod text;
pub(crate) mod tokens;
