//! `Bucketing`: into which bucket each sample of a data set belongs, and how many rows a batch of it has.

use std::sync::Arc;

use tarflume_dataset::{Dataset, StoredSize};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_image::ImageSize;
use tarflume_transforms::placing::AspectBuckets;
use tarflume_types::{Error, ErrorKind, Result};

use crate::decode::values::picture_buckets::PictureBuckets;
use crate::loader::config::weights::Numbers;
use crate::order::{Buckets, Order, SameBucket};

/// The batches of a loader whose rows are alike: pictures of one shape, or texts of about one length.
///
/// Each batch has samples of one bucket. Each sample comes once in an epoch, and the order stays a function of data set, seed
/// and epoch: buckets fill along the order, and a batch comes where it is full. Every rank takes the same number of steps, and
/// a state goes on with any number of ranks.
///
/// ```
/// use tarflume::transforms::Recipe;
/// use tarflume::transforms::operations::crop::BucketCrop;
/// use tarflume::{AspectBuckets, Bucketing, Image, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let crop = BucketCrop { size: None, random: false, interpolation: Default::default() };
/// let loader = Loader::builder(shards)
///     .column("image", Image::new("jpg", Recipe::new([crop.into()])))
///     .buckets(Bucketing::aspect(AspectBuckets::new(64 * 64, 16)?).max_pixels(8 * 64 * 64))
///     .build()?;
/// for batch in loader.epoch(0) {
///     let batch = batch?;
///     let image = batch.column("image")?;
///     assert!((0..batch.len()).all(|row| image.picture(row) == image.picture(0)));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Bucketing {
    by: By,
    rows: Rows,
    pub(crate) same: SameBucket,
}

#[derive(Debug, Clone)]
enum By {
    /// The shape of the first picture.
    Aspect(Arc<AspectBuckets>),
    /// Lengths up to each of these.
    Length(Numbers, Vec<u64>),
    /// The number of a bucket, and the sizes of its pictures if columns of pictures take them.
    Number(Numbers, Vec<ImageSize>),
}

#[derive(Debug, Clone)]
enum Rows {
    /// As many as the loader's batches have.
    Batch,
    /// As many as have no more pixels together.
    Pixels(u64),
    /// As many as have no more tokens together, if each is as long as the bucket allows.
    Tokens(u64),
    /// For each bucket.
    Each(Vec<u64>),
}

/// The buckets of a data set.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedBuckets {
    pub(crate) buckets: Buckets,
    /// For columns of pictures, if buckets have sizes.
    pub(crate) pictures: Option<PictureBuckets>,
}

impl Bucketing {
    fn new(by: By) -> Bucketing {
        Bucketing { by, rows: Rows::Batch, same: SameBucket::Rank }
    }

    /// Pictures by their shape, from the sizes and orientations in the sidecars. A column of pictures whose recipe has
    /// [`BucketCrop`](crate::transforms::operations::crop::BucketCrop) has the size of the bucket.
    pub fn aspect(buckets: AspectBuckets) -> Bucketing {
        Bucketing::new(By::Aspect(Arc::new(buckets)))
    }

    /// Samples by a length: a bucket for lengths up to each of `bounds`, which ascend. A longer sample is an error.
    pub fn length(lengths: impl Into<Numbers>, bounds: impl Into<Vec<u64>>) -> Bucketing {
        Bucketing::new(By::Length(lengths.into(), bounds.into()))
    }

    /// Samples by the number of a bucket, from 0.
    pub fn numbered(numbers: impl Into<Numbers>) -> Bucketing {
        Bucketing::new(By::Number(numbers.into(), Vec::new()))
    }

    /// As [`Bucketing::numbered`]: the pictures of bucket n have the size `sizes[n]`.
    pub fn sized(
        numbers: impl Into<Numbers>,
        sizes: impl IntoIterator<Item = ImageSize>,
    ) -> Bucketing {
        Bucketing::new(By::Number(numbers.into(), sizes.into_iter().collect()))
    }

    /// Sets the most pixels of a batch on each rank. Buckets need sizes.
    #[must_use]
    pub fn max_pixels(mut self, pixels: u64) -> Bucketing {
        self.rows = Rows::Pixels(pixels);
        self
    }

