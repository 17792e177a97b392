//! `PictureBuckets`: the sizes of the pictures of a loader with buckets.

use std::any::Any;
use std::sync::{Arc, Mutex};

use tarflume_formats::message::{Call, Name, Phrase, Task};
use tarflume_formats::{IgnorePoison, message};
use tarflume_image::ImageSize;
use tarflume_order::Buckets;
use tarflume_transforms::placing::AspectBuckets;
use tarflume_types::{Error, ErrorKind, Result};

/// The sizes of the pictures of a loader with buckets.
#[derive(Debug, Clone)]
pub struct PictureBuckets {
    /// The bucket of each sample.
    pub buckets: Buckets,
    /// The size of the pictures of each bucket.
    pub sizes: Arc<[ImageSize]>,
    /// By which buckets were chosen from the sizes in sidecars. A picture that is turned otherwise is then an error.
    pub aspect: Option<Arc<AspectBuckets>>,
    shared: Shared,
}

/// What columns that belong together have in each bucket, by the address of what they share.
type Shared = Arc<Mutex<Vec<(usize, Arc<dyn Any + Send + Sync>)>>>;

impl PictureBuckets {
    /// `sizes` has the size of the pictures of each bucket.
    pub fn new(
        buckets: Buckets,
        sizes: Arc<[ImageSize]>,
        aspect: Option<Arc<AspectBuckets>>,
    ) -> PictureBuckets {
        PictureBuckets { buckets, sizes, aspect, shared: Shared::default() }
    }

    /// The bucket of this number, as a picture in it checks it.
    pub(crate) fn chosen(&self, number: usize) -> Option<ChosenBucket> {
        self.aspect.clone().map(|among| ChosenBucket { number, among })
    }

    /// What `make` made for this address before, or makes now, for each bucket by its number and size.
    pub(crate) fn shared<T: Any + Send + Sync>(
        &self,
        address: usize,
        make: impl Fn(usize, ImageSize) -> T,
    ) -> Arc<Vec<T>> {
        let mut shared = self.shared.lock().ignore_poison();
        let known = shared.iter().find(|(known, _)| *known == address);
        if let Some(known) = known.and_then(|(_, made)| made.clone().downcast().ok()) {
            return known;
        }
        let sizes = self.sizes.iter().enumerate();
        let made: Arc<Vec<T>> = Arc::new(sizes.map(|(number, &size)| make(number, size)).collect());
        shared.push((address, made.clone()));
        made
    }
}

/// The bucket that a picture was put into by its size in the sidecar.
#[derive(Debug, Clone)]
pub(crate) struct ChosenBucket {
    pub(crate) number: usize,
    pub(crate) among: Arc<AspectBuckets>,
}

impl ChosenBucket {
    /// Checks that an upright picture of this size belongs into the bucket.
    ///
    /// # Errors
    /// Returns an error if its EXIF orientation turns it into another shape than the sidecar states.
    pub(crate) fn check(&self, upright: ImageSize) -> Result<()> {
        let number = self.among.bucket(upright);
        if number == self.number {
            return Ok(());
        }
        let sizes = self.among.sizes();
        let belongs = sizes[number];
        let chosen = sizes[self.number];
        let text = message!(
            "the upright picture is {upright} pixels and belongs into the bucket {belongs}; its sidecar does not state \
             how it is turned, so it is in the bucket {chosen}: turn pictures while they are packed ({pack}), or ignore \
             orientations: {ignore}";
            pack = Call::of(Task::Build).on_stand("SRC").out_stand("DIR").with(Name::Orient.on()),
            ignore = Phrase::IgnoreOrientation
        );
        Err(Error::new(ErrorKind::Decode, text))
    }
}
