//! Finds samples whose first picture has the length and checksum of an earlier one, from the sidecars alone.
//!
//! A sample without picture is compared by its first part. Samples are divided by hash into passes, so memory is
//! bounded: 16 bytes for each of at most 16 million samples at once.

use tarflume_base::{Failure, Stop};
use tarflume_formats::index::{Part, Sample};
use tarflume_shards::listing::Listing;

use super::finding::Count;
use super::picture_kind::{is_mask, is_picture};

/// Samples that are held at once.
const HELD: u64 = 16 << 20;
/// Shorter parts are not compared: equal ones are usual among them.
const LEAST: u64 = 64;

/// Counts the duplicates, and keeps `most` ordinals; `None` if a shard has no checksums.
///
/// # Errors
/// Returns the errors of sidecars, and an error after an interruption.
pub(crate) fn duplicates(
    listing: &Listing,
    most: usize,
    stop: &Stop,
) -> Result<Option<Count>, Failure> {
    if !listing.shards.iter().all(|shard| shard.index.has_checksums()) {
        return Ok(None);
    }
    let passes = listing.samples().div_ceil(HELD).max(1);
    let mut found = Count::default();
    for pass in 0..passes {
        let room = listing.samples().div_ceil(passes);
        let mut rows: Vec<(u64, u64)> = Vec::with_capacity((room + room / 64) as usize);
        let mut start = 0;
        for shard in &listing.shards {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            for sample in shard.index.iter() {
                let sample = sample?;
                if let Some(hash) = hash(&sample)?.filter(|hash| hash % passes == pass) {
                    rows.push((hash, start + sample.row));
                }
            }
            start += shard.index.samples();
        }
        rows.sort_unstable();
        for pair in rows.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            found.add(pair[1].1, most);
        }
    }
    Ok(Some(found))
}

/// Hashes length and checksum of the part that is compared.
fn hash(sample: &Sample<'_>) -> Result<Option<u64>, Failure> {
    let mut first: Option<Part<'_>> = None;
    for part in sample.parts() {
        let part = part?;
        if is_picture(part.ext) && !is_mask(part.ext) {
            first = Some(part);
            break;
        }
        first.get_or_insert(part);
    }
    let Some(part) = first.filter(|part| part.length >= LEAST) else { return Ok(None) };
    // A mix of both: the passes divide by its remainder.
    let mixed = part.checksum.map(|sum| u64::from(sum) << 32 ^ part.length);
    Ok(mixed.map(|mixed| mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)))
}
