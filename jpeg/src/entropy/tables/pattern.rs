//! `Pattern`: the tables for each block of an MCU.

use crate::header::{Components, MCU_BLOCKS};

/// Room for the blocks of an MCU, a power of two so that no place is out of range.
pub(in crate::entropy) const PLACES: usize = MCU_BLOCKS.next_power_of_two();

/// The tables for each block of an MCU.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::entropy) struct Pattern {
    /// Component, DC table, AC table.
    blocks: [(u8, u8, u8); PLACES],
    count: usize,
}

impl Pattern {
    pub(in crate::entropy) fn of(components: &Components) -> Pattern {
        let mut pattern = Pattern::default();
        for (n, component) in components.iter().enumerate() {
            for _ in 0..component.h * component.v {
                let block = (n as u8, component.dc as u8, component.ac as u8);
                pattern.blocks[pattern.count] = block;
                pattern.count += 1;
            }
        }
        pattern
    }

    /// Returns the number of blocks.
    pub(in crate::entropy) fn len(&self) -> usize {
        self.count
    }

    /// Returns component, DC table and AC table of a block, each at most 3.
    #[inline(always)]
    pub(in crate::entropy) fn at(&self, place: usize) -> (usize, usize, usize) {
        let (component, dc, ac) = self.blocks[place % PLACES];
        (usize::from(component & 3), usize::from(dc & 3), usize::from(ac & 3))
    }
}
