//! `Store`: the coefficients of a damaged picture, by component: of one row of MCUs at a time, or of
//! all rows.

use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, NATURAL};
use crate::several_scans::coefficients::Grid;

/// The blocks of one component.
#[derive(Debug, Default)]
pub(super) struct ComponentBlocks {
    /// Blocks of an MCU, across and down.
    pub(super) h: u32,
    pub(super) v: u32,
    /// Blocks of the picture, without those that only fill MCUs.
    pub(super) across: u32,
    pub(super) down: u32,
    /// Blocks of a row of MCUs.
    stride: usize,
    blocks: Vec<[i16; 64]>,
}

/// The coefficients, before dequantizing, in natural order.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) parts: Vec<ComponentBlocks>,
    /// Rows of MCUs that are held; the row of a picture of more rows replaces an earlier one.
    rows: u32,
}

impl ComponentBlocks {
    /// Returns the block in this column and row of blocks; zeros below the last row.
    pub(super) fn at(&self, x: u32, y: u32) -> &[i16; 64] {
        static EMPTY: [i16; 64] = [0; 64];
        self.blocks.get(y as usize * self.stride + x as usize).unwrap_or(&EMPTY)
    }
}

impl Store {
    /// Takes zeros for `rows` rows of MCUs.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub(super) fn set(&mut self, header: &Header, rows: u32) -> Result<()> {
        let grid = Grid::read(header);
        self.rows = rows;
        self.parts.resize_with(header.components.count(), ComponentBlocks::default);
        for (number, part) in self.parts.iter_mut().enumerate() {
            let found = grid.part(number);
            part.h = found.h;
            part.v = found.v;
            part.across = found.across;
            part.down = found.down;
            part.stride = grid.mcus as usize * found.h as usize;
            let count = u64::from(rows) * u64::from(found.v) * part.stride as u64;
            part.blocks.clear();
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            part.blocks.try_reserve_exact(count).map_err(|_| {
                let text = format!("no memory for the coefficients of {count} blocks");
                Error::new(ErrorKind::Limit, text)
            })?;
            part.blocks.resize(count, [0; 64]);
        }
        Ok(())
    }

    /// Returns the bytes that it takes for a picture.
    pub(super) fn bytes(header: &Header, rows: u32) -> u64 {
        let row = u64::from(header.mcus().0) * header.components.blocks() as u64;
        128 * row * u64::from(rows)
    }

    /// Returns where a row of MCUs is among those that are held.
    pub(super) fn held(&self, row: u32) -> u32 {
        row % self.rows
    }

    /// Sets all coefficients to zeros.
    pub(super) fn clear(&mut self) {
        for part in &mut self.parts {
            part.blocks.fill([0; 64]);
        }
    }

    /// Returns block `n` of a component in an MCU.
    #[inline(always)]
    pub(super) fn block(
        &mut self,
        row: u32,
        column: u32,
        component: usize,
        n: u32,
    ) -> &mut [i16; 64] {
        let held = self.held(row);
        let part = &mut self.parts[component];
        let y = held * part.v + n / part.h;
        let x = column * part.h + n % part.h;
        &mut part.blocks[y as usize * part.stride + x as usize]
    }

    pub(super) fn drop_large(&mut self, bytes: usize) {
        for part in &mut self.parts {
            if part.blocks.capacity() * 128 > bytes {
                part.blocks = Vec::new();
            }
        }
    }
}

/// Returns the zigzag number of the last coefficient that is not 0.
pub(super) fn last_of(block: &[i16; 64]) -> u8 {
    (1..64u8).rev().find(|&k| block[usize::from(NATURAL[usize::from(k)])] != 0).unwrap_or(0)
}
