//! Taking batches from a loader until enough was measured. Nothing is done with them here.

use std::time::{Duration, Instant};

use tarflume::{Batch, Dataset, Image, Loader, LoaderBuilder, RandomResizedCrop, Result};

use super::images::Images;
use super::options::{Options, Until};
use super::report::{Account, Rate};

/// An epoch so long that no measurement reaches its end: small data sets are gone through again and
/// again without the pipeline running empty in between, and a batch may be larger than they are.
const ENDLESS: u64 = 1 << 50;

/// A loader of `dataset` as it was asked for, without columns.
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

/// With pictures as a training on ImageNet has them: a random part, resized
/// to 224 x 224, flipped every other time. Samples without a picture are left out if there are any;
/// gives their number.
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

/// Takes batches until enough is measured, at least `least` of them; `each` gets every batch with the
/// time that was waited for it. Gives the number of samples.
///
/// # Errors
/// What the loader says of a shard or a sample.
pub(super) fn take(
    loader: &Loader,
    until: Until,
    least: u64,
    mut each: impl FnMut(Batch, Duration),
) -> Result<u64> {
    let begun = Instant::now();
    let (mut samples, mut batches) = (0, 0);
    let mut epoch = loader.epoch(0);
    loop {
        let asked = Instant::now();
        let Some(batch) = epoch.next() else { return Ok(samples) };
        let batch = batch?;
        samples += batch.len() as u64;
        batches += 1;
        each(batch, asked.elapsed());
        if batches >= least && until.is_reached(begun.elapsed(), samples) {
            return Ok(samples);
        }
    }
}

/// Takes batches as fast as they come. The clock started when the data set was `opened`. Rows are
/// parts as they were stored, or `decoded`.
///
/// # Errors
/// As [`take`].
pub(super) fn measure(
    loader: &Loader,
    until: Until,
    opened: Instant,
    decoded: bool,
) -> Result<Rate> {
    let (mut first, mut last, mut bytes) = (None, opened, 0);
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