    /// Sets the most tokens of a batch on each rank, with padding to the bound of the bucket. Buckets need bounds.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Bucketing {
        self.rows = Rows::Tokens(tokens);
        self
    }

    /// Sets the rows of a batch of each bucket, on each rank.
    #[must_use]
    pub fn rows(mut self, rows: impl Into<Vec<u64>>) -> Bucketing {
        self.rows = Rows::Each(rows.into());
        self
    }

    /// Sets whether the batches of all ranks are of one bucket in each step.
    #[must_use]
    pub fn same_bucket(mut self, same: SameBucket) -> Bucketing {
        self.same = same;
        self
    }

    /// The bucket of each sample of a data set. `batch` has the rows of a batch without a budget; `turned` is true if EXIF
    /// orientations turn the pictures. Samples that `order` does not take are in any bucket.
    ///
    /// # Errors
    /// Bounds or budgets that are impossible, a sample without a size or a number, and those of reading sidecars and parts.
    pub(crate) fn resolve(
        &self,
        dataset: &Dataset,
        order: &Order,
        batch: u64,
        turned: bool,
    ) -> Result<ResolvedBuckets> {
        let samples = Samples { dataset, order };
        let count = self.count(dataset)?;
        let rows = self.rows_of(count, batch)?;
        let numbers = match &self.by {
            By::Aspect(buckets) => by_aspect(samples, buckets, turned)?,
            By::Length(lengths, bounds) => by_length(samples, lengths, bounds)?,
            By::Number(numbers, _) => by_number(samples, numbers, count)?,
        };
        let buckets = Buckets::new(rows, numbers.into_iter().map(usize::from))?;
        let pictures = self.sizes().map(|sizes| {
            let aspect = match &self.by {
                By::Aspect(buckets) => Some(buckets.clone()),
                By::Length(..) | By::Number(..) => None,
            };
            PictureBuckets::new(buckets.clone(), sizes.into(), aspect)
        });
        Ok(ResolvedBuckets { buckets, pictures })
    }

    fn sizes(&self) -> Option<&[ImageSize]> {
        match &self.by {
            By::Aspect(buckets) => Some(buckets.sizes()),
            By::Number(_, sizes) if !sizes.is_empty() => Some(sizes),
            By::Length(..) | By::Number(..) => None,
        }
    }

    /// The number of buckets.
    fn count(&self, dataset: &Dataset) -> Result<usize> {
        match &self.by {
            By::Aspect(buckets) => Ok(buckets.sizes().len()),
            By::Length(_, bounds) => {
                if bounds.is_empty() || !bounds.is_sorted_by(|a, b| a < b) {
                    let text = format!("the bounds of buckets ascend: {bounds:?} do not");
                    return Err(Error::usage(text));
                }
                Ok(bounds.len())
            }
            By::Number(_, sizes) if !sizes.is_empty() => Ok(sizes.len()),
            By::Number(numbers, _) => {
                let most = numbers.of(dataset)?.iter().copied().max().unwrap_or(0);
                match usize::try_from(most).unwrap_or(0) {
                    most if most < MOST => Ok(most + 1),
                    most => Err(Error::usage(format!(
                        "a sample is in bucket {most}; buckets are numbered from 0, and there are {MOST} at most"
                    ))),
                }
            }
        }
    }

    /// The rows of a batch of each of `count` buckets.
    fn rows_of(&self, count: usize, batch: u64) -> Result<Vec<u64>> {
        match &self.rows {
            Rows::Batch => Ok(vec![batch; count]),
            Rows::Each(rows) if rows.len() == count => Ok(rows.clone()),
            Rows::Each(rows) => Err(Error::usage(format!(
                "{} numbers of rows for {count} buckets: give one for each",
                rows.len()
            ))),
            Rows::Pixels(most) => {
                let sizes = self.sizes().ok_or_else(|| {
                    Error::usage("a budget of pixels needs buckets of pictures, which have sizes")
                })?;
                sizes.iter().map(|size| fitting(*most, size.pixels(), &size.to_string())).collect()
            }
            Rows::Tokens(most) => {
                let By::Length(_, bounds) = &self.by else {
                    return Err(Error::usage("a budget of tokens needs buckets by length"));
                };
                let each = bounds
                    .iter()
                    .map(|&bound| fitting(*most, bound.max(1), &format!("{bound} tokens")));
                each.collect()
            }
        }
    }
}

/// The most buckets.
const MOST: usize = 1 << 16;

