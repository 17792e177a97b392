//! `ImageSizes`: the output sizes of a column of pictures. Reads headers only.

use tarflume_image::{ImageSize, Layout, Placement};
use tarflume_types::{DType, Result, Row, RowShape};

use super::settings::Image;
use crate::decode::{Decode, Sample, Scratch};

/// A column of the sizes of an [`Image`] column's pictures; see [`Image::sizes`].
///
/// ```
/// use tarflume::{Image, Loader, Resize};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let image = Image::new("jpg", Resize::shorter(64));
/// let loader = Loader::builder(shards).column("size", image.sizes()).column("image", image).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let size = batch.column("size")?.elements::<u32>()?; // height and width
/// assert_eq!(size.iter().min(), Some(&64));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ImageSizes(pub(super) Image);

impl Decode for ImageSizes {
    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U32, vec![2])
    }

    fn validate(&self) -> Result<()> {
        self.0.validate()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let size = self.0.row_size(sample)?;
        row.put(bytemuck::bytes_of(&[size.height, size.width]))
    }
}

impl Image {
    /// As [`Image::sizes`], for one sample.
    pub(in crate::decode::pictures) fn size_of_row(
        &self,
        sample: &Sample<'_>,
    ) -> Result<ImageSize> {
        self.row_size(sample)
    }

    /// The channels of a row.
    pub(in crate::decode::pictures) fn channels_of_row(&self) -> usize {
        self.channels.count()
    }

    /// The order of a row's elements.
    pub(in crate::decode::pictures) fn layout_of_row(&self) -> Layout {
        self.layout
    }

    /// The size of the picture in the row of a sample. Reads the header.
    pub(super) fn row_size(&self, sample: &Sample<'_>) -> Result<ImageSize> {
        let source = self.header(sample)?;
        let (_, upright, Placement { size, .. }) =
            self.placed(sample.seed, source.size(), source.turn())?;
        self.changed_size(sample.seed, upright, size)
    }
}
