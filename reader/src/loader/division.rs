//! `Division`: which part of the columns' work the device does, and the slots for it.
//!
//! Asked once, when a loader is built. Batches are the same to the bit however the work is divided.

use std::sync::Arc;

use super::recipe::{Columns, Recipe};
use crate::decode::ForDevice;
use crate::device::Device;
use crate::device::finish::Finish;
use crate::device::slot::Slots;
use crate::device::work::{Make, Work};
use crate::error::Result;

/// Where batches go, and what is left to do there.
pub(super) struct Division {
    device: Option<(Device, usize)>,
    /// Columns that the device finishes, by their numbers among the columns.
    finishes: Vec<(usize, Finish)>,
    warning: Option<String>,
}

impl Division {
    /// Takes out of `columns` what the device does. If its kernels can't be had, the host does all, and
    /// statistics say so.
    pub(super) fn of(device: Option<(Device, usize)>, columns: &mut Columns) -> Division {
        let mut division = Division { device, finishes: Vec::new(), warning: None };
        let Some((device, _)) = &division.device else { return division };
        let parts = columns.iter().map(|(_, decode)| decode.for_device());
        let parts: Vec<Option<ForDevice>> = parts.collect();
        if parts.iter().all(Option::is_none) {
            return division;
        }
        if let Err(error) = device.0.prepare() {
            division.warning = Some(format!(
                "pictures are finished on the host, and more bytes cross to {}: {error}",
                device.name()
            ));
            return division;
        }
        for (number, part) in parts.into_iter().enumerate() {
            if let Some(ForDevice { decode, finish }) = part {
                columns[number].1 = decode;
                division.finishes.push((number, finish));
            }
        }
        division
    }

    /// Batches that stand on the device or are on their way.
    pub(super) fn slabs(&self) -> u64 {
        self.device.as_ref().map_or(0, |(_, slots)| *slots as u64 + 1)
    }

    /// Slots for the batches of `recipe`.
    ///
    /// # Errors
    /// A batch is too large for a device.
    pub(super) fn slots(self, recipe: &Recipe) -> Result<Option<Arc<Slots>>> {
        let Some((device, count)) = self.device else { return Ok(None) };
        // In the slab the keys come first.
        let name = |number: usize| recipe.names[number + 1].clone();
        let finishes = self.finishes.into_iter();
        let columns = finishes.map(|(number, finish)| (number + 1, name(number), Make::Finished(finish)));
        let work = Work::new(&recipe.layout, columns)?;
        Ok(Some(Arc::new(Slots::new(device.0, work, count.max(1), self.warning))))
    }
}
