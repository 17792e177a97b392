//! `Splits`: which sample is in which split.

use tarflume_formats::message::Message;

/// The split of each sample that is packed.
#[derive(Debug, Default)]
pub(in crate::plan) struct Splits {
    /// The names, in the order of their shards.
    pub(in crate::plan) names: Vec<String>,
    /// The split of each sample, in the order of names.
    pub(in crate::plan) of: Vec<u8>,
    /// Lines for the summary.
    pub(in crate::plan) notes: Vec<Message>,
}
