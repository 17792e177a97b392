//! `ColumnPlacement`: which part of the columns' work the device does, and the slots for its results.
//!
//! Chosen once, when a loader is built. The bits of a batch do not depend on the choice, except for JPEGs that the device's
//! own decoder decodes.

use std::sync::Arc;

use crate::decode::{Decode, ForDevice};
use crate::device::Device;
use crate::device::upload::post_copy::{Make, PostCopy};
use crate::device::upload::slot::Slots;
use crate::error::Result;
use crate::loader::bad_samples::OnBad;
use crate::loader::gpu::hybrid_columns::HybridColumns;
use crate::loader::gpu::resident_config::Residency;
use crate::loader::gpu::resident_plan::{ResidentExtent, ResidentPlan};
use crate::loader::gpu::state::{DecoderCounters, DeviceDecode};
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::picture::convert::Finish;

/// Where batches go, and what the device does with them.
pub(crate) struct ColumnPlacement {
    device: Device,
    slots: usize,
    /// What the device makes, by the columns' numbers.
    makes: Vec<(usize, Make)>,
    /// Why the host converts pictures.
    unconverted: Option<String>,
    /// Why the host decodes JPEGs that the device was meant to decode.
    undecoded: Option<String>,
    hybrid: HybridColumns,
}

/// The warning of a loader whose host decodes all JPEGs.
fn undecoded(why: &str) -> String {
    format!("JPEGs are decoded by the CPU: {why}")
}

/// True if a column is to share its JPEGs with a device.
fn shares_jpegs(columns: &Columns) -> bool {
    let shares = |part: ForDevice| part.shared.is_some();
    columns.iter().any(|(_, decode)| decode.for_device().is_some_and(shares))
}

/// The warning of a loader without a device whose columns are to share JPEGs with one.
pub(crate) fn without_device(columns: &Columns) -> Option<String> {
    shares_jpegs(columns).then(|| undecoded("the loader has no device: build it with .device(..)"))
}

impl ColumnPlacement {
    /// Moves work of `columns` to the device. If its kernels can't be compiled, the host does all work, and the warning
    /// contains the reason.
    pub(crate) fn of(
        (device, slots): (Device, usize),
        columns: &mut Columns,
        (rows, on_bad): (usize, OnBad),
    ) -> ColumnPlacement {
        let mut placement = ColumnPlacement {
            device,
            slots,
            makes: Vec::new(),
            unconverted: None,
            undecoded: None,
            hybrid: HybridColumns::default(),
        };
        let parts: Vec<Option<ForDevice>> =
            columns.iter().map(|(_, decode)| decode.for_device()).collect();
        if parts.iter().all(Option::is_none) {
            return placement;
        }
        if let Err(error) = placement.device.0.prepare_kernels() {
            let name = placement.device.name();
            placement.unconverted = Some(format!(
                "pictures are finished on the host, and more bytes cross to {name}: {error}"
            ));
            if parts.iter().flatten().any(|part| part.shared.is_some()) {
                placement.undecoded = Some(undecoded("there are no kernels to finish them with"));
            }
            return placement;
        }
        let verifies = on_bad == OnBad::Substitute;
        for (number, part) in parts.into_iter().enumerate() {
            let Some(part) = part else { continue };
            if let Some((decode, make)) =
                placement.place(number, &columns[number].0, part, (rows, verifies))
            {
                columns[number].1 = decode;
                placement.makes.push((number, make));
            }
        }
        placement
    }

    /// What the host then decodes of a column, and what the device makes of it.
    fn place(
        &mut self,
        number: usize,
        name: &str,
        part: ForDevice,
        batches: (usize, bool),
    ) -> Option<(Arc<dyn Decode>, Make)> {
        let ForDevice { decode, finish, drawn, shared } = part;
        if let Some((size, channels)) = drawn {
            return Some((decode, Make::Drawn { finish, size, channels, store: None }));
        }
        if let Some(shared) = shared {
            let what = (decode.clone(), shared, finish);
            match self.hybrid.share(&self.device, (number, name), what, batches) {
                Ok(made) => return Some(made),
                Err(error) => {
                    let why = error.of_column(name).to_string();
                    self.undecoded.get_or_insert_with(|| undecoded(&why));
                }
            }
        }
        (finish != Finish::bytes()).then_some((decode, Make::Finished(finish)))
    }

    /// The placement of a resident data set.
    ///
    /// # Errors
    /// The device has no kernels; or see [`ResidentPlan::new`].
    pub(crate) fn resident(
        (device, slots): (Device, usize),
        columns: &mut Columns,
        residency: &Residency,
        extent: &ResidentExtent<'_>,
    ) -> Result<(ColumnPlacement, ResidentPlan)> {
        device.0.prepare_kernels()?;
        let undecoded = shares_jpegs(columns)
            .then(|| undecoded("the data set stays on the device, and is decoded once"));
        let mut plan = ResidentPlan::new(residency, columns, extent, &device.0)?;
        let makes = std::mem::take(&mut plan.makes);
        let hybrid = HybridColumns::default();
        Ok((ColumnPlacement { device, slots, makes, unconverted: None, undecoded, hybrid }, plan))
    }

    /// Slabs that are in use by the device or on their way to it.
    pub(crate) fn slabs(&self) -> u64 {
        self.slots as u64 + 1 + self.hybrid.slabs()
    }

    /// The slots for batches of `columns`, what the device decodes, its counters, and the warning.
    ///
    /// # Errors
    /// A batch is too large for the device.
    pub(crate) fn finish(self, columns: &ColumnSet) -> Result<Placed> {
        // In the slab the keys come first.
        let name = |number: usize| columns.names[number + 1].clone();
        let makes = self.makes.into_iter();
        let makes = makes.map(|(number, make)| (number + 1, name(number), make));
        let work = PostCopy::new(&columns.layout, makes)?;
        let slots = Slots::new(self.device.0.clone(), work, self.slots.max(1), self.unconverted);
        Ok(Placed {
            slots: Arc::new(slots.because(self.device.why())),
            counters: DecoderCounters::of(self.hybrid.about.clone()),
            decode: DeviceDecode::Hybrid(Arc::new(self.hybrid)),
            warning: self.undecoded,
        })
    }
}

/// The device's part of a loader.
pub(crate) struct Placed {
    pub(crate) slots: Arc<Slots>,
    pub(crate) decode: DeviceDecode,
    pub(crate) counters: DecoderCounters,
    pub(crate) warning: Option<String>,
}
