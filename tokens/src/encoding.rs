//! From text to token ids.

pub(super) mod encoder;
pub(super) mod ids;
pub(super) mod prompt;
#[cfg(feature = "tokenizers")]
pub(super) mod tokenizer;
