//! `Patches`: pictures cut into patches, as the tokens of a model.
//!
//! The pictures are those of an [`Image`] column; here their elements are only put into another order.

mod column;
mod cut;

pub use self::column::PatchColumn;

use crate::decode::Decode;
use crate::decode::pictures::image::Image;

use self::column::PatchView;
use self::cut::Cut;

/// Columns of the patches of pictures of different sizes.
///
/// The transform of `image` gives pictures whose sides are multiples of `patch`, as
/// [`PatchResize`](crate::transforms::operations::resize::PatchResize) does. Patches come row by row. The elements of a patch are
/// `[patch, patch, channels]`, the order of NaFlex (timm, SigLIP 2) and Pix2Struct.
///
/// With [`Patches::padded`] each row has the same number of patches. Without it, rows have as many as their pictures, and follow
/// each other without gaps: the packed form, whose bounds are the offsets of the column.
///
/// ```
/// use tarflume::transforms::Recipe;
/// use tarflume::transforms::operations::resize::PatchResize;
/// use tarflume::{Image, Loader, Patches};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let image = Image::new("jpg", Recipe::new([PatchResize::new(16, 64).into()]));
/// let patches = Patches::new(image, 16).padded(64);
/// let loader = Loader::builder(shards)
///     .column("patches", patches.pixels())
///     .column("patch_coord", patches.coordinates())
///     .column("patch_valid", patches.mask())
///     .batch(4)
///     .build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.column("patches")?.shape(), [4, 64, 16 * 16 * 3]);
/// assert_eq!(batch.column("patch_coord")?.shape(), [4, 64, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Patches {
    image: Image,
    cut: Cut,
    /// Patches of each row; `None` if rows have as many as their pictures.
    tokens: Option<usize>,
}

impl Patches {
    /// Patches of `patch` pixels across and down.
    pub fn new(image: Image, patch: u32) -> Patches {
        Patches {
            image,
            cut: Cut { patch, merge: 1, channels_first: false, frames: 1 },
            tokens: None,
        }
    }

    /// As [`Patches::new`], with a decoder of any type; `None` if it is no [`Image`].
    #[doc(hidden)]
    pub fn of_column(decode: &dyn Decode, patch: u32) -> Option<Patches> {
        let image = decode.hooks()?.as_image()?.downcast_ref::<Image>()?;
        Some(Patches::new(image.clone(), patch))
    }

    /// Gives each row `tokens` patches: zeros are behind those of the picture. A picture with more is an error.
    pub fn padded(mut self, tokens: usize) -> Patches {
        self.tokens = Some(tokens);
        self
    }

    /// Puts the patches that a model merges next to each other: blocks of `merge` patches across and down, row by row.
    pub fn merge(mut self, merge: u32) -> Patches {
        self.cut.merge = merge;
        self
    }

    /// Puts the elements of a patch as `[channels, frames, patch, patch]`, with the picture as each of the frames. With
    /// [`Patches::merge`] of 2, `frames` of 2 and patches of 14, rows are the `pixel_values` of Qwen2-VL.
    pub fn channels_first(mut self, frames: u32) -> Patches {
        self.cut.channels_first = true;
        self.cut.frames = frames;
        self
    }

    /// The pixels: `[patches, elements of a patch]`, of the type of `image`.
    pub fn pixels(&self) -> PatchColumn {
        self.column(PatchView::Pixels)
    }

    /// The row and the column of each patch, `int32` `[patches, 2]`, from 0.
    pub fn coordinates(&self) -> PatchColumn {
        self.column(PatchView::Coordinates)
    }

    /// True for patches of the picture, false for those behind them: `bool` `[patches]`. For padded rows.
    pub fn mask(&self) -> PatchColumn {
        self.column(PatchView::Mask)
    }

    /// The patches down and across: `int64` `[2]`.
    pub fn grid(&self) -> PatchColumn {
        self.column(PatchView::Grid)
    }

    fn column(&self, view: PatchView) -> PatchColumn {
        let Patches { image, cut, tokens } = self.clone();
        PatchColumn { image, cut, tokens, view }
    }
}
