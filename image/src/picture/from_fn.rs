//! `transform_fn`: a closure as a transform.

use std::fmt;

use tarflume_types::Result;

use crate::picture::geometry::{Extent, ImageSize, Placement, Transform};
use crate::picture::random::Random;

/// A transform that is a closure; made by [`transform_fn`].
#[derive(Clone)]
pub struct TransformFn<F> {
    extent: Extent,
    place: F,
}

/// A transform with outputs of this extent: `place` is [`Transform::place`].
///
/// ```
/// use tarflume::{Cut, Extent, Image, ImageSize, Loader, Placement, transform_fn};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let size = ImageSize::from(32);
/// let corner = transform_fn(Extent::Fixed(size), move |_, _| {
///     Ok(Placement::of(Cut { left: 0, top: 0, size }, size)) // the upper left corner
/// });
/// let loader = Loader::builder(shards).image("jpg", corner).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.column("image")?.shape(), [4, 32, 32, 3]);
/// # Ok(())
/// # }
/// ```
pub fn transform_fn<F>(extent: Extent, place: F) -> TransformFn<F>
where
    F: Fn(ImageSize, &mut Random) -> Result<Placement> + Send + Sync + 'static,
{
    TransformFn { extent, place }
}

impl<F> Transform for TransformFn<F>
where
    F: Fn(ImageSize, &mut Random) -> Result<Placement> + Send + Sync + 'static,
{
    fn extent(&self) -> Extent {
        self.extent
    }

    fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement> {
        (self.place)(source, random)
    }
}

impl<F> fmt::Debug for TransformFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformFn").field("extent", &self.extent).finish_non_exhaustive()
    }
}
