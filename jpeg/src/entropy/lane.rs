//! `Lane`: one stream of entropy-coded blocks and its coefficients.
//!
//! Holds the state of the steps, and the work that occurs once per block: the end of one and the DC
//! of the next. Steps inside a block are in `lockstep`.

use std::sync::Arc;

use super::huffman::{END, Entries, LOOK, RARE, Table, Tables};
use super::unstuff::Unstuffed;
use crate::header::{Components, MCU_BLOCKS, NATURAL};

/// A fault of a stream; the lane's position is where it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No code of the table matches the bits.
    NoCode,
    /// A block has more than 64 coefficients.
    TooLong,
    /// The data end inside a block.
    Cut,
    /// More blocks end than there are.
    TooMany,
}

/// The tables for each block of an MCU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pattern {
    /// Component, DC table, AC table.
    blocks: [(u8, u8, u8); MCU_BLOCKS],
    count: usize,
}

impl Pattern {
    pub(super) fn of(components: &Components) -> Pattern {
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

    /// Returns the tables for each block of an MCU.
    pub(super) fn sequence(&self) -> &[(u8, u8, u8)] {
        &self.blocks[..self.count]
    }
}

/// The DC of each component's last block.
pub(crate) type Predictors = [i32; 4];

/// The position of a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Bits taken from the data.
    pub(super) bit: usize,
    /// Zigzag number of the last coefficient of the current block.
    pub(super) k: usize,
    /// Blocks begun in this leg, including the current one.
    pub(super) begun: usize,
    /// Blocks of this leg.
    pub(super) blocks: usize,
    /// Position of the next block in the pattern.
    place: usize,
    predictors: Predictors,
    pub(super) fault: Option<Fault>,
}

/// A stream of blocks, decoded in *legs*: runs of blocks after which the caller examines the
/// result.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) data: Unstuffed,
    /// Shared by the lanes of one picture.
    pub(crate) tables: Option<Arc<Tables>>,
    /// Blocks of the leg, before dequantizing, in natural order. All zeros when a leg starts.
    pub(crate) coefficients: Vec<[i16; 64]>,
    /// For each block, the zigzag number of its last coefficient.
    pub(crate) last: Vec<u8>,
    pub(super) pattern: Pattern,
    pub(super) state: State,
}

impl Lane {
    /// Prepares for a picture with these components and tables.
    pub(crate) fn set_components(&mut self, components: &Components, tables: &Arc<Tables>) {
        self.tables = Some(tables.clone());
        self.pattern = Pattern::of(components);
    }

    /// Prepares memory for legs of up to `blocks` blocks.
    pub(crate) fn set_room(&mut self, blocks: usize) {
        if self.coefficients.len() < blocks {
            self.coefficients.reserve_exact(blocks - self.coefficients.len());
            self.last.reserve_exact(blocks - self.last.len());
            self.coefficients.resize(blocks, [0; 64]);
            self.last.resize(blocks, 0);
        }
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.data.drop_large(bytes);
        if self.coefficients.capacity() * 128 > bytes {
            (self.coefficients, self.last) = (Vec::new(), Vec::new());
        }
    }

    /// Clears the blocks of a leg that is discarded.
    pub(crate) fn wipe(&mut self) {
        self.coefficients.iter_mut().take(self.state.blocks).for_each(|block| *block = [0; 64]);
    }

    /// Clears all state after a call that a panic ended.
    pub(crate) fn clean(&mut self) {
        self.coefficients.fill([0; 64]);
        self.tables = None;
    }

    /// Moves to a bit of the data, before an MCU.
    pub(crate) fn seek(&mut self, bit: usize, predictors: Predictors) {
        (self.state.bit, self.state.predictors, self.state.place) = (bit, predictors, 0);
    }

    /// Returns the number of bits taken from the data.
    pub(crate) fn bit(&self) -> usize {
        self.state.bit
    }

    /// Returns the DC of each component's last block.
    pub(crate) fn predictors(&self) -> Predictors {
        self.state.predictors
    }

