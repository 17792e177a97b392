//! `OnPicture`: what a column has of the picture of another column, for what changes both after they are decoded.

use tarflume_annotations::boxes::BoxFormat;

use super::fields::FieldKind;
use crate::decode::Decode;
use crate::decode::pictures::image::Image;

/// A column whose rows lie on the picture of another column.
pub struct OnPicture {
    pub(crate) picture: PictureDraws,
    pub(crate) rows: PictureRows,
}

/// What distinguishes the columns of pictures of a loader: the part, and the random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureDraws {
    part: Option<String>,
    stream: u64,
}

impl PictureDraws {
    /// Those of a decoder; `None` if it makes no pictures.
    pub(crate) fn of_column(decode: &dyn Decode) -> Option<PictureDraws> {
        let hooks = decode.hooks()?;
        match hooks.on_picture() {
            Some(OnPicture { picture, rows: PictureRows::Picture }) => Some(picture),
            _ => hooks.as_image()?.downcast_ref::<Image>().map(PictureDraws::of),
        }
    }

    pub(super) fn of(image: &Image) -> PictureDraws {
        // Behind the picture there may be the boxes that its recipe draws with.
        let part = image.parts().into_iter().next();
        PictureDraws { part, stream: image.draws_from() }
    }
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
    /// So many points for each object: x, y and visibility, of type `f32`.
    Points { count: usize, normalize: bool },
    /// So many bytes for each object.
    Values { bytes: usize },
    /// A picture of bytes for each object.
    Masks,
}

impl FieldKind {
    pub(super) fn rows(&self) -> PictureRows {
        match self {
            FieldKind::Boxes(of) => PictureRows::Boxes { out: of.out, normalize: of.normalize },
            FieldKind::Values(of) => PictureRows::Values { bytes: of.dtype.size() },
            FieldKind::Masks(_) => PictureRows::Masks,
            FieldKind::Points(of) => {
                PictureRows::Points { count: of.form.count, normalize: of.normalize }
            }
        }
    }
}
