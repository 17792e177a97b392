//! Warnings about a valid plan: shard sizes that are slow for nearly every reader.

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::PlanFoot;
use tarflume_types::Size;

use super::Shape;
use super::deal::Cut;

/// From this many shards on, their size is checked.
const MANY: usize = 16;
/// Shards below this many bytes are small: opening one costs more than reading it.
const SMALL: u64 = 1 << 20;

/// Returns one sentence per warning.
pub fn of(foot: &PlanFoot) -> Vec<Message> {
    let shape = serde_json::from_value::<Shape>(foot.options.clone());
    let limit = shape.ok().and_then(|shape| match shape.cut {
        Cut::Limits { bytes, .. } => bytes,
        Cut::Shards(_) => None,
    });
    let shards = foot.shards.len();
    let mut warnings = Vec::new();
    if let Some(limit) = limit {
        // A larger sample gets its own shard.
        let large = foot.shards.iter().filter(|shard| shard.bytes > limit).count() as u64;
        if large > 0 {
            warnings.push(message!("{} larger than {shard_size}, and {} its own shard", units::counted(large, "sample is", "samples are"), if large == 1 { "has" } else { "each has" }; shard_size = Name::ShardSize.is(Size::new(limit).to_string())));
        }
    }
    let bytes: u64 = foot.shards.iter().map(|shard| shard.bytes).sum();
    let mean = bytes / shards.max(1) as u64;
    if shards >= MANY && mean < SMALL {
        warnings.push(message!("{} of {} each: readers lose time with each shard that they open; make larger ones \
                 ({shard_size}, 256MiB by default; {shard_samples}; {shards})", units::counted(shards as u64, "shard", "shards"), units::bytes(mean); shard_size = Name::ShardSize, shard_samples = Name::ShardSamples, shards = Name::Shards));
    }
    warnings
}