    /// Begins a leg of `blocks` blocks, whole MCUs, which are stored from `first` on among the
    /// coefficients.
    ///
    /// # Errors
    /// Returns an error if the first block cannot be begun.
    pub(crate) fn begin(&mut self, first: usize, blocks: usize) -> Result<(), Fault> {
        self.state.begun = first;
        self.state.blocks = first + blocks;
        self.state.fault = None;
        let (mut cold, data) = self.cold();
        let (bit, k) = (cold.state.bit, 0);
        let begun = cold.next(data, bit).map(|(bit, _, _)| bit);
        let fault = cold.state.fault;
        match (begun, fault) {
            (Some(bit), _) => {
                (self.state.bit, self.state.k) = (bit, k);
                Ok(())
            }
            (None, fault) => Err(fault.unwrap_or(Fault::Cut)),
        }
    }

    /// Returns the fault that stopped the lane; `None` if its leg is done.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.state.fault
    }

    /// Returns the state that is needed once per block, from the next block on; and the data.
    fn cold(&mut self) -> (Cold<'_>, &[u8]) {
        let range = self.state.begun..self.state.blocks;
        #[allow(clippy::expect_used)] // `set_components` comes before any leg
        let tables = self.tables.as_deref().expect("a lane at work has tables");
        let cold = Cold {
            tables,
            pattern: &self.pattern,
            state: &mut self.state,
            blocks: self.coefficients[range.clone()].iter_mut(),
            last: self.last[range].iter_mut(),
            bits: 8 * self.data.len(),
        };
        (cold, &self.data.bytes)
    }

    /// Returns the state for steps inside the current block.
    #[inline(always)]
    pub(super) fn hot(&mut self) -> Hot<'_> {
        // The current block is taken again, so step back by one block and its `last`.
        self.state.begun -= 1;
        let (bit, k, place) = (self.state.bit, self.state.k, self.state.place);
        let ac = self.pattern.ac(if place == 0 { self.pattern.count - 1 } else { place - 1 });
        let (mut cold, data) = self.cold();
        cold.state.begun += 1;
        let ac = &cold.tables.ac[ac].entries;
        #[allow(clippy::expect_used)] // `begin` and every exit leave a block under way
        let block = cold.blocks.next().expect("a block under way");
        Hot { data, bit, k, block, ac, cold }
    }
}

impl Pattern {
    fn ac(&self, place: usize) -> usize {
        usize::from(self.blocks[place].2) & 3
    }
}

/// The state of a step, kept in registers.
pub(super) struct Hot<'a> {
    pub(super) data: &'a [u8],
    pub(super) bit: usize,
    pub(super) k: usize,
    pub(super) block: &'a mut [i16; 64],
    pub(super) ac: &'a Entries,
    pub(super) cold: Cold<'a>,
}

impl Hot<'_> {
    /// Writes back the state for later calls.
    #[inline(always)]
    pub(super) fn park(self) {
        self.cold.state.bit = self.bit;
        self.cold.state.k = self.k;
    }
}

/// The state that is needed once per block.
pub(super) struct Cold<'a> {
    tables: &'a Tables,
    pattern: &'a Pattern,
    pub(super) state: &'a mut State,
    /// Blocks that are not begun.
    blocks: std::slice::IterMut<'a, [i16; 64]>,
    /// Of the current block and of those not begun.
    last: std::slice::IterMut<'a, u8>,
    /// Number of bits of the data.
    bits: usize,
}

/// The natural position of each zigzag number. Numbers beyond the block map to the last position: a
/// block that ends early writes a zero there, where a zero is already.
pub(super) static PLACES: [u8; 256] = {
    let mut places = [63; 256];
    let mut n = 0;
    while n < 64 {
        places[n] = NATURAL[n];
        n += 1;
    }
    places
};

/// Returns at least 57 bits from `bit` on; `None` at the end of the data.
#[inline(always)]
pub(super) fn window(data: &[u8], bit: usize) -> Option<u64> {
    let bytes = data.get(bit >> 3..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes) << (bit & 7))
}

/// Returns the value of `size` bits after a code of `length` bits (T.81, F.2.2.1, EXTEND).
pub(super) fn value(window: u64, length: u32, size: u32) -> i32 {
    if size == 0 {
        return 0;
    }
    let bits = ((window << length) >> (64 - size)) as i32;
    if bits >> (size - 1) == 1 { bits } else { bits + 1 - (1 << size) }
}

/// Returns the value after the code of `entry`, from the window of its lookup.
#[inline(always)]
pub(super) fn entry_value(entry: u64, window: u64) -> i16 {
    let bits = (window >> (entry & 63)) as u16 & (entry >> 16) as u16;
    bits.wrapping_add((entry >> 32) as u16) as i16
}

