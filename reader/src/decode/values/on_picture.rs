//! `OnPicture`: what a column has of the picture of another column, for what changes both after they are decoded.

use tarflume_annotations::boxes::{BoxFormat, RotatedFormat};

/// What the rows of a column of annotations have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectRows {
    /// Numbers of this shape for each object; one number if it is empty.
    Numbers(Vec<usize>),
    /// A mask of the picture's size for each object.
    Masks,
    /// One mask of the picture's size.
    Plane,
}

/// A column whose rows lie on the picture of another column.
pub struct OnPicture {
    pub(crate) picture: PictureDraws,
    /// Columns with the same number have the same objects; 0 if the rows have none.
    pub(crate) group: usize,
    pub(crate) rows: PictureRows,
}

/// What distinguishes the columns of pictures of a loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureDraws {
    /// The part of the picture.
    pub(crate) part: Option<String>,
    /// The stream of the sample's random numbers.
    pub(crate) stream: u64,
    /// The address of the transform, which the clones of an `Image` share.
    pub(crate) transform: usize,
}

/// The rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureRows {
    /// The picture itself, whose recipe draws with the boxes that lie on it.
    Picture,
    /// One number for each pixel.
    Plane,
    /// Four numbers of type `f32` for each object; fractions of the picture's sides if `normalize` is set.
    Boxes { out: BoxFormat, normalize: bool },
    /// Five or eight numbers of type `f32` for each object, as [`rotated`](super::rotated) writes them; places and lengths are
    /// fractions of the picture's sides if `normalize` is set.
    Rotated { out: RotatedFormat, normalize: bool },
    /// So many points for each object: x, y and visibility, of type `f32`.
    Points { count: usize, normalize: bool },
    /// So many bytes for each object.
    Values { bytes: usize },
    /// A picture of bytes for each object, of which a sample has at most so many.
    Masks { most: usize },
    /// A picture of bits for each object; each line begins with a byte.
    MaskBits,
}
