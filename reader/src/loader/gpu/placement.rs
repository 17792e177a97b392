//! `ColumnPlacement`: which part of the columns' work the device does, and the slots for its results.
//!
//! Chosen once, when a loader is built. The bits of a batch do not depend on the choice, except for JPEGs that the device's
//! own decoder decodes.

use std::sync::Arc;

use tarflume_device::Device;
use tarflume_device::kernels::program::Program;
use tarflume_device::upload::objects::{ObjectColumn, ObjectColumns};
use tarflume_device::upload::post_copy::{ColumnWork, PostCopy};
use tarflume_device::upload::slot::Slots;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Phrase};
use tarflume_image::convert::Finish;
use tarflume_transforms::device_list::LIST_BYTES;
use tarflume_types::Result;

use crate::decode::hybrid::pictures::ChangedPictures;
use crate::decode::hybrid::sharing::Sharing;
use crate::decode::{ForDevice, ObjectRows};
use crate::loader::gpu::columns::host_mixes::HostMixes;
use crate::loader::gpu::columns::hybrid::HybridColumns;
use crate::loader::gpu::columns::resident_config::Residency;
use crate::loader::gpu::columns::resident_plan::{ResidentExtent, ResidentPlan};
use crate::loader::gpu::division::{BatchRules, DividedColumn, NamedColumn};
use crate::loader::gpu::state::{DecoderCounters, DeviceDecode};
use crate::loader::pipeline::columns::{ColumnSet, Columns};

/// A device, and how many of its slots hold batches.
pub(crate) struct DeviceSlots {
    pub(crate) device: Device,
    pub(crate) count: usize,
}

/// Where batches go, and what the device does with them.
pub(crate) struct ColumnPlacement {
    target: DeviceSlots,
    /// What the device makes, by the columns' numbers.
    makes: Vec<(usize, ColumnWork)>,
    /// Why the host converts pictures.
    unconverted: Option<Message>,
    /// Why the host decodes JPEGs that the device was meant to decode.
    undecoded: Option<Message>,
    hybrid: HybridColumns,
    /// The shares of columns whose transforms move between host and device.
    transforms: Vec<Arc<Sharing>>,
}

/// The warning of a loader whose host decodes all JPEGs.
fn undecoded(why: impl Into<Message>) -> Message {
    message!("JPEGs are decoded by the CPU: {why}"; why = why)
}

/// True if a column is to share its JPEGs with a device.
fn shares_jpegs(columns: &Columns) -> bool {
    columns.iter().any(|(_, decode)| decode.for_device().is_some_and(shares))
}

fn shares(part: ForDevice) -> bool {
    part.shared.is_some()
}

/// True if a device is to change the pictures of a column.
fn is_changed(part: ForDevice) -> bool {
    part.changed.is_some_and(|changed| changed.share.is_none())
}

/// The warning of a loader without a device whose columns are to leave work to one.
pub(crate) fn without_device(columns: &Columns) -> Option<Message> {
    let why =
        message!("the loader has no device: build it with {device}"; device = Phrase::OnDevice);
    let changed = columns.iter().any(|(_, decode)| decode.for_device().is_some_and(is_changed));
    if !shares_jpegs(columns) {
        return changed.then(|| message!("transforms run on the CPU: {why}"; why = why));
    }
    if !changed {
        return Some(undecoded(why));
    }
    Some(message!("JPEGs are decoded by the CPU, and transforms run on the CPU: {why}"; why = why))
}

impl ColumnPlacement {
    /// True if the device decodes JPEGs of a column.
    pub(crate) fn shares_decoding(&self) -> bool {
        !self.hybrid.columns.is_empty()
    }

    /// Moves work of `columns` to the device. Of the columns `mixes` it moves none, because the host mixes their finished rows,
    /// unless the device changes their pixels: then it mixes them, too. If the device's
    /// kernels can't be compiled, the host does all work, and the warning contains the reason.
    ///
    /// # Errors
    /// Those of [`HostMixes::keep_on_host`].
    pub(crate) fn of(
        target: DeviceSlots,
        columns: &mut Columns,
        rules: BatchRules,
        mixes: &HostMixes,
    ) -> Result<ColumnPlacement> {
        let mut placement = ColumnPlacement {
            target,
            makes: Vec::new(),
            unconverted: None,
            undecoded: None,
            hybrid: HybridColumns::default(),
            transforms: Vec::new(),
        };
        let mut parts: Vec<Option<ForDevice>> =
            columns.iter().map(|(_, decode)| decode.for_device()).collect();
        mixes.keep_on_host(columns, &mut parts)?;
        if parts.iter().all(Option::is_none) {
            return Ok(placement);
        }
        if let Err(error) = placement.target.device.driver().prepare_kernels(Program::Pictures) {
            let name = placement.target.device.name();
            let is_changed = parts.iter().flatten().any(|part| part.changed.is_some());
            let and_transforms = if is_changed { "transforms run and " } else { "" };
            placement.unconverted = Some(message!(
                "{and_transforms}pictures are finished on the host, and more bytes cross to {name}: {why}";
                why = error.message()
            ));
            if parts.iter().flatten().any(|part| part.shared.is_some()) {
                placement.undecoded = Some(undecoded("there are no kernels to finish them with"));
            }
            return Ok(placement);
        }
        for (number, part) in parts.into_iter().enumerate() {
            let Some(part) = part else { continue };
            let (name, decode) = &mut columns[number];
            if let Some(divided) = placement.divide(NamedColumn { number, name }, part, rules) {
                *decode = divided.host;
                placement.makes.push((number, divided.device));
            }
        }
        Ok(placement)
    }