/// Returns the difference of a DC to the previous one, and the bits that it takes; `None` if no
/// code matches.
#[inline(always)]
pub(super) fn difference(table: &Table, window: u64) -> Option<(i32, usize)> {
    let entry = table.entries[(window >> (64 - LOOK)) as usize];
    if entry & 64 == 0 {
        return Some((entry_value(entry, window).into(), 64 - (entry & 63) as usize));
    }
    let rare = table.rare_dc(window)?;
    Some((value(window, rare.length, rare.size), (rare.length + rare.size) as usize))
}

impl<'a> Cold<'a> {
    /// Begins the next block by decoding its DC; returns `None` if the leg is done or the data are
    /// at fault.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        data: &[u8],
        bit: usize,
    ) -> Option<(usize, &'a mut [i16; 64], &'a Entries)> {
        let block = self.blocks.next()?;
        self.state.begun += 1;
        let (component, dc, ac) = self.pattern.blocks[self.state.place % MCU_BLOCKS];
        let next = self.state.place + 1;
        self.state.place = if next >= self.pattern.count { 0 } else { next };
        let Some(window) = window(data, bit) else { return self.fail(Fault::Cut) };
        let Some((difference, bits)) = difference(&self.tables.dc[usize::from(dc) & 3], window)
        else {
            return self.fail(Fault::NoCode);
        };
        let predictor = &mut self.state.predictors[usize::from(component) & 3];
        *predictor = predictor.wrapping_add(difference);
        block[0] = *predictor as i16;
        Some((bit + bits, block, &self.tables.ac[usize::from(ac) & 3].entries))
    }

    #[cold]
    fn fail<T>(&mut self, fault: Fault) -> Option<T> {
        self.state.fault = Some(fault);
        None
    }
}

impl Hot<'_> {
    /// Handles a symbol that reached the end of the block, or that the entries do not hold:
    /// continues with the next block or in this one. Returns false if the lane stops.
    #[inline(always)]
    pub(super) fn turn(&mut self, entry: u64) -> bool {
        let moves = (entry >> 8) & 0xff;
        let last = if moves == END {
            self.k - END as usize
        } else if self.k == 63 {
            63
        } else {
            return self.rare(moves);
        };
        self.end(last)
    }

    /// Records that the data end here.
    #[cold]
    pub(super) fn cut(&mut self) -> bool {
        self.cold.state.fault = Some(Fault::Cut);
        false
    }

    /// Ends the current block and begins the next one.
    #[inline(always)]
    fn end(&mut self, last: usize) -> bool {
        // The window may have read the zeros after the data: only here, once per block, is it
        // checked whether the bits existed.
        if self.bit > self.cold.bits {
            self.cold.state.fault = Some(Fault::Cut);
            return false;
        }
        if let Some(place) = self.cold.last.next() {
            *place = last as u8;
        }
        let Some((bit, block, ac)) = self.cold.next(self.data, self.bit) else { return false };
        (self.bit, self.block, self.ac, self.k) = (bit, block, ac, 0);
        true
    }

    /// Decodes a symbol that the table's entries do not hold.
    #[inline(never)]
    fn rare(&mut self, moves: u64) -> bool {
        let stop = |cold: &mut Cold<'_>, fault| {
            cold.state.fault = Some(fault);
            false
        };
        if moves != RARE {
            return stop(&mut self.cold, Fault::TooLong);
        }
        let at = self.k - RARE as usize;
        let Some(window) = window(self.data, self.bit) else {
            return stop(&mut self.cold, Fault::Cut);
        };
        let place = if self.cold.state.place == 0 {
            self.cold.pattern.count
        } else {
            self.cold.state.place
        };
        let table = &self.cold.tables.ac[self.cold.pattern.ac(place - 1)];
        let Some(rare) = table.rare_ac(window) else {
            return stop(&mut self.cold, Fault::NoCode);
        };
        self.bit += (rare.length + rare.size) as usize;
        if rare.run == 0 && rare.size == 0 {
            return self.end(at);
        }
        self.k = at + rare.run as usize + 1;
        if self.k > 63 {
            return stop(&mut self.cold, Fault::TooLong);
        }
        self.block[usize::from(PLACES[self.k]) & 63] = value(window, rare.length, rare.size) as i16;
        if self.k == 63 { self.end(63) } else { true }
    }
}
