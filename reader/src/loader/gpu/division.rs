//! The types with which a column's work is divided between host and device. Data only.

use std::sync::Arc;

use tarflume_device::upload::post_copy::ColumnWork;

use crate::decode::Decode;

/// A column before its work is divided.
#[derive(Clone, Copy)]
pub(crate) struct NamedColumn<'a> {
    /// Its number among the loader's columns; in the slab it is one more, because the keys come first.
    pub(crate) number: usize,
    pub(crate) name: &'a str,
}

/// What the division of work depends on beside the columns.
#[derive(Clone, Copy)]
pub(crate) struct BatchRules {
    /// Rows of a batch.
    pub(crate) rows: usize,
    /// Whether the host reads all codes of a JPEG before it goes to the device.
    pub(crate) verifies: bool,
}

/// A column's work, divided.
pub(crate) struct DividedColumn {
    /// What the host decodes.
    pub(crate) host: Arc<dyn Decode>,
    /// What the device makes of it.
    pub(crate) device: ColumnWork,
}
