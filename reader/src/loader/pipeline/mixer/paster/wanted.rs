//! `WantedColumns`: the columns of objects that a paster changes, and what it refuses.

use tarflume_transforms::CopyPaste;
use tarflume_types::{Error, Result};

use crate::decode::values::on_picture::PictureRows;
use crate::decode::{Decode, DecodeHooks};
use crate::loader::pipeline::mixer::batch_draws::picture_of;
use crate::loader::pipeline::mixer::object_form::ObjectColumn;

/// The name of the option in errors.
pub(super) const OPTION: &str = "CopyPaste";

/// The columns of the objects of a picture.
pub(super) struct WantedColumns {
    /// The most masks of a sample.
    pub(super) most: usize,
    /// The masks.
    pub(super) masks: ObjectColumn,
    /// All columns of the same objects, the masks among them.
    pub(super) all: Vec<ObjectColumn>,
}

/// A column of objects, and the number of its group.
struct OfGroup<'a> {
    name: &'a str,
    group: usize,
    column: ObjectColumn,
}

impl WantedColumns {
    /// The columns of the objects of `copy_paste.image` among `columns`.
    ///
    /// # Errors
    /// There is no such column of pictures, none of masks or several, or a column cannot follow.
    pub(super) fn find<'a>(
        copy_paste: &CopyPaste,
        columns: impl Iterator<Item = (&'a str, &'a dyn Decode)>,
    ) -> Result<WantedColumns> {
        let image = &copy_paste.image;
        let columns: Vec<_> = columns.collect();
        let picture = picture_of(OPTION, image, columns.iter().copied())?;
        let mut found = Vec::new();
        for (number, (name, decode)) in columns.iter().enumerate() {
            let Some(on) = decode.hooks().and_then(DecodeHooks::on_picture) else { continue };
            if on.picture != picture {
                let text = format!(
                    "it lies on another picture than column '{image}', over which CopyPaste pastes objects: take it out of \
                     the loader, or make a loader for each picture"
                );
                return Err(Error::usage(text).of_column(name));
            }
            match on.rows {
                PictureRows::Picture => {}
                PictureRows::Plane => {
                    let text = "CopyPaste pastes objects by their masks, and which numbers a mask of all pixels has for them is \
                                not known: take the column out of the loader, or leave CopyPaste out";
                    return Err(Error::usage(text).of_column(name));
                }
                PictureRows::MaskBits => {
                    let text = "CopyPaste pastes objects by masks of bytes, and these are bits: leave bits=True (`Masks::bits`) \
                                out, or leave CopyPaste out";
                    return Err(Error::usage(text).of_column(name));
                }
                PictureRows::Rotated { .. } => {
                    let text = "CopyPaste makes the boxes of covered objects from their masks, and a mask has no angle: give \
                                out=\"xyxy\" (`Boxes::out`), or leave CopyPaste out";
                    return Err(Error::usage(text).of_column(name));
                }
                // The keys are first in the slab.
                rows => found.push(OfGroup {
                    name,
                    group: on.group,
                    column: ObjectColumn { column: number + 1, rows },
                }),
            }
        }
        WantedColumns::of_masks(image, &found)
    }

    /// The columns of the objects that have masks.
    fn of_masks(image: &str, found: &[OfGroup<'_>]) -> Result<WantedColumns> {
        let mut masks = found.iter().filter_map(|of| match of.column.rows {
            PictureRows::Masks { most } => Some((of, most)),
            _ => None,
        });
        let Some((of_masks, most)) = masks.next() else {
            let text = "CopyPaste pastes objects by their masks, and no column has those of this picture: add one, such as \
                        masks=tarflume.Masks(\"/segmentation\") (`Annotations::masks`)";
            return Err(Error::usage(text).of_column(image));
        };
        let first = of_masks.name;
        if let Some((other, _)) = masks.next() {
            let text = format!(
                "column '{first}' has masks of this picture, too, and CopyPaste pastes objects by one column of masks: take one \
                 of both out of the loader"
            );
            return Err(Error::usage(text).of_column(other.name));
        }
        if let Some(other) = found.iter().find(|other| other.group != of_masks.group) {
            let text = format!(
                "its objects are read apart from those of column '{first}', by whose masks CopyPaste pastes objects: read both \
                 from the same part with the same settings (one `Annotations`), or take the column out of the loader"
            );
            return Err(Error::usage(text).of_column(other.name));
        }
        let all = found.iter().map(|of| of.column).collect();
        Ok(WantedColumns { most, masks: of_masks.column, all })
    }
}
