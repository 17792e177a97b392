//! `AnnotationColumn`: one column of [`Annotations`](super::Annotations).

use std::sync::Arc;

use tarflume_image::{StoredPicture, StoredRegion};
use tarflume_types::{Error, Result, Row, RowShape};

use super::fields::FieldKind;
use super::group::{Group, JSON, PICTURE};
use super::kept::Kept;
use super::on_picture::draws_of;
use super::rows::READ;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::pictures::in_buckets::{BucketDecoder, InBuckets};
use crate::decode::values::on_picture::OnPicture;
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{Decode, DecodeHooks, ForResident, ObjectRows, Sample, Scratch};

/// Lists of so many bytes for each byte of a short JSON part are read without a reservation.
const SHORT: u64 = 64 << 10;

/// One column of [`Annotations`](crate::Annotations). The first column of a sample reads it for all.
///
/// ```
/// use tarflume::{Annotations, BoxFormat, Boxes, Decode, DType, Image, RandomResizedCrop, RowShape};
///
/// let image = Image::new("jpg", RandomResizedCrop::new(64));
/// let columns = Annotations::of(&image).boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh)).columns();
/// assert_eq!((columns[0].name(), columns[0].shape()), ("boxes", RowShape::Variable(DType::F32)));
/// ```
#[derive(Debug, Clone)]
pub struct AnnotationColumn {
    group: Arc<Group>,
    at: usize,
}

impl AnnotationColumn {
    pub(super) fn new(group: Arc<Group>, at: usize) -> AnnotationColumn {
        AnnotationColumn { group, at }
    }

    /// The name of the column.
    pub fn name(&self) -> &str {
        &self.group.columns[self.at].name
    }

    fn kind(&self) -> &FieldKind {
        &self.group.columns[self.at].kind
    }

    fn run(
        &self,
        sample: &Sample<'_>,
        row: Row<'_>,
        scratch: &mut Scratch,
        kept: &mut Kept,
    ) -> Result<()> {
        let length = sample.part(JSON).len() as u64;
        let reading = self.group.memory_of_lists(length);
        scratch.reserve(if reading > READ * SHORT { reading } else { 0 })?;
        let owner = self.group.owner(sample);
        if !kept.claim(owner, self.at) {
            self.group.make(sample, kept)?;
            kept.belongs_to(owner, self.at);
        }
        if let FieldKind::Masks(_) = self.kind() {
            scratch.reserve_instead(self.group.memory_of_masks(self.at, kept))?;
        }
        self.group.write(self.at, kept, row)
    }
}

impl Decode for AnnotationColumn {
    fn parts(&self) -> Vec<String> {
        self.group.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(self.kind().dtype())
    }

    fn validate(&self) -> Result<()> {
        self.group.check(self.at)
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        self.group.room(self.kind(), lengths, None)
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = scratch.take::<Kept>();
        let result = self.run(sample, row, scratch, &mut kept);
        kept.drop_large();
        scratch.put(kept);
        result
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for AnnotationColumn {
    fn lacks_bucket(&self) -> bool {
        self.group.image.lacks_bucket()
    }

    fn in_buckets(&self, of: &PictureBuckets) -> Option<Arc<dyn Decode>> {
        let is_sized = self.group.image.lacks_bucket();
        is_sized.then(|| {
            let groups = self.group.in_buckets(of);
            Arc::new(InBuckets::new(of, |number, _| {
                let column = AnnotationColumn { group: groups[number].clone(), at: self.at };
                BucketDecoder::new(column, None)
            })) as Arc<dyn Decode>
        })
    }

    fn wants_pixels(&self) -> bool {
        matches!(self.kind(), FieldKind::Masks(_)) && self.group.image.result_size().is_none()
    }

    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        let pixels = pixels.get(PICTURE).copied().flatten();
        Some(self.group.room(self.kind(), lengths, pixels))
    }

    fn objects(&self) -> Option<ObjectRows> {
        Some(match self.kind() {
            FieldKind::Boxes(of) => ObjectRows::Numbers(vec![of.out.count()]),
            FieldKind::Values(_) => ObjectRows::Numbers(Vec::new()),
            FieldKind::Points(of) => ObjectRows::Numbers(vec![of.form.count, 3]),
            FieldKind::Masks(_) => ObjectRows::Masks,
        })
    }

    fn on_picture(&self) -> Option<OnPicture> {
        let picture = draws_of(&self.group.image);
        let group = Arc::as_ptr(&self.group).addr();
        Some(OnPicture { picture, group, rows: self.kind().rows() })
    }

    fn takes_excerpts(&self) -> bool {
        true
    }

    fn picture_part(&self) -> Option<usize> {
        Some(PICTURE)
    }

    /// No more than the column of the picture needs.
    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        self.group.image.region(picture)
    }

    fn for_resident(&self, _: PictureStorage) -> Result<Option<ForResident>> {
        Err(Error::usage(
            "the device draws the crops of a resident data set, and annotations do not get these draws: use a loader \
             without Resident (`Residency`)",
        ))
    }
}
