//! `ColumnPlacement`: which part of the columns' work the device does, and the slots for it; all but decoding, once,
//! where the data set stays there.
//!
//! Asked once, when a loader is built. Batches are the same to the bit however the work is divided, but for
//! JPEGs that a device's own decoder makes.

use std::sync::Arc;

use crate::decode::ForDevice;
use crate::device::Device;
use crate::device::upload::post_copy::{Make, PostCopy};
use crate::device::upload::slot::Slots;
use crate::error::{Error, Result};
use crate::loader::bad_samples::OnBad;
use crate::loader::gpu::hybrid_columns::HybridColumns;
use crate::loader::gpu::resident_config::Residency;
use crate::loader::gpu::resident_plan::{Extent, Plan};
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::picture::convert::Finish;

/// Where batches go, and what is left to do there.
pub(crate) struct ColumnPlacement {
    device: Option<(Device, usize)>,
    /// What the device makes, by the columns' numbers.
    makes: Vec<(usize, Make)>,
    warning: Option<String>,
    staging: HybridColumns,
}

impl ColumnPlacement {
    /// Takes out of `columns` what the device does. If its kernels can't be had, the host does all, and
    /// statistics say so.
    pub(crate) fn of(
        device: Option<(Device, usize)>,
        columns: &mut Columns,
        (rows, on_bad): (usize, OnBad),
    ) -> ColumnPlacement {
        let (staging, makes) = (HybridColumns::default(), Vec::new());
        let mut division = ColumnPlacement { device, makes, warning: None, staging };
        let parts = columns.iter().map(|(_, decode)| decode.for_device());
        let parts: Vec<Option<ForDevice>> = parts.collect();
        let shares = parts.iter().flatten().any(|part| part.shared.is_some());
        let staging = &mut division.staging;
        let Some((device, _)) = &division.device else {
            if shares {
                staging.refused("the loader has no device: build it with .device(..)");
            }
            return division;
        };
        if parts.iter().all(Option::is_none) {
            return division;
        }
        if let Err(error) = device.0.prepare_kernels() {
            division.warning = Some(format!(
                "pictures are finished on the host, and more bytes cross to {}: {error}",
                device.name()
            ));
            if shares {
                staging.refused("there are no kernels to finish them with");
            }
            return division;
        }
        for (number, part) in parts.into_iter().enumerate() {
            let Some(ForDevice { decode, finish, drawn, shared }) = part else { continue };
            if let Some((size, channels)) = drawn {
                columns[number].1 = decode;
                division.makes.push((number, Make::Drawn { finish, size, channels, store: None }));
                continue;
            }
            let staged = shared.and_then(|shared| {
                let of = (number, columns[number].0.as_str());
                let verifies = on_bad == OnBad::Substitute;
                let what = (decode.clone(), shared, finish);
                staging.share(device, of, what, (rows, verifies))
            });
            if let Some((decode, make)) = staged {
                columns[number].1 = decode;
                division.makes.push((number, make));
            } else if finish != Finish::bytes() {
                columns[number].1 = decode;
                division.makes.push((number, Make::Finished(finish)));
            }
        }
        division
    }

    /// A data set that stays on the device.
    ///
    /// # Errors
    /// There is no device, or it has no kernels; or see [`Plan::new`].
    pub(crate) fn resident(
        device: Option<(Device, usize)>,
        columns: &mut Columns,
        residency: &Residency,
        extent: &Extent<'_>,
    ) -> Result<(ColumnPlacement, Plan)> {
        let Some((device, slots)) = device else {
            let text = "a data set stays on a device: name it with .device(Device::cuda(0)?, 3)";
            return Err(Error::usage(text));
        };
        device.0.prepare_kernels()?;
        let mut staging = HybridColumns::default();
        if columns.iter().any(|(_, decode)| decode.for_device().is_some_and(|p| p.shared.is_some()))
        {
            staging.refused("the data set stays on the device, and is decoded once");
        }
        let mut plan = Plan::new(residency, columns, extent, &device.0)?;
        if let Some(recalled) = &plan.recalled {
            staging.counted().about = recalled.about.clone();
        }
        let makes = std::mem::take(&mut plan.makes);
        Ok((ColumnPlacement { device: Some((device, slots)), makes, warning: None, staging }, plan))
    }

    /// Batches that stand on the device or are on their way.
    pub(crate) fn slabs(&self) -> u64 {
        self.device.as_ref().map_or(0, |(_, slots)| *slots as u64 + 1) + self.staging.slabs()
    }

    /// Which JPEGs the device decodes.
    pub(crate) fn take_staging(&mut self) -> HybridColumns {
        std::mem::take(&mut self.staging)
    }

    /// Slots for the batches of `recipe`.
    ///
    /// # Errors
    /// A batch is too large for a device.
    pub(crate) fn slots(self, recipe: &ColumnSet) -> Result<Option<Arc<Slots>>> {
        let Some((device, count)) = self.device else { return Ok(None) };
        // In the slab the keys come first.
        let name = |number: usize| recipe.names[number + 1].clone();
        let makes = self.makes.into_iter();
        let columns = makes.map(|(number, make)| (number + 1, name(number), make));
        let work = PostCopy::new(&recipe.layout, columns)?;
        let slots = Slots::new(device.0.clone(), work, count.max(1), self.warning);
        Ok(Some(Arc::new(slots.because(device.why()))))
    }
}
