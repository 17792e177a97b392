//! Rows whose pixels a device changes: a list of actions, then the pixels that they change.
//!
//! The host draws all numbers. It applies the actions up to the last one that changes the size, which placed the picture.

use std::sync::Arc;

use tarflume_image::{Elements, Extent, Layout, Normalize, Pixels};
use tarflume_transforms::actions::RowScale;
use tarflume_transforms::device_list::{self, LIST_BYTES};
use tarflume_transforms::{Recipe, apply_each};
use tarflume_types::{Error, Result, Row};

use super::super::super::picture_decoder::Decoded;
use super::super::settings::Image;
use super::super::writing::RowForm;
use super::super::{Drawn, FinishBuffers};
use crate::decode::costs::operations::OperationClock;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::pictures::{ListedRows, StoredChanges, TransformsOn};
use crate::decode::hybrid::sharing::Sharing;

impl Image {
    /// Sets where the operations of a recipe run, if batches go to a device: crops, a resize and flips at its head are part
    /// of decoding, and the operations behind them run on the host by default, or as kernels on the device. The host draws
    /// all numbers, so the rows are the same to the bit.
    ///
    /// With [`TransformsOn::Auto`] the loader decides for each picture, by whether batches wait for the host or for their
    /// consumer. A loader without a device, or whose device has no compiler for the kernels, runs them on the host; with
    /// [`TransformsOn::Device`] its statistics say so. Operations without a kernel are `ElasticTransform`, `JPEG`, `AugMix` and `TimmAugment` of `augmix`. Of crops,
    /// margins and resizes behind the head, the host runs the last one and all operations before it.
    ///
    /// ```
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::{color::RandomSolarize, crop::RandomResizedCrop};
    /// use tarflume::{Image, TransformsOn};
    ///
    /// let crop = RandomResizedCrop::new([224, 224]);
    /// let solarize = RandomSolarize { threshold: 128.0, p: 0.2 };
    /// let recipe = Recipe::new([crop.into(), solarize.into()]);
    /// let pictures = Image::new("jpg", recipe).transforms_on(TransformsOn::Device);
    /// ```
    #[must_use]
    pub fn transforms_on(mut self, place: TransformsOn) -> Self {
        self.transforms_on = place;
        self
    }

    /// The recipe that a device is to carry out behind its head.
    pub(in super::super) fn changes_on_device(&self) -> Option<&Recipe> {
        let is_fixed = matches!(self.transform.extent(), Extent::Fixed(_));
        self.changes().filter(|recipe| match self.transforms_on {
            TransformsOn::Host => false,
            TransformsOn::Device => true,
            TransformsOn::Auto => is_fixed && recipe.without_kernel().is_none(),
        })
    }

    /// Checks that a device has a kernel for each operation.
    pub(super) fn check_kernels(&self) -> Result<()> {
        let Some(recipe) = self.changes_on_device() else { return Ok(()) };
        if let Some(operation) = recipe.without_kernel() {
            return Err(Error::usage(format!(
                "{operation} has no kernel for a device: use transforms_on=\"host\" (`TransformsOn::Host`)"
            )));
        }
        if !matches!(self.transform.extent(), Extent::Fixed(_)) {
            return Err(Error::usage(
                "a device changes pictures of one size, and this recipe makes pictures of several: use transforms_on=\"host\" \
                 (`TransformsOn::Host`), or crop or resize to (height, width)",
            ));
        }
        Ok(())
    }

    /// The rows whose pixels a device changes, for those of this column.
    pub(in super::super) fn listed_rows(&self) -> ListedRows {
        let share = (self.transforms_on == TransformsOn::Auto)
            .then(|| Arc::new(Sharing::new(DeviceShare::auto(500))));
        ListedRows { values: self.erased_values(), share }
    }

    /// The scale of the values in which a recipe erases rectangles; `None` if it erases pixels.
    fn erased_values(&self) -> Option<RowScale> {
        let erases = self.recipe.as_ref().is_some_and(|recipe| recipe.erases_rows());
        match self.elements {
            Elements::Single(by) | Elements::Half(by) | Elements::Brain(by) if erases => {
                Some(scale(&by))
            }
            _ => None,
        }
    }

    /// What a device does with the pixels of stored pictures.
    pub(in super::super) fn changes_in_store(&self) -> Option<StoredChanges> {
        let recipe = self.recipe.clone().filter(|_| self.changes_on_device().is_some())?;
        Some(StoredChanges { recipe, values: self.erased_values() })
    }

    /// Writes the list of the last actions of a sample and the pixels that they change. Applies the others.
    pub(super) fn write_listed(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        form: RowForm,
        what: ListedActions<'_>,
        row: &mut [u8],
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        let ListedActions { rows, drawn: Drawn { actions, owners, seed } } = what;
        let FinishBuffers { placed, frame, times, .. } = finish;
        let size = drawn.turn.size(drawn.placement.size);
        let form = RowForm { layout: Layout::Hwc, elements: Elements::Bytes, ..form };
        let (list, behind) = row.split_at_mut(LIST_BYTES);
        let most = if rows.picks(seed) { usize::MAX } else { 0 };
        let on_host = device_list::write(actions, self.shape_of(size), rows.values, most, list)?;
        if on_host == 0 {
            let bytes = size.pixels() as usize * self.channels.count();
            let to = behind.get_mut(..bytes).ok_or_else(too_short)?;
            return self.write_placed(drawn, pixels, form, Row::fixed(to), placed);
        }
        let upright = frame.begin(size, self.channels.count())?;
        self.write_placed(drawn, pixels, form, Row::fixed(upright), placed)?;
        times.count(&owners[..on_host]);
        let mut clock = OperationClock::start(times);
        apply_each(&actions[..on_host], frame, |at| clock.end(owners[at]))?;
        let to = behind.get_mut(..frame.pixels().len()).ok_or_else(too_short)?;
        to.copy_from_slice(frame.pixels());
        Ok(())
    }
}

/// What becomes of a sample, and the rows that say so.
#[derive(Clone, Copy)]
pub(super) struct ListedActions<'a> {
    pub(super) rows: &'a ListedRows,
    pub(super) drawn: Drawn<'a>,
}

fn too_short() -> Error {
    Error::usage("a row is too short for its pixels")
}

/// What a row has in place of bytes.
pub(super) fn scale(by: &Normalize) -> RowScale {
    if *by == Normalize::unit() { RowScale::One } else { RowScale::Normalized }
}
