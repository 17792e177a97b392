//! The keywords of batches whose rows are alike: `bucket=`, `max_pixels=`, `max_tokens=`, `same_bucket=`, and a list as
//! `batch_size=`.

use pyo3::prelude::*;
use tarflume::{AspectBuckets, Bucketing, ImageSize, SameBucket};

use crate::datasets::selecting;
use crate::faults::errors::{OrRaise, usage};
use crate::loading::keywords::loader_keywords::Keywords;

/// What `batch_size=` takes.
const WHOLE: &str = "a whole number, 0 or more";
const WHOLE_OR_LIST: &str = "a whole number, 0 or more, or a list with one for each bucket";

/// How many rows batches have, and which belong together.
pub(crate) struct BatchKeywords {
    /// Rows of a batch without buckets.
    pub(crate) rows: u64,
    pub(crate) bucketing: Option<Bucketing>,
}

impl BatchKeywords {
    pub(crate) fn new(py: Python<'_>, given: &Keywords<'_>) -> PyResult<BatchKeywords> {
        let pixels = given.whole("max_pixels")?;
        let tokens = given.whole("max_tokens")?;
        let same: Option<String> = given.value("same_bucket", "\"rank\" or \"step\"")?;
        let size = given.object("batch_size")?;
        let Some(bucket) = given.object("bucket")? else {
            let alone = [
                ("max_pixels", pixels.is_some()),
                ("max_tokens", tokens.is_some()),
                ("same_bucket", same.is_some()),
            ];
            if let Some((name, _)) = alone.iter().find(|(_, is_given)| *is_given) {
                let text = format!("{name}= needs bucket=: bucket=tarflume.Buckets.aspect()");
                return Err(usage(py, text));
            }
            let rows = size.map(|size| rows(&size, WHOLE)).transpose()?.unwrap_or(1);
            return Ok(BatchKeywords { rows, bucketing: None });
        };
        let mut bucketing = bucketing(&bucket)?;
        let each = size.as_ref().and_then(|size| size.extract::<Vec<u64>>().ok());
        let budgets = [size.is_some(), pixels.is_some(), tokens.is_some()];
        if budgets.iter().filter(|is_given| **is_given).count() > 1 {
            let text =
                "give batch_size=, max_pixels= or max_tokens=: each decides the rows of a batch";
            return Err(usage(py, text));
        }
        if let Some(pixels) = pixels {
            bucketing = bucketing.max_pixels(pixels);
        }
        if let Some(tokens) = tokens {
            bucketing = bucketing.max_tokens(tokens);
        }
        let rows = match (each, size) {
            (Some(each), _) => {
                bucketing = bucketing.rows(each);
                1
            }
            (None, Some(size)) => rows(&size, WHOLE_OR_LIST)?,
            (None, None) => 1,
        };
        if let Some(same) = same {
            let same: SameBucket = same.parse().map_err(tarflume::Error::from).or_raise(py)?;
            bucketing = bucketing.same_bucket(same);
        }
        Ok(BatchKeywords { rows, bucketing: Some(bucketing) })
    }
}

fn rows(size: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let Ok(rows) = size.extract() else {
        let text = format!("batch_size= takes {what}, not {}", size.repr()?);
        return Err(usage(size.py(), text));
    };
    Ok(rows)
}

/// A `tarflume.Buckets`.
fn bucketing(bucket: &Bound<'_, PyAny>) -> PyResult<Bucketing> {
    let py = bucket.py();
    let class = py.import("tarflume.buckets")?.getattr("Buckets")?;
    if !bucket.is_instance(&class)? {
        let text = "bucket= takes tarflume.Buckets.aspect(...), .of_sizes(...), .length(...) or .by(...), not ";
        return Err(usage(py, format!("{text}{}", bucket.repr()?)));
    }
    let kind: String = bucket.getattr("kind")?.extract()?;
    let sizes: Vec<(u32, u32)> = bucket.getattr("sizes")?.extract()?;
    let sizes: Vec<ImageSize> = sizes.into_iter().map(ImageSize::from).collect();
    let numbers = bucket.getattr("numbers")?;
    Ok(match kind.as_str() {
        "aspect" => Bucketing::aspect(AspectBuckets::of(sizes).or_raise(py)?),
        "length" => {
            let bounds: Vec<u64> = bucket.getattr("bounds")?.extract()?;
            Bucketing::length(
                selecting::numbers_of(&numbers, "length", "Buckets.length()")?,
                bounds,
            )
        }
        _ => Bucketing::sized(selecting::numbers_of(&numbers, "bucket", "Buckets.by()")?, sizes),
    })
}

/// The sizes of `Buckets.aspect`, each `(height, width)`.
#[pyfunction]
pub(crate) fn aspect_sizes(
    py: Python<'_>,
    pixels: u64,
    step: u32,
    min_side: Option<u32>,
    max_side: Option<u32>,
) -> PyResult<Vec<(u32, u32)>> {
    let side = u32::try_from(pixels.isqrt()).unwrap_or(u32::MAX);
    let least = min_side.unwrap_or(side / 4);
    let most = max_side.unwrap_or(side.saturating_mul(2));
    let buckets = AspectBuckets::between(pixels, step, least, most).or_raise(py)?;
    Ok(buckets.sizes().iter().map(|size| (size.height, size.width)).collect())
}

/// The number of the size that suits a picture.
#[pyfunction]
pub(crate) fn aspect_bucket(
    py: Python<'_>,
    sizes: Vec<(u32, u32)>,
    height: u32,
    width: u32,
) -> PyResult<usize> {
    let buckets =
        AspectBuckets::of(sizes.into_iter().map(ImageSize::from).collect()).or_raise(py)?;
    Ok(buckets.bucket(ImageSize::new(width, height)))
}
