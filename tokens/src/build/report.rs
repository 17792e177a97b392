//! The counters of a running build, and the report of a finished one.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tarflume_formats::Manifest;
use tarflume_formats::message::Message;

use crate::packing::Packing;

/// The progress of a build, for a display.
#[derive(Debug, Default)]
pub struct Counter {
    /// Bytes of text that were read.
    pub text: AtomicU64,
    /// Bytes of text whose ids were in the cache.
    pub reused: AtomicU64,
    /// Ids of the text so far.
    pub tokens: AtomicU64,
    /// Samples written.
    pub samples: AtomicU64,
}

impl Counter {
    pub(super) fn add(to: &AtomicU64, amount: u64) {
        to.fetch_add(amount, Ordering::Relaxed);
    }
}

/// What a build did.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Report {
    /// Documents read.
    pub documents: u64,
    /// Documents without any id; they are left out.
    pub empty: u64,
    /// Documents that the condition left out.
    pub filtered: u64,
    /// Documents with too many ids that were cut.
    pub truncated: u64,
    /// Documents with too many ids that were left out.
    pub longer: u64,
    /// Documents with too few ids; they are left out.
    pub shorter: u64,
    /// Documents of which no id has loss, or the first alone, which no id predicts; they are left out.
    pub without_loss: u64,
    /// Ids with loss; all ids, if no prompts are masked.
    pub loss_tokens: u64,
    /// Documents that cannot be read; they are left out.
    pub bad: u64,
    /// Documents that ended with the token behind documents; they get no second one.
    pub ended: u64,
    /// Special tokens in the texts of documents.
    pub special_in_text: u64,
    /// Documents that begin or end with a special token twice: their text has what the tokenizer adds.
    pub doubled: u64,
    /// What a user should know of input and tokenizer, each one line.
    pub notices: Vec<Message>,
    /// By what the texts became ids: the fast path, or the library `tokenizers` with the reason.
    pub tokenizer: Option<Message>,
    /// Bytes of text; 0 for Megatron files.
    pub text_bytes: u64,
    /// Bytes of text that were tokenized, not found in the cache.
    pub tokenized_bytes: u64,
    /// Units of text.
    pub units: u64,
    /// Units that were tokenized.
    pub tokenized_units: u64,
    /// Ids in samples, with the ends of documents, without padding.
    pub tokens: u64,
    /// Samples.
    pub samples: u64,
    /// Ids of a sample; those of the longest one, if each sample is one document.
    pub length: u64,
    /// How documents fill samples: `bfd`, `concat` or `rows`.
    pub packing: Packing,
    /// The type of ids: `uint16` or `uint32`.
    pub dtype: String,
    /// The id that fills up samples.
    pub pad: u32,
    /// True if the data set existed before with the same content.
    pub published_before: bool,
}

impl Report {
    /// Returns the share of samples' ids that are no padding, from 0 to 1. Samples of one document have no padding.
    pub fn fill(&self) -> f64 {
        if self.packing == Packing::Rows && self.samples > 0 {
            return 1.0;
        }
        let room = self.samples as f64 * self.length as f64;
        if room > 0.0 { self.tokens as f64 / room } else { 0.0 }
    }
}

/// A published data set.
#[derive(Debug)]
pub struct Built {
    /// Its manifest.
    pub manifest: Manifest,
    /// What was done.
    pub report: Report,
}
