//! Huffman tables.

pub(super) mod huffman;
pub(super) mod pairs;
pub(super) mod pattern;
pub(super) mod skips;
