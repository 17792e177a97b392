//! `pack bench`: measures how fast this machine reads and decodes a data set, and what limits it.
//!
//! Measures through the reader crate as a training program would; prints nothing. Floors: `options
//! report images` (data) < `measurement` < `accelerator` < this file <
//! `recommendation`.

pub(crate) mod accelerator;
mod images;
mod measurement;
pub(crate) mod options;
pub(crate) mod recommendation;
pub(crate) mod report;

use std::time::Instant;

use tarflume::Dataset;
use tarflume_base::{Failure, FailureKind, units};
use tarflume_formats::files;
use tarflume_formats::url::without_secrets;

use self::options::Options;
use self::report::Report;

/// Opens the data set again: its time counts toward the first batch.
fn open(options: &Options) -> Result<Dataset, Failure> {
    #[cfg(feature = "remote")]
    if let Some(url) = tarflume_formats::url::url_of(&options.path) {
        let mut storage = tarflume::Storage::new();
        for (name, value) in &options.storage {
            storage = storage.option(name, value).map_err(Failure::from)?;
        }
        return Ok(Dataset::open_with(url, &storage)?);
    }
    Dataset::open(&options.path).map_err(|error| match files::exists(&options.path) {
        Ok(false) => Failure::from(error).with_kind(FailureKind::Usage),
        _ => Failure::from(error),
    })
}

/// Measures the parts in turn: raw, decoded, accelerator.
///
/// # Errors
/// Returns an error if the loader refuses the options (nothing was read then), or if shards or
/// samples are damaged.
pub(crate) fn bench(options: &Options) -> Result<Report, Failure> {
    let opened = Instant::now();
    let dataset = open(options)?;
    let loader = measurement::builder(dataset.clone(), options).build()?;
    let raw = measurement::measure(&loader, options.until, opened, false)?;
    let samples = dataset.len();
    let parts = dataset.extensions()?;
    let images = if options.raw { None } else { images::of(&parts, samples) };
    let mut report = Report {
        path: without_secrets(&options.path.to_string_lossy()).into_owned(),
        samples,
        shards: dataset.shards().len() as u64,
        parts,
        threads: loader.stats().threads as u64,
        notes: notes(options, samples, images.is_some()),
        raw,
        decoded: None,
        accelerator: None,
    };
    drop(loader); // its slabs would take memory beside those of the next loader
    if let Some(images) = &images {
        let opened = Instant::now();
        let builder = measurement::builder(open(options)?, options);
        let (builder, lacking) = measurement::decoded(builder, images);
        report.decoded =
            Some(measurement::measure(&builder.build()?, options.until, opened, true)?);
        if lacking > 0 {
            let lacking = units::counted(lacking, "sample has", "samples have");
            report.notes.push(format!("{lacking} no image and cannot be decoded"));
        }
    }
    if let Some(step) = options.step {
        let mut builder = measurement::builder(dataset, options);
        if let Some(images) = &images {
            builder = measurement::decoded(builder, images).0;
        }
        report.accelerator = Some(accelerator::play(&builder.build()?, step, options.until)?);
    }
    Ok(report)
}

/// Returns notes that a reader of the numbers needs.
fn notes(options: &Options, samples: u64, images: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if samples < options.batch {
        notes.push(format!(
            "the data set has {}, less than a batch of {}: batches repeat its samples",
            units::counted(samples, "sample", "samples"),
            units::count(options.batch)
        ));
    }
    if !images && !options.raw {
        notes.push("no part is an image: nothing is decoded".into());
    }
    notes
}
