//! `ViewsColumn`: the column of one group of views.

use std::mem;
use std::sync::Arc;

use tarflume_image::{StoredPicture, StoredRegion, Turn};
use tarflume_types::{Error, Result, Row, RowShape};

use super::super::opening::of_excerpt;
use super::buffers::ViewBuffers;
use super::groups::ViewGroups;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::jpeg::View;
use crate::decode::pictures::picture_decoder::GROUP;
use crate::decode::{Decode, DecodeHooks, ForResident, Sample, Scratch};

/// The column of one group of [`Views`](crate::Views): rows of shape `[views, height, width, channels]`, or
/// `[views, channels, height, width]`.
///
/// The first column of a sample decodes it and makes the rows of all groups; the others take theirs.
///
/// ```
/// use tarflume::{Decode, DType, Image, RandomResizedCrop, RowShape, Views};
///
/// let views = Views::new().group("pair", 2, Image::new("jpg", RandomResizedCrop::new(64)));
/// let columns = views.columns();
/// assert_eq!(columns[0].name(), "pair");
/// assert_eq!(columns[0].shape(), RowShape::Fixed(DType::U8, vec![2, 64, 64, 3]));
/// ```
#[derive(Debug, Clone)]
pub struct ViewsColumn {
    groups: Arc<ViewGroups>,
    /// The number of the group.
    at: usize,
}

impl ViewsColumn {
    pub(super) fn new(groups: Arc<ViewGroups>, at: usize) -> ViewsColumn {
        ViewsColumn { groups, at }
    }

    /// The name of the group.
    pub fn name(&self) -> &str {
        &self.groups.groups[self.at].name
    }

    fn run(
        &self,
        sample: &Sample<'_>,
        mut row: Row<'_>,
        scratch: &mut Scratch,
        kept: &mut ViewBuffers,
    ) -> Result<()> {
        let owner = self.groups.owner(sample);
        if let Some(written) = kept.rows.take(owner, self.at) {
            let written = written?;
            // The first column's reservation has ended, and the rows are still there.
            scratch.reserve(written.len() as u64)?;
            return row.put(written);
        }
        if let Some(source) = kept.rows.take_source(owner, self.at) {
            return self.groups.write_next(source, self.at, row.bytes(), scratch, kept);
        }
        self.groups.decode(sample, self.at, row.bytes(), scratch, kept)
    }
}

impl Decode for ViewsColumn {
    fn parts(&self) -> Vec<String> {
        self.groups.groups[self.at].image().parts()
    }

    fn shape(&self) -> RowShape {
        let group = &self.groups.groups[self.at];
        match group.image().shape() {
            RowShape::Fixed(dtype, view) => {
                let mut shape = vec![group.views.len()];
                shape.extend(view);
                RowShape::Fixed(dtype, shape)
            }
            variable => variable, // `validate` refuses it
        }
    }

    fn validate(&self) -> Result<()> {
        self.groups.check(self.at)
    }

    fn group(&self) -> usize {
        // The first column decodes ahead for all.
        if self.at == 0 { GROUP } else { 1 }
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let mut kept = scratch.take::<ViewBuffers>();
        kept.rows.forget_source();
        self.groups.decode_ahead(samples, scratch, &mut kept.decoder);
        scratch.blocks += mem::take(&mut kept.decoder.blocks);
        scratch.put(kept);
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = scratch.take::<ViewBuffers>();
        let result = self.run(sample, row, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.decoder.blocks);
        scratch.calls += mem::take(&mut kept.decoder.calls);
        if let Some(times) = kept.rows.times(self.at) {
            scratch.operations.add(times);
        }
        kept.drop_large();
        scratch.put(kept);
        of_excerpt(result, sample)
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for ViewsColumn {
    fn takes_excerpts(&self) -> bool {
        true
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        let StoredPicture { size, orientation, seed, .. } = *picture;
        let turn = orientation.map(Turn::of_exif).unwrap_or_default();
        let View { scale, region } = self.groups.jpeg_view(seed, size, turn).ok()?;
        Some(StoredRegion { region, scale })
    }

    fn operations(&self) -> Vec<String> {
        let recipe = self.groups.groups[self.at].image().recipe.as_ref();
        recipe.map_or_else(Vec::new, |recipe| recipe.labels())
    }

    fn for_resident(&self, _: PictureStorage) -> Result<Option<ForResident>> {
        Err(Error::usage(
            "pictures stored on a device are cropped there once for each sample and epoch, so views cannot be made of them: \
             use a loader without Resident (`Residency`)",
        ))
    }
}
