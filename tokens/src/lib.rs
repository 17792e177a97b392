//! Text to shards of token blocks for language models: tokenized once, cached by content, packed to
//! one length. The library of `pack tokens`; prints nothing.
//!
//! Floors, lower ones first:
//!
//! 1. [`Ids`], [`Condition`]: token ids of several documents, and the filter of documents;
//! 2. [`Encode`], [`packing`], [`megatron`]: from text to ids, from ids to blocks, and the files of
//!    Megatron-LM; `chat`: from conversations to ids;
//! 3. [`source`]: files of text as documents; `unit`, `cache`: what is tokenized and kept together;
//! 4. [`build`]: all of them in order, written by
//!    [`DatasetWriter`](tarflume_packer::writer::DatasetWriter);
//! 5. [`export`]: documents of blocks as files of Megatron-LM.
//!
//! Every sample is one block of `length` ids, or with [`packing::Packing::Rows`] one document:
//!
//! | part | content |
//! |---|---|
//! | `ids.npy` | `length` ids as `u16` or `u32`, filled up with the padding id |
//! | `cu_seqlens.npy` | `i32`: where each document begins in the block, and the number of ids without padding; not in samples of one document |
//! | `loss.npy` | `i32`: where ids with loss begin and end, a pair for each run of them; in samples of conversations with a mask |
//! | `json` | `{"documents": ["a.jsonl#17", ...], "tokens": 2040}` |
//!
//! ```
//! use tarflume_base::Failure;
//! use tarflume_tokens::packing::{Block, DocumentId, Packer, Packing};
//!
//! # fn main() -> Result<(), Failure> {
//! let mut blocks: Vec<Block> = Vec::new();
//! let mut keep = |block| Ok(blocks.push(block));
//! let mut packer = Packer::new(Packing::BestFit, 8);
//! for (number, ids) in [&[1, 2, 3][..], &[4, 5, 6, 7, 8], &[9, 10, 11, 12, 13, 14]].iter().enumerate() {
//!     let document = DocumentId { source: 0, number: number as u64 };
//!     packer.push(document, ids, &mut keep)?;
//! }
//! packer.finish(&mut keep)?;
//! assert_eq!(blocks.len(), 2); // 3 + 5 ids, and 6
//! assert_eq!(blocks[0].cu_seqlens(), [0, 3, 8]);
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod build;
mod cache;
#[cfg(feature = "tokenizers")]
mod chat;
mod condition;
mod encoding;
pub mod export;
mod files;
pub mod megatron;
pub mod packing;
pub mod sample;
pub mod source;
mod unit;

#[doc(hidden)]
pub use self::cache::entry;
#[cfg(feature = "tokenizers")]
pub use chat::{ChatEncoder, ChatOptions, Loss};
pub use condition::Condition;
pub use encoding::encoder::{Encode, Specials, fingerprint_of};
pub use encoding::ids::Ids;
#[cfg(feature = "tokenizers")]
pub use encoding::tokenizer::{Tokenizer, TokenizerOptions};

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
