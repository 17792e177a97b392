//! `Coefficients`: collects the coefficients of a picture whose blocks come in several scans, until
//! the last scan is read.
//!
//! The blocks of the region are kept, 128 bytes each. Of the blocks that are only passed on the way
//! to it, 8 bytes record which coefficients are not 0: decoding later scans needs that mask (T.81,
//! G.1.2.3).

use std::ops::Range;

use crate::entropy::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;

/// Limit on the number of components.
const MOST: usize = 4;

/// The layout of a component's blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockLayout {
    /// Blocks of an MCU, horizontally and vertically.
    pub(crate) h: u32,
    pub(crate) v: u32,
    /// Number of blocks of earlier components in the MCU.
    first: usize,
    /// Blocks across the picture, without the padding of the last MCU.
    pub(crate) across: u32,
    pub(crate) down: u32,
}

/// The MCUs whose blocks are kept.
#[derive(Debug, Clone, Default)]
struct Kept {
    rows: Range<u32>,
    columns: Range<u32>,
}

/// Which blocks are read, and which are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    parts: [BlockLayout; MOST],
    /// Blocks of an MCU.
    blocks: usize,
    /// MCUs across.
    pub(crate) mcus: u32,
    /// Rows of MCUs that are read: all up to the last one that is kept.
    pub(crate) rows: u32,
    kept: Kept,
    /// Rows of MCUs in the picture.
    all: u32,
}

impl Grid {
    /// Creates a grid that reads all blocks and keeps none.
    pub(crate) fn read(header: &Header) -> Grid {
        let rows = header.mcus().1;
        Grid::of(header, rows, Kept::default())
    }

    /// Creates a grid that keeps the blocks of these rows and columns of MCUs, and reads the rows
    /// above.
    pub(crate) fn kept(header: &Header, rows: &Range<u32>, columns: &Range<u32>) -> Grid {
        let kept = Kept { rows: rows.clone(), columns: columns.clone() };
        Grid::of(header, rows.end, kept)
    }

    fn of(header: &Header, rows: u32, kept: Kept) -> Grid {
        let (h, v) = header.components.most();
        let mcus = header.mcus();
        let mut grid = Grid { mcus: mcus.0, rows, kept, all: mcus.1, ..Grid::default() };
        for (part, component) in grid.parts.iter_mut().zip(header.components.iter()) {
            *part = BlockLayout {
                h: component.h,
                v: component.v,
                first: grid.blocks,
                across: blocks(header.width, component.h, h),
                down: blocks(header.height, component.v, v),
            };
            grid.blocks += (component.h * component.v) as usize;
        }
        grid
    }

    pub(crate) fn part(&self, component: usize) -> BlockLayout {
        self.parts[component]
    }

    /// Returns the number of rows of blocks of a component that are read.
    pub(crate) fn lines(&self, component: usize) -> u32 {
        let part = self.parts[component];
        part.down.min(self.rows.saturating_mul(part.v))
    }

    /// Returns the same grid, of which all rows are read.
    pub(crate) fn whole(self) -> Grid {
        Grid { rows: self.all, ..self }
    }

    /// Returns true if all rows of the picture are read.
    pub(crate) fn is_whole(&self) -> bool {
        self.rows == self.all
    }

    /// Returns the number of MCUs of a scan of these components, over all rows.
    pub(crate) fn units(&self, components: &[usize]) -> u64 {
        let (across, down) = match components {
            &[one] => (self.parts[one].across, self.parts[one].down),
            _ => (self.mcus, self.all),
        };
        u64::from(across) * u64::from(down)
    }

    /// Returns the numbers of blocks that are read and that are kept.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let each = self.blocks as u64;
        let rows = self.kept.rows.len() as u64;
        let columns = self.kept.columns.len() as u64;
        (u64::from(self.mcus) * u64::from(self.rows) * each, rows * columns * each)
    }

    /// Returns the most bytes that they take, also if all rows are read in the end.
    pub(crate) fn bytes(&self) -> u64 {
        let kept = self.counts().1;
        let all = u64::from(self.mcus) * u64::from(self.all) * self.blocks as u64;
        let row = self.kept.columns.len() as u64 * self.blocks as u64;
        8 * all + 128 * kept + row
    }
}

/// The coefficients of the current picture; the memory is reused for the next.
#[derive(Debug, Default)]
pub(crate) struct Coefficients {
    grid: Grid,
    /// For each block that is read, by MCUs: a mask of the zigzag numbers that are not 0.
    filled: Vec<u64>,
    /// Kept blocks, by MCUs: before dequantizing, in natural order. All zeros between pictures.
    kept: Vec<[i16; 64]>,
    /// The zigzag number of the last nonzero coefficient of each block of a row of MCUs.
    last: Vec<u8>,
    /// The target for blocks that are read but not kept.
    scratch: Scratch,
}

/// A block that is written but never used.
#[derive(Debug)]
struct Scratch([i16; 64]);

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch([0; 64])
    }
}

impl Coefficients {
    /// Prepares memory for a picture.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub(crate) fn set(&mut self, grid: Grid) -> Result<()> {
        let (read, kept) = grid.counts();
        self.wipe();
        self.grid = grid;
        self.filled.clear();
        room(&mut self.filled, read, 0)?;
        room(&mut self.kept, kept, [0; 64])
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Releases a picture whose rows were all taken, which left zeros.
    pub(crate) fn release(&mut self) {
        self.grid = Grid::default();
    }

