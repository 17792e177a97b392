//! `Lane`: one stream of entropy-coded blocks on its way to coefficients.
//!
//! All that a step needs, and what happens once a block: the end of one and the DC of the next. Steps
//! inside a block are in `lockstep`.

use std::sync::Arc;

use super::huffman::{END, Entries, LOOK, RARE, Table, Tables};
use super::unstuff::Unstuffed;
use crate::header::{Components, MCU_BLOCKS, NATURAL};

/// What is wrong with a stream; the lane's position is where it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bits here are no code of the table.
    NoCode,
    /// A block has more than 64 coefficients.
    TooLong,
    /// The data end inside a block.
    Cut,
    /// More blocks end than there are.
    TooMany,
}

/// Which tables each block of an MCU is decoded with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pattern {
    /// Component, DC table, AC table.
    blocks: [(u8, u8, u8); MCU_BLOCKS],
    count: usize,
}

/// The DC of each component's last block.
pub(crate) type Predictors = [i32; 4];

/// Where a lane stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Bits taken from the data.
    pub(super) bit: usize,
    /// Zigzag place of the last coefficient of the block under way.
    pub(super) k: usize,
    /// Blocks begun in this leg, the one under way included.
    pub(super) begun: usize,
    /// Blocks of this leg.
    pub(super) blocks: usize,
    /// Place in the pattern of the block that comes next.
    place: usize,
    predictors: Predictors,
    pub(super) fault: Option<Fault>,
}

/// A stream of blocks, taken in *legs*: runs of blocks after which somebody looks at what came out.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) data: Unstuffed,
    /// Lanes on one picture share them.
    pub(crate) tables: Option<Arc<Tables>>,
    /// Blocks of the leg, before dequantizing, in natural order. All zeros when a leg starts.
    pub(crate) coefficients: Vec<[i16; 64]>,
    /// For each, the zigzag place of its last coefficient.
    pub(crate) last: Vec<u8>,
    pub(super) pattern: Pattern,
    pub(super) state: State,
}

impl Lane {
    /// Makes ready for a picture of these components and tables.
    pub(crate) fn set_components(&mut self, components: &Components, tables: &Arc<Tables>) {
        self.tables = Some(tables.clone());
        let mut pattern = Pattern::default();
        for (n, component) in components.iter().enumerate() {
            for _ in 0..component.h * component.v {
                let block = (n as u8, component.dc as u8, component.ac as u8);
                pattern.blocks[pattern.count] = block;
                pattern.count += 1;
            }
        }
        self.pattern = pattern;
    }

    /// Makes room for legs of up to `blocks` blocks.
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

    /// Forgets the blocks of a leg that nobody wants.
    pub(crate) fn wipe(&mut self) {
        self.coefficients.iter_mut().take(self.state.blocks).for_each(|block| *block = [0; 64]);
    }

    /// Forgets all: a call was left half-way.
    pub(crate) fn clean(&mut self) {
        self.coefficients.fill([0; 64]);
        self.tables = None;
    }

    /// Puts the lane at a bit of its data, in front of an MCU.
    pub(crate) fn seek(&mut self, bit: usize, predictors: Predictors) {
        (self.state.bit, self.state.predictors, self.state.place) = (bit, predictors, 0);
    }

    /// Bits taken from the data.
    pub(crate) fn bit(&self) -> usize {
        self.state.bit
    }

    /// The DC of each component's last block.
    pub(crate) fn predictors(&self) -> Predictors {
        self.state.predictors
    }

    /// Begins a leg of `blocks` blocks, whole MCUs, that are to stand from `first` on among the
    /// coefficients.
    ///
    /// # Errors
    /// The first of them can't be begun.
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

    /// What stopped the lane; none if its leg is done.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.state.fault
    }

    /// What is needed once a block, from the block that begins next; and the data.
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

    /// The lane in the middle of a block, ready for steps.
    #[inline(always)]
    pub(super) fn hot(&mut self) -> Hot<'_> {
        // The block under way is taken first, so one block and its `last` are behind.
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

/// What a step needs.
pub(super) struct Hot<'a> {
    pub(super) data: &'a [u8],
    pub(super) bit: usize,
    pub(super) k: usize,
    pub(super) block: &'a mut [i16; 64],
    pub(super) ac: &'a Entries,
    pub(super) cold: Cold<'a>,
}

impl Hot<'_> {
    /// Writes back what later calls need.
    #[inline(always)]
    pub(super) fn park(self) {
        self.cold.state.bit = self.bit;
        self.cold.state.k = self.k;
    }
}

/// What is needed once a block.
pub(super) struct Cold<'a> {
    tables: &'a Tables,
    pattern: &'a Pattern,
    pub(super) state: &'a mut State,
    /// Blocks not begun.
    blocks: std::slice::IterMut<'a, [i16; 64]>,
    /// Of the block under way and those not begun.
    last: std::slice::IterMut<'a, u8>,
    /// Bits of the data.
    bits: usize,
}

/// The place of a coefficient, from its number in the zigzag. Numbers beyond the block's end lead to
/// the last place: a block that ends early writes a zero there, where a zero is.
pub(super) static PLACES: [u8; 256] = {
    let mut places = [63; 256];
    let mut n = 0;
    while n < 64 {
        places[n] = NATURAL[n];
        n += 1;
    }
    places
};

/// 57 bits or more, from `bit` on; none at the end of the data.
#[inline(always)]
pub(super) fn window(data: &[u8], bit: usize) -> Option<u64> {
    let bytes = data.get(bit >> 3..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes) << (bit & 7))
}

/// The value of `size` bits behind a code of `length` bits (T.81, F.2.2.1).
pub(super) fn value(window: u64, length: u32, size: u32) -> i32 {
    if size == 0 {
        return 0;
    }
    let bits = ((window << length) >> (64 - size)) as i32;
    if bits >> (size - 1) == 1 { bits } else { bits + 1 - (1 << size) }
}

/// What the entry says that follows the code, from the window it was looked up with.
#[inline(always)]
pub(super) fn entry_value(entry: u64, window: u64) -> i16 {
    let bits = (window >> (entry & 63)) as u16 & (entry >> 16) as u16;
    bits.wrapping_add((entry >> 32) as u16) as i16
}

/// The difference of a DC to the one before, and the bits that it takes; none if there is no such code.
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
    /// Begins the next block: its DC. None if the leg is done or the data are at fault.
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
    /// After a symbol that moved to the block's end or beyond, or that the table did not tell: goes on
    /// to the next block, or in this one. False if the lane stops.
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

    /// There are no more bits.
    #[cold]
    pub(super) fn cut(&mut self) -> bool {
        self.cold.state.fault = Some(Fault::Cut);
        false
    }

    /// The block is whole: on to the next.
    #[inline(always)]
    fn end(&mut self, last: usize) -> bool {
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

    /// A symbol that the table's entries don't tell.
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
