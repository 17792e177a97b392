//! The bytes of a sample that are held at once, if its source is compressed: few bytes can become any number.

use tarflume_base::{ProblemKind, units};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::plan::{Location, PlannedPart, PlannedSample};
use tarflume_formats::{ShardWriter, TarReader};

use super::part::Parts;
use super::refused::Refused;
use crate::run::samples::sample_part::SamplePart;

/// Refuses part `n` of a sample that would be held with the parts before it, and is too much.
///
/// # Errors
/// Returns the problem.
pub(in crate::run) fn check(
    parts: &Parts<'_>,
    sample: &PlannedSample,
    n: usize,
    is_held: impl Fn(&PlannedPart) -> bool,
) -> Result<(), Refused> {
    let part = &sample.parts[n];
    let Some((source, most)) = limit(parts, part).filter(|_| is_held(part)) else { return Ok(()) };
    let held: u64 = sample.parts[..=n]
        .iter()
        .filter(|part| {
            is_held(part)
                && matches!(part.location, Location::Range { source: own, .. } if own == source)
        })
        .map(|part| part.size)
        .sum();
    if held <= most {
        return Ok(());
    }
    let reason = message!("{} of a compressed source are held for this sample, and {} are the limit for a file of its \
             size; decompress the source first, or give {check} for large parts", units::bytes(held), units::bytes(most); check = Name::Check.is("none"));
    Err(parts.problem(SamplePart::new(sample, part), ProblemKind::Unsupported, None, reason))
}

/// Returns the source of a part that is compressed, and the limit of what is held of it.
fn limit(parts: &Parts<'_>, part: &PlannedPart) -> Option<(u32, u64)> {
    let Location::Range { source, .. } = part.location else { return None };
    let most = parts.sources.most_whole(source);
    (most < u64::MAX).then_some((source, most))
}

/// Returns true for a part that is not read piece by piece; `is_whole` states that all of it is needed.
pub(in crate::run) fn is_in_memory(part: &PlannedPart, is_whole: bool) -> bool {
    part.size <= ShardWriter::STREAM_ABOVE || is_whole && part.size <= TarReader::MAX_WHOLE
}