    /// Clears the rest of a picture that was not taken.
    pub(crate) fn wipe(&mut self) {
        let kept = usize::try_from(self.grid.counts().1).unwrap_or(usize::MAX);
        self.kept.iter_mut().take(kept).for_each(|block| *block = [0; 64]);
        self.grid = Grid::default();
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        if self.filled.capacity() * 8 > bytes {
            self.filled = Vec::new();
        }
        if self.kept.capacity() * 128 > bytes {
            self.kept = Vec::new();
        }
    }

    /// Returns block `n` of a component in an MCU.
    #[inline(always)]
    pub(crate) fn block(&mut self, row: u32, column: u32, component: usize, n: u32) -> Block<'_> {
        let grid = &self.grid;
        let place = grid.parts[component].first + n as usize;
        let number = (row as usize * grid.mcus as usize + column as usize) * grid.blocks + place;
        let Kept { rows, columns } = &grid.kept;
        let filled = &mut self.filled[number];
        if !rows.contains(&row) || !columns.contains(&column) {
            return Block { coefficients: &mut self.scratch.0, filled };
        }
        let row = (row - rows.start) as usize * columns.len();
        let kept = (row + (column - columns.start) as usize) * grid.blocks + place;
        Block { coefficients: &mut self.kept[kept], filled }
    }

    /// Returns a kept row of MCUs: its blocks, and the zigzag number of each block's last
    /// coefficient that is not 0.
    pub(crate) fn row(&mut self, row: u32) -> (&mut [[i16; 64]], &[u8]) {
        let grid = &self.grid;
        let Kept { rows, columns } = &grid.kept;
        let count = columns.len() * grid.blocks;
        let from = (row as usize * grid.mcus as usize + columns.start as usize) * grid.blocks;
        let filled = &self.filled[from..from + count];
        self.last.clear();
        // `| 1` makes the last number of an empty block 0.
        self.last.extend(filled.iter().map(|mask| 63 - (mask | 1).leading_zeros() as u8));
        let at = (row - rows.start) as usize * count;
        (&mut self.kept[at..at + count], &self.last)
    }

    /// Returns the blocks of a row of MCUs of a grid that keeps all, and for each block a bit per
    /// AC coefficient that is not 0, by zigzag number.
    pub(crate) fn whole_row(&self, row: u32) -> (&[[i16; 64]], &[u64]) {
        let count = self.grid.mcus as usize * self.grid.blocks;
        let range = row as usize * count..(row as usize + 1) * count;
        (&self.kept[range.clone()], &self.filled[range])
    }
}

/// Returns the blocks of a component on a side of so many pixels; the factor of the component is `own` of
/// `most`.
fn blocks(pixels: u32, own: u32, most: u32) -> u32 {
    (u64::from(pixels) * u64::from(own)).div_ceil(u64::from(8 * most)) as u32
}

/// Makes `buffer` at least `length` long.
fn room<T: Copy>(buffer: &mut Vec<T>, length: u64, empty: T) -> Result<()> {
    let more =
        usize::try_from(length).ok().map(|length| (length, length.saturating_sub(buffer.len())));
    let made = more.filter(|&(_, more)| buffer.try_reserve_exact(more).is_ok());
    let Some((length, more)) = made else {
        let text = format!("no memory for the coefficients of {length} blocks");
        return Err(Error::new(ErrorKind::Limit, text));
    };
    if more > 0 {
        buffer.resize(length, empty);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        // 4:2:0: two rows of three MCUs, of which one column of the second row is kept.
        fn part(h: u32, v: u32, first: usize, across: u32, down: u32) -> BlockLayout {
            BlockLayout { h, v, first, across, down }
        }
        Grid {
            parts: [
                part(2, 2, 0, 5, 4),
                part(1, 1, 4, 3, 2),
                part(1, 1, 5, 3, 2),
                BlockLayout::default(),
            ],
            blocks: 6,
            mcus: 3,
            rows: 2,
            kept: Kept { rows: 1..2, columns: 1..2 },
            all: 2,
        }
    }

    #[test]
    fn blocks_are_kept_where_they_are_wanted() {
        let mut coefficients = Coefficients::default();
        coefficients.set(grid()).unwrap();
        assert_eq!((coefficients.filled.len(), coefficients.kept.len()), (36, 6));
        for (row, column, component, n) in [(0, 1, 0, 0), (1, 0, 0, 3), (1, 1, 0, 3), (1, 1, 2, 0)]
        {
            let block = coefficients.block(row, column, component, n);
            block.coefficients[8] = 7;
            *block.filled = 1 << 2;
        }
        let (blocks, last) = coefficients.row(1);
        assert_eq!(blocks.iter().map(|block| block[8]).collect::<Vec<_>>(), [0, 0, 0, 7, 0, 7]);
        assert_eq!(last, [0, 0, 0, 2, 0, 2]);
        coefficients.set(grid()).unwrap();
        assert!(coefficients.kept.iter().all(|block| *block == [0; 64]), "nothing is left");
        assert!(coefficients.filled.iter().all(|&mask| mask == 0));
    }

    #[test]
    fn reading_ends_with_the_last_row_of_the_region() {
        let mut grid = grid();
        assert_eq!([0, 1].map(|c| grid.lines(c)), [4, 2]);
        grid.rows = 1;
        assert_eq!([0, 1].map(|c| grid.lines(c)), [2, 1]);
        assert_eq!(grid.bytes(), 8 * 36 + 128 * 6 + 6);
    }
}
