//! What an epoch of packed samples becomes: packs, steps, and the share that is filled.

use tarflume::{Dataset, Packing, TooLong};
use tarflume_base::Failure;

use super::loading::loader;
use super::options::{Job, PackOptions};
use super::report::Packs;

/// Packs the first epoch of a job whose batches are of packs.
///
/// # Errors
/// The loader refuses the options, or the lengths cannot be read.
pub(super) fn packs(dataset: &Dataset, job: &Job, options: &PackOptions) -> Result<Packs, Failure> {
    let mut packing = Packing::new(options.lengths.as_str(), options.max_tokens)
        .window(options.window)
        .too_long(TooLong::Skip);
    if let Some(samples) = options.max_samples {
        packing = packing.max_samples(samples);
    }
    let loader = loader(dataset, job)?.packs(packing).build()?;
    let totals = loader.pack_totals(0)?.ok_or_else(no_packs)?;
    let too_long = loader.stats().packs.ok_or_else(no_packs)?.too_long;
    Ok(Packs {
        max_tokens: totals.capacity,
        packs: totals.packs,
        samples: totals.samples,
        tokens: totals.tokens,
        filled: totals.filled(),
        too_long,
        steps: loader.steps_of(0)?,
    })
}

fn no_packs() -> Failure {
    Failure::usage("the loader has no packs")
}
