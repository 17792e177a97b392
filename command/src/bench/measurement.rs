//! Takes batches from a loader until enough was measured; does nothing with them.

use std::time::{Duration, Instant};

use tarflume::{Batch, Dataset, Image, Loader, LoaderBuilder, RandomResizedCrop, Result};

use super::images::Images;
use super::options::{Options, Until};
use super::report::{Account, Rate};

/// An epoch that no measurement finishes: small data sets repeat without an empty pipeline in
/// between, and a batch may be larger than the data set.
const ENDLESS: u64 = 1 << 50;

/// Returns a loader of `dataset` with these options, without columns.
pub(super) fn builder(dataset: Dataset, options: &Options) -> LoaderBuilder {
    let builder = Loader::from_dataset(dataset)
        .shuffle(options.shuffle)
        .batch(options.batch)
        .prefetch(options.prefetch)
        .source(options.source)
        .verify(options.verify)
        .epoch_length(ENDLESS);
    let builder = match options.memory {
        Some(bytes) => builder.memory_limit(bytes.into()),
        None => builder,
    };
    match options.threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    }
}

/// Adds a column of pictures as in training on ImageNet: a random crop, resized to 224 x 224,
/// flipped with probability one half. Samples without a picture are left out; returns their number.
pub(super) fn decoded(builder: LoaderBuilder, images: &Images) -> (LoaderBuilder, u64) {
    let exts = &images.exts;
    let crop = RandomResizedCrop::new(224).flip(0.5);
    let builder = builder.column("image", Image::new(exts.join(";"), crop));
    if images.everywhere {
        return (builder, 0);
    }
    let mut lacking = 0;
    let builder = builder.filter(|facts| {
        let has = exts.iter().any(|ext| facts.length(ext).is_some());
        lacking += u64::from(!has);
        has
    });
    (builder, lacking)
}

/// Takes batches until enough is measured, at least `least` of them; calls `each` for every batch
/// with the time waited for it. Returns the number of samples.
///
/// # Errors
/// Returns the errors of the loader.
pub(super) fn take(
    loader: &Loader,
    until: Until,
    least: u64,
    mut each: impl FnMut(Batch, Duration),
) -> Result<u64> {
    let begun = Instant::now();
    let mut samples = 0;
    let mut batches = 0;
    let mut epoch = loader.epoch(0);
    loop {
        let requested = Instant::now();
        let Some(batch) = epoch.next() else { return Ok(samples) };
        let batch = batch?;
        samples += batch.len() as u64;
        batches += 1;
        each(batch, requested.elapsed());
        if batches >= least && until.is_reached(begun.elapsed(), samples) {
            return Ok(samples);
        }
    }
}

/// Takes batches as fast as they come. The clock started when the data set was `opened`. Rows are
/// parts as stored, or `decoded`.
///
/// # Errors
/// Returns the errors of [`take`].
pub(super) fn measure(
    loader: &Loader,
    until: Until,
    opened: Instant,
    decoded: bool,
) -> Result<Rate> {
    let mut first = None;
    let mut last = opened;
    let mut bytes = 0;
    let samples = take(loader, until, 1, |batch, _| {
        last = Instant::now();
        bytes += batch.columns().map(|column| column.bytes().len() as u64).sum::<u64>();
        first.get_or_insert(last - opened);
    })?;
    let stats = loader.stats();
    let seconds = (last - opened).as_secs_f64().max(1e-9);
    Ok(Rate {
        samples,
        passes: samples as f64 / loader.order().samples().max(1) as f64,
        seconds,
        samples_per_s: samples as f64 / seconds,
        mb_per_s: (!decoded).then_some(bytes as f64 / seconds / 1e6),
        first_batch_ms: first.unwrap_or_default().as_secs_f64() * 1e3,
        account: Account::of(&stats),
    })
}
