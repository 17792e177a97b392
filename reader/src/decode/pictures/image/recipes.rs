//! Columns with a recipe: what it does beside the placement, on the resized pixels, upright and of 8 bits.

pub(super) mod on_device;

use std::sync::Arc;

use half::{bf16, f16};
use tarflume_image::{Channels, Elements, Extent, ImageSize, Layout, Picture, Pixels, Turn};
use tarflume_transforms::actions::{Action, Erase, RowLayout};
use tarflume_transforms::{Frame, Recipe, Shape, apply_each, memory};
use tarflume_types::{Error, ErrorKind, Result, Row};

use self::on_device::{ListedActions, scale};
use super::super::picture_decoder::Decoded;
use super::settings::Image;
use super::writing::RowForm;
use super::{Drawn, FinishBuffers};
use crate::decode::costs::operations::OperationClock;
use crate::decode::pictures::in_buckets::{BucketDecoder, InBuckets};
use crate::decode::values::picture_buckets::PictureBuckets;

impl Image {
    /// The recipe, if it may do more than to place a picture.
    pub(super) fn changes(&self) -> Option<&Recipe> {
        self.recipe.as_deref().filter(|recipe| !recipe.is_placement())
    }

    /// What a recipe draws for, of a picture of size `upright`.
    pub(super) fn shape_of(&self, upright: ImageSize) -> Shape {
        Shape { size: upright, channels: self.channels.count() }
    }

    /// The column of one of the pictures that the last operation of its recipe makes.
    pub(super) fn with_picture(&self, number: usize) -> Image {
        let Some(recipe) = &self.recipe else { return self.clone() };
        let recipe = Arc::new(recipe.picture(number));
        Image { transform: recipe.clone(), recipe: Some(recipe), ..self.clone() }
    }

    /// The column whose pictures have the size of a bucket.
    pub(in crate::decode::pictures) fn in_bucket(
        &self,
        of: &PictureBuckets,
        number: usize,
        size: ImageSize,
    ) -> Image {
        let Some(recipe) = self.recipe.as_ref().filter(|recipe| recipe.lacks_bucket()) else {
            return self.clone();
        };
        let recipe = Arc::new(recipe.in_bucket(size));
        let bucket = of.chosen(number);
        Image { transform: recipe.clone(), recipe: Some(recipe), bucket, ..self.clone() }
    }

    /// The column in the sizes of all buckets.
    pub(super) fn of_buckets(&self, of: &PictureBuckets) -> InBuckets {
        InBuckets::new(of, |number, size| {
            let image = self.in_bucket(of, number, size);
            let size = image.result_size().unwrap_or(size);
            let picture = image.pictured(size);
            BucketDecoder::new(image, Some(picture))
        })
    }

