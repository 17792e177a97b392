//! `InBuckets`: a column of pictures, or of what lies on them, whose size is that of the bucket of each sample.

use std::sync::Arc;

use tarflume_image::{ImageSize, StoredPicture, StoredRegion};
use tarflume_order::Buckets;
use tarflume_types::{Error, ErrorKind, PictureShape, Result, Row, RowShape};

use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::values::on_picture::OnPicture;
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{Decode, DecodeHooks, ForResident, ObjectRows, Sample, Scratch};

/// The decoder of a column for one bucket.
pub(crate) struct BucketDecoder {
    decode: Arc<dyn Decode>,
    /// The shape of each row, if rows are pictures.
    picture: Option<PictureShape>,
    /// Bytes of a row, if they are the same for all.
    bytes: Option<usize>,
}

impl BucketDecoder {
    pub(crate) fn new(decode: impl Decode, picture: Option<PictureShape>) -> BucketDecoder {
        BucketDecoder { bytes: decode.shape().bytes(), decode: Arc::new(decode), picture }
    }
}

/// The decoders of a column, one for each bucket. Those of pictures write rows of one shape.
pub(crate) struct InBuckets {
    buckets: Buckets,
    decoders: Vec<BucketDecoder>,
}

impl InBuckets {
    /// `decoder` returns that of a bucket by its number and size.
    pub(crate) fn new(
        of: &PictureBuckets,
        decoder: impl Fn(usize, ImageSize) -> BucketDecoder,
    ) -> InBuckets {
        let sizes = of.sizes.iter().enumerate();
        let decoders = sizes.map(|(number, &size)| decoder(number, size)).collect();
        InBuckets { buckets: of.buckets.clone(), decoders }
    }

    fn of(&self, ordinal: u64) -> &BucketDecoder {
        &self.decoders[self.buckets.bucket(ordinal)]
    }

    /// The first decoder. What does not depend on the size is equal for all.
    fn any(&self) -> &dyn Decode {
        &*self.decoders[0].decode
    }

    /// The most bytes of a row.
    fn most(&self, room: impl Fn(&dyn Decode) -> u64) -> u64 {
        let rooms = self.decoders.iter().map(|of| match of.bytes {
            Some(bytes) => bytes as u64,
            None => room(&*of.decode),
        });
        rooms.max().unwrap_or(0)
    }

    fn hooks_of_any(&self) -> Option<&dyn DecodeHooks> {
        self.any().hooks()
    }
}

impl Decode for InBuckets {
    fn parts(&self) -> Vec<String> {
        self.any().parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(self.any().shape().dtype())
    }

    fn optional(&self) -> bool {
        self.any().optional()
    }

    fn validate(&self) -> Result<()> {
        for BucketDecoder { decode, picture, bytes } in &self.decoders {
            decode.validate()?;
            if picture.is_some() && bytes.is_none() {
                let text = "operations behind BucketCrop give pictures other sizes, and the pictures of a batch have one: \
                            leave out what crops or resizes by chance";
                return Err(Error::usage(text));
            }
        }
        Ok(())
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        self.most(|decoder| decoder.room(lengths))
    }

    fn group(&self) -> usize {
        self.any().group()
    }

    /// Samples of one batch are of one bucket.
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let Some(first) = samples.first() else { return };
        let bucket = self.buckets.bucket(first.ordinal);
        if samples.iter().all(|sample| self.buckets.bucket(sample.ordinal) == bucket) {
            self.decoders[bucket].decode.prepare(samples, scratch);
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let BucketDecoder { decode, picture, bytes } = self.of(sample.ordinal);
        let Some(bytes) = *bytes else { return decode.decode(sample, row, scratch) };
        let room = row.bytes().len();
        let Some(fixed) = row.bytes().get_mut(..bytes) else {
            let text = format!("a picture of {bytes} bytes does not fit a row of {room}");
            return Err(Error::new(ErrorKind::Decode, text));
        };
        decode.decode(sample, Row::fixed(fixed), scratch)?;
        row.set_used(bytes);
        if let Some(picture) = picture {
            row.set_picture(*picture);
        }
        Ok(())
    }

    fn wants_entry_points(&self) -> bool {
        self.any().wants_entry_points()
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for InBuckets {
    fn operations(&self) -> Vec<String> {
        self.hooks_of_any().map_or_else(Vec::new, DecodeHooks::operations)
    }

    fn mask_part(&self) -> Option<usize> {
        self.hooks_of_any()?.mask_part()
    }

    fn lacks_boxes(&self) -> bool {
        self.hooks_of_any().is_some_and(DecodeHooks::lacks_boxes)
    }

    fn objects(&self) -> Option<ObjectRows> {
        self.hooks_of_any()?.objects()
    }

    fn on_picture(&self) -> Option<OnPicture> {
        self.hooks_of_any()?.on_picture()
    }

    fn wants_pixels(&self) -> bool {
        self.any().wants_pixels()
    }

    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        Some(self.most(|decoder| decoder.room_of(lengths, pixels)))
    }

    fn takes_excerpts(&self) -> bool {
        self.hooks_of_any().is_some_and(DecodeHooks::takes_excerpts)
    }

    fn picture_part(&self) -> Option<usize> {
        self.hooks_of_any()?.picture_part()
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        self.of(picture.ordinal).decode.hooks()?.region(picture)
    }

    fn for_resident(&self, _: PictureStorage) -> Result<Option<ForResident>> {
        Err(Error::usage(
            "the rows of a resident data set have one size, and pictures in buckets have several: use a loader without \
             Resident (`Residency`)",
        ))
    }
}
