//! What the settings of annotations must be.

use tarflume_types::{Error, Result};

use super::fields::FieldKind;
use super::group::Group;
use crate::decode::Decode;
use crate::decode::pictures::image::Image;

/// The most columns of one group.
const MOST_COLUMNS: usize = 100;
/// The most points of an object.
const MOST_POINTS: usize = 10_000;

/// Checks that annotations can follow what a recipe does.
pub(super) fn check_blend(image: &Image) -> Result<()> {
    let Some(name) = image.blends() else { return Ok(()) };
    Err(Error::usage(format!(
        "{name} mixes copies of the picture that are moved differently, so boxes, points and masks cannot follow: use a recipe \
         without it for pictures with annotations"
    )))
}

impl Group {
    /// Checks that there are boxes to draw with.
    pub(super) fn check_boxes(&self) -> Result<()> {
        if self.boxes_at().is_some() {
            return Ok(());
        }
        Err(Error::usage(
            "RandomIoUCrop draws with the boxes of a picture, and these annotations have no column of boxes: add one, such as \
             boxes=tarflume.Boxes(\"/boxes\", format=\"xywh\") (`Annotations::boxes`)",
        ))
    }

    /// Checks column `at`, and what all columns share.
    pub(super) fn check(&self, at: usize) -> Result<()> {
        if self.image.makes_several() {
            return Err(Error::usage(
                "FiveCrop and TenCrop make several pictures of one, and annotations follow one: use a recipe without them",
            ));
        }
        self.image.validate()?;
        check_blend(&self.image)?;
        if self.image.needs_boxes() {
            self.check_boxes()?;
        }
        self.keep.validate()?;
        let boxes = self.columns.iter().filter(|column| matches!(column.kind, FieldKind::Boxes(_)));
        if boxes.count() > 1 {
            return Err(Error::usage(
                "the boxes decide which objects are kept, so one group of annotations has one column of boxes: make another \
                 `Annotations` for the others",
            ));
        }
        if self.columns.len() > MOST_COLUMNS {
            let text = format!("a group of annotations has at most {MOST_COLUMNS} columns");
            return Err(Error::usage(text));
        }
        let kind = &self.columns[at].kind;
        if let Err(what) = kind.field() {
            return Err(Error::usage(what.clone()));
        }
        match kind {
            FieldKind::Points(of) => {
                let count = of.form.count;
                if !(1..=MOST_POINTS).contains(&count) {
                    let text = format!("an object has 1 to {MOST_POINTS} points, not {count}");
                    return Err(Error::usage(text));
                }
                check_pairs(&of.pairs, count)
            }
            FieldKind::Masks(of) if of.most == 0 => Err(Error::usage(
                "a column of masks takes at least one object: give `most` 1 or more",
            )),
            _ => Ok(()),
        }
    }
}

/// Checks that each point is in one pair at most.
fn check_pairs(pairs: &[[usize; 2]], count: usize) -> Result<()> {
    let mut paired = vec![false; count];
    for &point in pairs.iter().flatten() {
        let Some(known) = paired.get_mut(point) else {
            return Err(Error::usage(format!(
                "flip_pairs has the point {point}, and an object has {count} points, counted from 0"
            )));
        };
        if std::mem::replace(known, true) {
            return Err(Error::usage(format!(
                "flip_pairs has the point {point} twice, and a point is in one pair"
            )));
        }
    }
    Ok(())
}
