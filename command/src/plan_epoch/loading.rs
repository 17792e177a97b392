//! Opens a data set as the loaders of a job do, and forecasts an epoch.

use tarflume::{Dataset, Forecast, ForecastOptions, Loader, LoaderBuilder, Raw, Size, Split};
use tarflume_base::{Failure, FailureKind};
use tarflume_formats::files;
use tarflume_formats::url::url_of;

use super::options::{Job, Options};

/// Opens the data set in a folder or a store.
///
/// # Errors
/// There is none, or it cannot be read.
pub(super) fn open(options: &Options) -> Result<Dataset, Failure> {
    #[cfg(feature = "remote")]
    let opened = {
        let mut pairs = options.storage.iter();
        let storage = pairs.try_fold(tarflume::Storage::new(), |storage, (name, value)| {
            storage.option(name, value)
        })?;
        Dataset::open_with(&options.path, &storage)
    };
    #[cfg(not(feature = "remote"))]
    let opened = Dataset::open(&options.path);
    let is_local = url_of(&options.path).is_none();
    opened.map_err(|error| match files::exists(&options.path) {
        Ok(false) if is_local => Failure::from(error).with_kind(FailureKind::Usage),
        _ => Failure::from(error),
    })
}

/// A forecast of an epoch of all ranks.
///
/// # Errors
/// The loader refuses the options, or a sidecar cannot be opened.
pub(super) fn forecast(dataset: &Dataset, job: &Job, samples: u64) -> Result<Forecast, Failure> {
    let readahead = Size::new(job.readahead);
    let options = ForecastOptions { readahead, samples, ..ForecastOptions::default() };
    Ok(loader(dataset, job)?.build()?.forecast(&options)?)
}

/// The loader of the first rank.
///
/// # Errors
/// The number of ranks is refused.
pub(super) fn loader(dataset: &Dataset, job: &Job) -> Result<LoaderBuilder, Failure> {
    let split = Split::new(0, job.world).map_err(tarflume::Error::from)?;
    let split = if job.by_shard { split.by_shard() } else { split };
    let builder = Loader::from_dataset(dataset.clone())
        .shuffle(job.shuffle)
        .split(split)
        .remainder(job.remainder)
        .batch(job.batch)
        .prefetch(job.prefetch);
    let builder = match job.threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    };
    let columns = job.parts.iter();
    Ok(columns.fold(builder, |builder, part| {
        builder.column(part, Raw::new(part.as_str()).allow_missing())
    }))
}
