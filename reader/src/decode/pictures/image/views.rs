//! `Views`: several pictures of each sample from one decoding, as one column for each group of views.
//!
//! Names groups and their columns; `groups` decodes.

mod buffers;
pub(crate) mod column;
mod groups;
mod rules;

use std::sync::Arc;

use super::settings::Image;
use crate::decode::Decode;

use self::column::ViewsColumn;
use self::groups::{ViewGroup, ViewGroups, stream_of};

/// Several pictures of each sample from one decoding: for self-supervised training with two views of a picture, or with
/// large and small crops.
///
/// Each group is a column with rows of shape `[views, height, width, channels]`, or `[views, channels, height, width]`.
/// A view draws for itself: its random numbers depend on the sample, the name of its group and its number in the group,
/// so another group or another view changes no draw of the others. [`Views::stream`] is the stream of a view.
///
/// A picture is decoded once: as much of it as all views together need, at the largest scale that one of them needs. The
/// [`Image`] of each group has the settings of its rows; what concerns the decoded picture must be the same in all groups:
/// the part, the channels, the orientation, the limit of pixels, and what is done about damage. All groups have a fallback or
/// none has; that of the first group decodes. A view must have one size for every picture. With a [`reducing_gap`](Image::reducing_gap), a view whose group would be decoded at a
/// smaller scale alone is resized from more pixels here. Devices convert, crop and decode no views.
///
/// ```
/// use tarflume::transforms::Recipe;
/// use tarflume::transforms::operations::{crop::RandomResizedCrop, turn::RandomHorizontalFlip};
/// use tarflume::{Image, Loader, Views};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// fn crop(side: u32, scale: [f64; 2]) -> Image {
///     let crop = RandomResizedCrop { scale, ..RandomResizedCrop::new([side, side]) };
///     Image::new("jpg", Recipe::new([crop.into(), RandomHorizontalFlip { p: 0.5 }.into()]))
/// }
///
/// let views = Views::new()
///     .group("global", 2, crop(64, [0.32, 1.0]))
///     .group("local", 8, crop(32, [0.05, 0.32]));
/// let loader = Loader::builder(shards).views(&views).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.column("global")?.shape(), [4, 2, 64, 64, 3]);
/// assert_eq!(batch.column("local")?.shape(), [4, 8, 32, 32, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Views {
    groups: Vec<ViewGroup>,
}

impl Views {
    /// No group yet.
    pub fn new() -> Views {
        Views::default()
    }

    /// Adds a group, which is a column of the same name: `views` pictures of each sample, each as `image` makes it.
    pub fn group(mut self, name: &str, views: usize, image: Image) -> Views {
        self.groups.push(ViewGroup::new(name, views, &image));
        self
    }

    /// As [`Views::group`], with a decoder of any type; `None` if it is no [`Image`].
    #[doc(hidden)]
    pub fn group_of(self, name: &str, views: usize, decode: &dyn Decode) -> Option<Views> {
        let image = decode.hooks()?.as_image()?.downcast_ref::<Image>()?;
        Some(self.group(name, views, image.clone()))
    }

    /// Adds a group of the crops of one picture: the recipe of `image` ends with
    /// [`FiveCrop`](crate::transforms::operations::crops::FiveCrop) or
    /// [`TenCrop`](crate::transforms::operations::crops::TenCrop), and rows have 5 or 10 pictures. All have the same draws. The
    /// operations before it run once for each crop.
    ///
    /// ```
    /// use tarflume::transforms::operations::crops::FiveCrop;
    /// use tarflume::transforms::Recipe;
    /// use tarflume::{Decode, DType, Image, RowShape, Views};
    ///
    /// let crops = Image::new("jpg", Recipe::new([FiveCrop::new([64, 64]).into()]));
    /// let columns = Views::new().crops("crops", crops).columns();
    /// assert_eq!(columns[0].shape(), RowShape::Fixed(DType::U8, vec![5, 64, 64, 3]));
    /// ```
    pub fn crops(mut self, name: &str, image: Image) -> Views {
        self.groups.push(ViewGroup::of_crops(name, &image));
        self
    }

    /// The columns, in the order of the groups. Those of one call share their decoding; give each of them to the loader,
    /// because a column that is left out is made, too.
    pub fn columns(&self) -> Vec<ViewsColumn> {
        let groups = Arc::new(ViewGroups { groups: self.groups.clone() });
        (0..self.groups.len()).map(|at| ViewsColumn::new(groups.clone(), at)).collect()
    }

    /// The stream of random numbers of the view with the number `view`, counted from 0, in a group of [`Views::group`]. An [`Image`] column with this
    /// [`stream`](Image::stream) gets the same crop: for a mask of a view.
    pub fn stream(group: &str, view: usize) -> u64 {
        stream_of(group, view)
    }
}

#[cfg(test)]
mod tests;
