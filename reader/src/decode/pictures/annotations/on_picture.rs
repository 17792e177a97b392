//! Which columns lie on the same picture.

use tarflume_annotations::boxes::AnyBoxFormat;

use super::fields::FieldKind;
use crate::decode::Decode;
use crate::decode::pictures::image::Image;
use crate::decode::values::on_picture::{OnPicture, PictureDraws, PictureRows};

/// What distinguishes a column of pictures; `None` if the decoder makes no pictures.
pub(crate) fn draws_of_column(decode: &dyn Decode) -> Option<PictureDraws> {
    let hooks = decode.hooks()?;
    match hooks.on_picture() {
        Some(OnPicture { picture, rows: PictureRows::Picture, .. }) => Some(picture),
        _ => hooks.as_image()?.downcast_ref::<Image>().map(draws_of),
    }
}

/// What distinguishes the column of these pictures.
pub(super) fn draws_of(image: &Image) -> PictureDraws {
    // Behind the picture there may be the boxes that its recipe draws with.
    let part = image.parts().into_iter().next();
    PictureDraws { part, stream: image.draws_from(), transform: image.transform_address() }
}

impl FieldKind {
    pub(super) fn rows(&self) -> PictureRows {
        match self {
            FieldKind::Boxes(of) => match of.out {
                AnyBoxFormat::Plain(out) => PictureRows::Boxes { out, normalize: of.normalize },
                AnyBoxFormat::Rotated(out) => PictureRows::Rotated { out, normalize: of.normalize },
            },
            FieldKind::Values(of) => PictureRows::Values { bytes: of.dtype.size() },
            FieldKind::Masks(of) if of.bits => PictureRows::MaskBits,
            FieldKind::Masks(of) => PictureRows::Masks { most: of.most },
            FieldKind::Points(of) => {
                PictureRows::Points { count: of.form.count, normalize: of.normalize }
            }
        }
    }
}
