//! Arguments of several kinds: numbers, words, labels, options of a store.

pub(super) mod constructor_args;
pub(super) mod labels;
pub(super) mod numbers;
pub(super) mod storage;
pub(super) mod words;
