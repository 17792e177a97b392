//! `ObjectColumns`: the columns of objects, such as boxes, that are copied to a device, and their places in its memory.
//!
//! Pure: computes offsets.

use crate::batch::{Batch, Column};

/// Columns begin at a multiple of so many bytes, as device allocations do.
const ALIGNED: usize = 256;

/// A column whose rows have different numbers of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectColumn {
    /// The name.
    pub name: String,
    /// The shape of the numbers of an object: `[4]` for boxes, empty for one number. Empty for masks, whose objects have
    /// different sizes.
    pub shape: Vec<usize>,
}

impl ObjectColumn {
    /// The shape of `elements` elements: the number of objects, then the shape of one.
    fn dims(&self, elements: usize) -> Vec<usize> {
        let each = self.shape.iter().product();
        let objects = elements.checked_div(each).unwrap_or(0);
        [&[objects], &self.shape[..]].concat()
    }
}

/// The objects of one column of a batch, and their place on the device.
#[derive(Debug, Clone)]
pub(crate) struct PlacedObjects<'a> {
    /// The column on the host.
    pub(crate) column: Column<'a>,
    /// Where its values begin in the memory for those of all columns.
    pub(crate) place: usize,
    /// The number of objects of all rows, then the shape of one.
    pub(crate) shape: Vec<usize>,
}

impl PlacedObjects<'_> {
    /// Where its values end.
    pub(crate) fn end(&self) -> usize {
        self.place + self.column.bytes().len()
    }
}

/// The columns of objects of a loader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectColumns {
    columns: Vec<ObjectColumn>,
}

impl ObjectColumns {
    /// These columns, in their order.
    pub fn new(columns: Vec<ObjectColumn>) -> ObjectColumns {
        ObjectColumns { columns }
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// True if this is the name of one of them.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The values of all columns in a batch, one column after the other. Only the bytes in use count.
    pub(crate) fn values<'a>(&self, batch: &'a Batch) -> Vec<PlacedObjects<'a>> {
        let mut values: Vec<PlacedObjects<'a>> = Vec::with_capacity(self.columns.len());
        for object in &self.columns {
            let Ok(column) = batch.column(&object.name) else { continue };
            let place = values.last().map_or(0, PlacedObjects::end).next_multiple_of(ALIGNED);
            let shape = object.dims(column.bytes().len() / column.dtype().size());
            values.push(PlacedObjects { column, place, shape });
        }
        values
    }
}