    /// Divides the work of a column. `None`: the host does all of it.
    fn divide(
        &mut self,
        column: NamedColumn<'_>,
        part: ForDevice,
        rules: BatchRules,
    ) -> Option<DividedColumn> {
        let ForDevice { decode: host, finish, drawn, changed, shared } = part;
        if let Some(ChangedPictures { size, channels, share }) = changed {
            self.transforms.extend(share);
            let list = LIST_BYTES;
            let device = ColumnWork::Changed { finish, size, channels, list, drawn: None };
            return Some(DividedColumn { host, device });
        }
        if let Some((size, channels)) = drawn {
            let device = ColumnWork::Drawn { finish, size, channels, store: None };
            return Some(DividedColumn { host, device });
        }
        if let Some(shared) = shared {
            let device = &self.target.device;
            match self.hybrid.share(device, column, host.clone(), shared, finish, rules) {
                Ok(divided) => return Some(divided),
                Err(error) => {
                    let error = error.of_column(column.name);
                    self.undecoded.get_or_insert_with(|| undecoded(error.message()));
                }
            }
        }
        let device = ColumnWork::Finished(finish);
        (finish != Finish::bytes()).then_some(DividedColumn { host, device })
    }

    /// The placement of a resident data set.
    ///
    /// # Errors
    /// The device has no kernels; or see [`ResidentPlan::new`].
    pub(crate) fn resident(
        target: DeviceSlots,
        columns: &mut Columns,
        residency: &Residency,
        extent: &ResidentExtent<'_>,
    ) -> Result<(ColumnPlacement, ResidentPlan)> {
        let driver = target.device.driver();
        driver.prepare_kernels(Program::Pictures)?;
        let undecoded = shares_jpegs(columns)
            .then(|| undecoded("the data set stays on the device, and is decoded once"));
        let mut plan = ResidentPlan::new(residency, columns, extent, driver)?;
        let makes = std::mem::take(&mut plan.makes);
        let hybrid = HybridColumns::default();
        let transforms = Vec::new();
        let unconverted = None;
        Ok((ColumnPlacement { target, makes, unconverted, undecoded, hybrid, transforms }, plan))
    }

    /// Slabs that are in use by the device or on their way to it.
    pub(crate) fn slabs(&self) -> u64 {
        self.target.count as u64 + 1 + self.hybrid.slabs()
    }

    /// The slots for batches of `columns`, what the device decodes, its counters, and the warning.
    ///
    /// # Errors
    /// A batch is too large for the device.
    pub(crate) fn finish(self, columns: &ColumnSet) -> Result<Placed> {
        // In the slab the keys come first.
        let makes = self.makes.into_iter();
        let makes =
            makes.map(|(number, make)| (number + 1, columns.names[number + 1].clone(), make));
        let work = PostCopy::new(&columns.layout, makes)?;
        let DeviceSlots { device, count } = self.target;
        let slots = Slots::new(device.driver().clone(), work, count.max(1), self.unconverted);
        Ok(Placed {
            slots: Arc::new(slots.with_objects(objects(columns)).because(device.why())),
            counters: DecoderCounters::of(self.hybrid.about.clone()),
            decode: DeviceDecode::Hybrid(Arc::new(self.hybrid)),
            warning: self.undecoded,
            transforms: self.transforms,
        })
    }
}

/// The columns of objects, whose values go to the device. A column of one mask for each picture, and others whose rows differ
/// in length, stay on the host.
fn objects(columns: &ColumnSet) -> ObjectColumns {
    let mut objects = Vec::new();
    for (name, decode) in columns.decoders() {
        let shape = match decode.objects() {
            Some(ObjectRows::Numbers(shape)) => shape,
            Some(ObjectRows::Masks) => Vec::new(),
            Some(ObjectRows::Plane) | None => continue,
        };
        objects.push(ObjectColumn { name: name.to_string(), shape });
    }
    ObjectColumns::new(objects)
}

/// The device's part of a loader.
pub(crate) struct Placed {
    pub(crate) slots: Arc<Slots>,
    pub(crate) decode: DeviceDecode,
    pub(crate) counters: DecoderCounters,
    pub(crate) warning: Option<Message>,
    pub(crate) transforms: Vec<Arc<Sharing>>,
}
