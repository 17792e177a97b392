//! From text to token ids.

pub(super) mod encoder;
pub(super) mod ids;
#[cfg(feature = "tokenizers")]
pub(super) mod tokenizer;
