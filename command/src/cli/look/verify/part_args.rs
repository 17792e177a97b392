//! The options of `pack verify` about what is in parts.

use tarflume_verify::{PartOptions, UniqueField};

/// What is looked for in parts.
#[derive(Debug, clap::Args)]
pub(super) struct PartArgs {
    /// Report samples that have the same value in this field, such as /id, meta.json:/id, or txt for a whole part;
    /// repeatable. By default repeated values of /id are a warning at level decode, if they are few
    #[arg(long, value_name = "FIELD", value_parser = UniqueField::parse)]
    unique: Vec<UniqueField>,
}

impl PartArgs {
    pub(super) fn options(&self) -> PartOptions {
        PartOptions { unique: self.unique.clone() }
    }
}