/// How many rows of `each` a budget of `most` has.
fn fitting(most: u64, each: u64, what: &str) -> Result<u64> {
    match most / each {
        0 => Err(Error::usage(format!(
            "a budget of {most} is less than one row of the bucket of {what}, which takes {each}: raise the \
             budget, or leave the bucket out"
        ))),
        rows => Ok(rows),
    }
}

/// Numbers of buckets, of which there are 65,536 at most.
fn list_of(dataset: &Dataset) -> Result<Vec<u16>> {
    let samples = usize::try_from(dataset.len()).unwrap_or(usize::MAX);
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(samples).map_err(|e| {
        let text = format!("the buckets of {samples} samples do not fit in memory");
        Error::new(ErrorKind::Limit, text).with_source(e)
    })?;
    Ok(numbers)
}

/// The samples that get buckets.
#[derive(Debug, Clone, Copy)]
struct Samples<'a> {
    dataset: &'a Dataset,
    order: &'a Order,
}

impl Samples<'_> {
    /// The bucket of a sample that fits none: any, if the sample does not take part.
    ///
    /// # Errors
    /// Returns an error with the key of the sample if it takes part.
    fn none(&self, ordinal: u64, text: impl Into<Message>) -> Result<u16> {
        if !self.order.takes(ordinal) {
            return Ok(0);
        }
        let key = tarflume_formats::name::shown(&self.dataset.key(ordinal)?);
        Err(Error::new(ErrorKind::Decode, text).with_key(key))
    }
}

fn by_aspect(samples: Samples<'_>, buckets: &AspectBuckets, turned: bool) -> Result<Vec<u16>> {
    let mut numbers = list_of(samples.dataset)?;
    // Photographs have few sizes, and neighbors are alike.
    let mut last: Option<(ImageSize, u16)> = None;
    samples.dataset.picture_sizes(turned, |ordinal, stored| {
        let Some(StoredSize { width, height, orientation }) = stored else {
            let text = message!(
                "its sidecar has no size of a picture, so it is in no bucket: index the shard again (`{index}`), or \
                 leave the sample out";
                index = Call::of(Task::Index).with(Name::Force.on())
            );
            numbers.push(samples.none(ordinal, text)?);
            return Ok(());
        };
        let size = ImageSize::new(width, height);
        let lies = orientation.is_some_and(|turn| turn >= 5);
        let upright = if lies { size.transposed() } else { size };
        let number = match last {
            Some((known, number)) if known == upright => number,
            _ => buckets.bucket(upright) as u16,
        };
        last = Some((upright, number));
        numbers.push(number);
        Ok(())
    })?;
    Ok(numbers)
}

fn by_length(samples: Samples<'_>, lengths: &Numbers, bounds: &[u64]) -> Result<Vec<u16>> {
    let dataset = samples.dataset;
    let mut numbers = list_of(dataset)?;
    let lengths = lengths.of(dataset)?;
    check_count(dataset, lengths.len())?;
    let last = bounds.last().copied().unwrap_or(0);
    for (ordinal, &length) in lengths.iter().enumerate() {
        let fits = u64::try_from(length).ok().filter(|length| *length <= last);
        let Some(length) = fits else {
            let text = format!(
                "its length is {length}, and the buckets take 0 to {last}: give a larger last bound, or leave \
                 the sample out"
            );
            numbers.push(samples.none(ordinal as u64, text)?);
            continue;
        };
        numbers.push(bounds.partition_point(|bound| *bound < length) as u16);
    }
    Ok(numbers)
}

fn by_number(samples: Samples<'_>, numbers: &Numbers, count: usize) -> Result<Vec<u16>> {
    let dataset = samples.dataset;
    let mut buckets = list_of(dataset)?;
    let numbers = numbers.of(dataset)?;
    check_count(dataset, numbers.len())?;
    for (ordinal, &number) in numbers.iter().enumerate() {
        let bucket = usize::try_from(number).ok().filter(|number| *number < count);
        let Some(bucket) = bucket.and_then(|number| u16::try_from(number).ok()) else {
            let text = format!("its bucket is {number}; buckets are 0 to {}", count.min(MOST) - 1);
            buckets.push(samples.none(ordinal as u64, text)?);
            continue;
        };
        buckets.push(bucket);
    }
    Ok(buckets)
}

fn check_count(dataset: &Dataset, count: usize) -> Result<()> {
    let samples = dataset.len();
    if count as u64 == samples {
        return Ok(());
    }
    let text = format!("{count} numbers for a data set of {samples} samples: give one for each");
    Err(Error::usage(text))
}