    /// Whether the recipe makes several pictures of one, for which a column has one row.
    #[doc(hidden)]
    pub fn makes_several(&self) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.pictures() > 1)
    }

    /// Checks that the rows are of a kind that a recipe makes, and that the device can do what is asked of it.
    pub(super) fn check_recipe(&self) -> Result<()> {
        if self.makes_several() {
            return Err(Error::usage(
                "FiveCrop and TenCrop make several pictures of one, and this column has one picture a row: give the recipe \
                 a column of its crops (Views::crops in Rust, a column outside of Views in Python)",
            ));
        }
        if self.changes().is_none() {
            return Ok(());
        }
        if matches!(self.channels, Channels::Rgba | Channels::Index) {
            return Err(Error::usage(format!(
                "a recipe changes pixels of one or three channels, and the column has channels=\"{}\": use \"rgb\" or \
                 \"gray\"",
                self.channels
            )));
        }
        if self.elements == Elements::Words {
            return Err(Error::usage(
                "a recipe changes pixels of 8 bits, and the column has rows of 16-bit integers: use dtype=\"uint8\" or floats",
            ));
        }
        if self.share.is_some() || self.decoded.is_some() {
            return Err(Error::usage(
                "a device decodes and resizes pictures, but does not change them as this recipe does: leave device_decoder and \
                 resize_on_device out, or use a recipe of crops, one resize and flips in this order",
            ));
        }
        self.check_kernels()
    }

    /// Checks that a recipe on stored pictures runs on the device and keeps their size behind the first resize.
    pub(super) fn check_stored(&self) -> Result<()> {
        let Some(recipe) = self.changes() else { return Ok(()) };
        if self.changes_on_device().is_none() {
            return Err(Error::usage(
                "pictures stored on a device are cropped and resized there, and changed if the recipe's operations run there, \
                 too: use transforms_on=\"device\" (`TransformsOn::Device`), a loader without Resident (`Residency`), or a \
                 recipe of crops, one resize and flips in this order",
            ));
        }
        match recipe.resizes_again() {
            Some(operation) => Err(Error::usage(format!(
                "pictures stored on a device keep their size behind the first crop or resize of a recipe, and {operation} \
                 changes it: use a loader without Resident (`Residency`), or leave {operation} out"
            ))),
            None => Ok(()),
        }
    }

    /// Bytes of memory for what the recipe does to a picture that is placed at size `placed`.
    pub(super) fn memory_of_changes(
        &self,
        seed: u64,
        upright: ImageSize,
        placed: ImageSize,
    ) -> Result<u64> {
        let Some(recipe) = self.changes() else { return Ok(0) };
        let boxes = self.boxes.as_deref();
        recipe.with_rest_and_boxes(seed, self.stream, self.shape_of(upright), boxes, |actions| {
            self.check_result(upright, result(actions, placed))?;
            Ok(if actions.is_empty() { 0 } else { memory(actions, self.shape_of(placed)) })
        })
    }

    /// The size of the row's picture, for one that is placed at size `placed`.
    pub(super) fn changed_size(
        &self,
        seed: u64,
        upright: ImageSize,
        placed: ImageSize,
    ) -> Result<ImageSize> {
        let Some(recipe) = self.changes() else { return Ok(placed) };
        let on = self.shape_of(upright);
        let boxes = self.boxes.as_deref();
        recipe.with_rest_and_boxes(seed, self.stream, on, boxes, |actions| {
            Ok(result(actions, placed))
        })
    }

    /// Checks what a recipe makes of a picture of size `upright` against the room of its row.
    fn check_result(&self, upright: ImageSize, size: ImageSize) -> Result<()> {
        if let Extent::Fixed(_) = self.transform.extent() {
            return self.check_size(size);
        }
        let most = self.transform.most(upright.pixels());
        if size.pixels() <= most {
            return Ok(());
        }
        let text = format!(
            "the recipe makes a picture of {size} of one of {upright}, and rows have room for {most} pixels: limit the longer \
             side with max_size, or crop the picture"
        );
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// Resizes decoded pixels, applies actions to them, and writes them into a row.
    pub(super) fn write_changed(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        form: RowForm,
        what: Drawn<'_>,
        mut row: Row<'_>,
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        if let Some(rows) = &self.listed {
            let what = ListedActions { rows, drawn: what };
            return self.write_listed(drawn, pixels, form, what, row.bytes(), finish);
        }
        let Drawn { actions, owners, .. } = what;
        let FinishBuffers { placed, frame, floats, times, .. } = finish;
        if actions.is_empty() {
            return self.write_placed(drawn, pixels, form, row, placed);
        }
        let size = drawn.turn.size(drawn.placement.size);
        let upright = frame.begin(size, self.channels.count())?;
        let form = RowForm { layout: Layout::Hwc, elements: Elements::Bytes, ..form };
        self.write_placed(drawn, pixels, form, Row::fixed(upright), placed)?;
        let in_row = self.erased_in_row(actions);
        let (on_pixels, on_values) = actions.split_at(actions.len() - in_row);
        times.count(owners);
        let mut clock = OperationClock::start(times);
        apply_each(on_pixels, frame, |at| clock.end(owners[at]))?;
        let size = frame.size();
        row.set_picture(self.pictured(size));
        self.changed(frame).write(self.elements, &mut row, &mut placed.line)?;
        let mut clock = OperationClock::start(times);
        for (action, owner) in on_values.iter().zip(&owners[on_pixels.len()..]) {
            if let Action::Erase(erase) = action {
                self.erase(*erase, size, &mut row, floats)?;
                clock.end(*owner);
            }
        }
        Ok(())
    }

    /// How many of the last actions erase values of the row: all that a last operation has drawn, if the row has floats.
    fn erased_in_row(&self, actions: &[Action]) -> usize {
        let erases = self.recipe.as_ref().is_some_and(|recipe| recipe.erases_rows());
        if !erases || self.elements == Elements::Bytes {
            return 0;
        }
        actions.iter().rev().take_while(|action| matches!(action, Action::Erase(_))).count()
    }

    /// Erases a rectangle of a written row of floats.
    fn erase(
        &self,
        erase: Erase,
        size: ImageSize,
        row: &mut Row<'_>,
        noise: &mut Vec<f32>,
    ) -> Result<()> {
        let channels = self.channels.count();
        let layout = RowLayout { size, channels, channels_first: self.layout == Layout::Chw };
        match self.elements {
            Elements::Single(by) => {
                erase.on_values::<f32>(row.elements()?, layout, scale(&by), noise)
            }
            Elements::Half(by) => {
                erase.on_values::<f16>(row.elements()?, layout, scale(&by), noise)
            }
            Elements::Brain(by) => {
                erase.on_values::<bf16>(row.elements()?, layout, scale(&by), noise)
            }
            Elements::Bytes | Elements::Words => Ok(()),
        }
    }

    /// A changed picture, to be written.
    fn changed<'a>(&self, frame: &'a Frame) -> Picture<'a> {
        Picture {
            bytes: frame.pixels(),
            channels: frame.channels(),
            size: frame.size(),
            turn: Turn::default(),
            wanted: frame.channels(),
            layout: self.layout,
            word_step: self.word_step(),
        }
    }
}

/// The size of a picture after actions.
fn result(actions: &[Action], size: ImageSize) -> ImageSize {
    actions.iter().fold(size, |size, action| action.size(size))
}

#[cfg(test)]
mod tests;
