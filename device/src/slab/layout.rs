//! `SlabLayout`: where the columns of a batch are in its slab. Arithmetic.

use tarflume_types::{Error, ErrorKind, Result, RowShape};

/// Columns begin on a cache line.
pub(super) const COLUMN_ALIGN: usize = 64;

/// The positions of a batch's columns in its slab.
#[derive(Debug)]
pub struct SlabLayout {
    pub(super) shapes: Vec<RowShape>,
    /// For each column, its offset in the fixed block, or its number among the variable columns.
    pub(super) places: Vec<usize>,
    pub(super) rows: usize,
    pub(super) fixed: usize,
    pub(super) variable: usize,
}

impl SlabLayout {
    /// The layout of `rows` rows of columns of these shapes.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: the batch has more bytes than can be addressed.
    pub fn new(shapes: Vec<RowShape>, rows: usize) -> Result<SlabLayout> {
        let mut fixed = 0usize;
        let mut variable = 0;
        let mut places = Vec::new();
        for shape in &shapes {
            let Some(bytes) = shape.bytes() else {
                places.push(variable);
                variable += 1;
                continue;
            };
            places.push(fixed);
            let count = count_of(shape, rows);
            let end = bytes.checked_mul(count).and_then(|n| n.checked_add(fixed + COLUMN_ALIGN));
            let end = end.filter(|&end| isize::try_from(end).is_ok()).ok_or_else(|| {
                Error::new(ErrorKind::Limit, format!("a batch of {rows} rows cannot be addressed"))
            })?;
            fixed = (end - 1) / COLUMN_ALIGN * COLUMN_ALIGN;
        }
        Ok(SlabLayout { shapes, places, rows, fixed, variable })
    }

    /// Bytes of all fixed columns.
    pub fn fixed_bytes(&self) -> usize {
        self.fixed
    }

    /// Maximum number of rows of a batch.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Offset of a fixed column in the fixed block; `None` for a variable column.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.shapes[column].bytes().map(|_| self.places[column])
    }

    /// The shapes of the columns' rows.
    pub fn shapes(&self) -> &[RowShape] {
        &self.shapes
    }
}

/// How often a column of this shape has the bytes of a row, in a batch of `rows` rows.
fn count_of(shape: &RowShape, rows: usize) -> usize {
    match shape {
        RowShape::Packed(packed) => packed.packs,
        RowShape::Fixed(..) | RowShape::Variable(_) | RowShape::Padded(_) => rows,
    }
}
