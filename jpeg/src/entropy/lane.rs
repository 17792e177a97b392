//! `Lane`: one stream of entropy-coded blocks and its coefficients.
//!
//! Holds the state of the steps, and the work that occurs once per block: the end of one and the DC
//! of the next. Steps inside a block are in `lockstep`.

use std::slice::IterMut;
use std::sync::Arc;

use super::code::{PLACES, difference, entry_value, value, window};
use super::unstuff::Unstuffed;
use crate::entropy::tables::huffman::{self, LOOK};
use crate::entropy::tables::pairs::{END, LaneTables, Pairs};
use crate::entropy::tables::pattern::Pattern;
use crate::header::Components;

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

/// The DC of each component's last block.
pub(crate) type Predictors = [i32; 4];

/// The numbers of coefficients from the start of the current block on, so that any number of 8 bits
/// is in range: a step may write the one behind the block.
pub(super) const REACH: usize = 256;
/// Blocks behind those of a leg.
const SLACK: usize = REACH / 64 - 1;

/// The position of a lane.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Bits taken from the data; in the lowest 8 bits the zigzag number of the last coefficient of
    /// the current block.
    packed: u64,
    /// The current block, and the number of blocks of this leg.
    block: usize,
    blocks: usize,
    /// The place of the current block in the MCU.
    place: usize,
    predictors: Predictors,
    fault: Option<Fault>,
}

/// A stream of blocks, decoded in *legs*: runs of blocks after which the caller examines the
/// result.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) data: Unstuffed,
    /// Shared by the lanes of one picture.
    pub(crate) tables: Option<Arc<LaneTables>>,
    /// Blocks of the leg, before dequantizing, in natural order. All zeros when a leg starts whose
    /// result is used. Of [`SLACK`] more blocks nothing is used.
    pub(crate) coefficients: Vec<[i16; 64]>,
    /// For each block, the zigzag number of its last coefficient.
    pub(crate) last: Vec<u8>,
    pattern: Pattern,
    state: State,
}

impl Lane {
    /// Prepares for a picture with these components and tables.
    pub(crate) fn set_components(&mut self, components: &Components, tables: &Arc<LaneTables>) {
        self.tables = Some(tables.clone());
        self.pattern = Pattern::of(components);
    }

    /// Prepares memory for legs of up to `blocks` blocks.
    pub(crate) fn set_room(&mut self, blocks: usize) {
        if self.last.len() < blocks {
            let with_slack = blocks + SLACK;
            self.coefficients.reserve_exact(with_slack - self.coefficients.len());
            self.last.reserve_exact(blocks - self.last.len());
            self.coefficients.resize(with_slack, [0; 64]);
            self.last.resize(blocks, 0);
        }
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.data.drop_large(bytes);
        if self.coefficients.capacity() * 128 > bytes {
            self.coefficients = Vec::new();
            self.last = Vec::new();
        }
    }

    /// Clears all blocks: those of a leg that is discarded, and of rows that were only passed.
    pub(crate) fn wipe(&mut self) {
        self.coefficients.fill([0; 64]);
    }

    /// Clears all state after a call that a panic ended.
    pub(crate) fn clean(&mut self) {
        self.wipe();
        self.tables = None;
    }

    /// Moves to a bit of the data, before an MCU.
    pub(crate) fn seek(&mut self, bit: usize, predictors: Predictors) {
        self.state.packed = (bit as u64) << 8;
        self.state.predictors = predictors;
    }

    /// Returns the number of bits taken from the data.
    pub(crate) fn bit(&self) -> usize {
        (self.state.packed >> 8) as usize
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
        let state = &mut self.state;
        let blocks = first + blocks;
        state.block = first;
        state.blocks = blocks;
        state.place = 0;
        state.fault = None;
        let (mut hot, mut cold) = self.hot();
        hot.state &= !0xff;
        let begun = hot.next(&mut cold);
        cold.park(hot.state);
        if begun { Ok(()) } else { Err(self.state.fault.unwrap_or(Fault::Cut)) }
    }

    /// Returns the fault that stopped the lane; `None` if its leg is done.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.state.fault
    }

    /// Returns the state for steps inside the current block, and what is needed once per block.
    /// They are apart, because the address of the second one is taken: together, neither would be
    /// kept in registers.
    #[inline(always)]
    pub(super) fn hot(&mut self) -> (Hot<'_>, Cold<'_>) {
        let state = self.state;
        #[allow(clippy::expect_used)] // `set_components` comes before any leg
        let tables = self.tables.as_deref().expect("a lane at work has tables");
        let cold = Cold {
            tables,
            pattern: &self.pattern,
            last: self.last[state.block..state.blocks].iter_mut(),
            bits: 8 * self.data.len(),
            place: state.place,
            predictors: state.predictors,
            fault: state.fault,
            parked: &mut self.state,
        };
        let out = self.coefficients[state.block..state.blocks + SLACK].as_flattened_mut();
        let table = cold.table();
        (Hot { data: &self.data.bytes, state: state.packed, window: 0, table, out }, cold)
    }
}

/// The state of a step, kept in registers.
pub(super) struct Hot<'a> {
    pub(super) data: &'a [u8],
    /// Bits taken, and in the lowest 8 bits the zigzag number of the last coefficient.
    pub(super) state: u64,
    /// The next bits.
    pub(super) window: u64,
    pub(super) table: &'a Pairs,
    /// The coefficients from the current block on.
    pub(super) out: &'a mut [i16],
}

/// The state that is needed once per block.
pub(super) struct Cold<'a> {
    tables: &'a LaneTables,
    pattern: &'a Pattern,
    /// Of the current block and of those not begun.
    last: IterMut<'a, u8>,
    /// Number of bits of the data.
    bits: usize,
    place: usize,
    predictors: Predictors,
    fault: Option<Fault>,
    parked: &'a mut State,
}

impl<'a> Hot<'a> {
    /// Loads the next 57 bits. Returns false at the end of the data.
    #[inline(always)]
    pub(super) fn load(&mut self, cold: &mut Cold<'a>) -> bool {
        match window(self.data, (self.state >> 8) as usize) {
            Some(window) => {
                self.window = window;
                true
            }
            None => cold.fail(Fault::Cut),
        }
    }

    /// Handles an entry that reached the end of the block, or that holds no symbol: continues with
    /// the next block or in this one. Returns false if the lane stops.
    #[inline(always)]
    pub(super) fn turn(&mut self, cold: &mut Cold<'a>, entry: u64) -> bool {
        if !is_end(self.state as u8) {
            // The entry holds no symbol, or its symbols go beyond the block: perhaps only the second one
            // does. All of it is undone, and one symbol is decoded.
            // What the entry stored is stored again, or is behind the block.
            let (state, found) = cold.symbol(self.data, self.state - (entry & 0xffff));
            self.state = state;
            if cold.fault.is_some() {
                return false;
            }
            let k = state as u8;
            if let Some(place) = self.out.get_mut(usize::from(PLACES[usize::from(k)])) {
                *place = found;
            }
            if !is_end(k) {
                return self.load(cold);
            }
        }
        self.end(cold)
    }

    /// Ends the current block and begins the next one. Returns false if the lane stops.
    #[inline(always)]
    fn end(&mut self, cold: &mut Cold<'a>) -> bool {
        // The window may have read the zeros after the data: only here, once per block, is it
        // checked whether the bits existed.
        if (self.state >> 8) as usize > cold.bits {
            return cold.fail(Fault::Cut);
        }
        if let Some(last) = cold.last.next() {
            *last = self.state as u8 & !(END as u8);
        }
        self.state &= !0xff;
        if cold.last.len() == 0 {
            return false;
        }
        self.out = std::mem::take(&mut self.out).get_mut(64..).unwrap_or_default();
        let next = cold.place + 1;
        cold.place = if next >= cold.pattern.len() { 0 } else { next };
        self.table = cold.table();
        self.next(cold) && self.load(cold)
    }

    /// Begins a block by decoding its DC. Returns false if the lane stops.
    #[inline(always)]
    fn next(&mut self, cold: &mut Cold<'a>) -> bool {
        if !self.load(cold) {
            return false;
        }
        let (component, dc, _) = cold.pattern.at(cold.place);
        let Some((difference, bits)) = difference(&cold.tables.tables.dc[dc], self.window) else {
            return cold.fail(Fault::NoCode);
        };
        let predictor = &mut cold.predictors[component];
        *predictor = predictor.wrapping_add(difference);
        if let Some(place) = self.out.first_mut() {
            *place = *predictor as i16;
        }
        self.state += (bits as u64) << 8;
        true
    }
}

/// Returns true if a block has ended after coefficient `k`: it is full, or [`END`] was added.
#[inline(always)]
fn is_end(k: u8) -> bool {
    // A block that its last coefficient fills has no end: the code of one behind it is of the next
    // block. So `END` on top of 63 or more does not count, nor does an entry without a symbol.
    k == 63 || (END as u8..END as u8 + 63).contains(&k)
}

impl<'a> Cold<'a> {
    /// Returns the AC table of the current block.
    #[inline(always)]
    fn table(&self) -> &'a Pairs {
        &self.tables.pairs[self.pattern.at(self.place).2]
    }

    #[inline(always)]
    pub(super) fn fail(&mut self, fault: Fault) -> bool {
        self.fault = Some(fault);
        false
    }

    /// Writes back the state for later calls.
    #[inline(always)]
    pub(super) fn park(self, packed: u64) {
        let block = self.parked.blocks - self.last.len();
        let blocks = self.parked.blocks;
        let place = self.place;
        let predictors = self.predictors;
        let fault = self.fault;
        *self.parked = State { packed, block, blocks, place, predictors, fault };
    }

    /// Decodes one symbol; returns the state after it and the coefficient. Records a fault.
    // Not inlined: every look-up of every loop would have a copy of this rare path.
    #[inline(never)]
    fn symbol(&mut self, data: &[u8], state: u64) -> (u64, i16) {
        let table = &self.tables.tables.ac[self.pattern.at(self.place).2];
        let Some(window) = window(data, (state >> 8) as usize) else {
            self.fail(Fault::Cut);
            return (state, 0);
        };
        let entry = table.entries[(window >> (64 - LOOK)) as usize];
        let (moves, taken, found) = if entry >> 8 & 0xff == huffman::RARE {
            let Some(rare) = table.rare_ac(window) else {
                self.fail(Fault::NoCode);
                return (state, 0);
            };
            let ends = rare.run == 0 && rare.size == 0;
            let moves = if ends { END } else { u64::from(rare.run) + 1 };
            // `rare_ac` accepts at most 10 bits.
            let found = value(window, rare.length, rare.size) as i16;
            (moves, u64::from(rare.length + rare.size), found)
        } else {
            (entry >> 8 & 0xff, 64 - (entry & 0xff), entry_value(entry, window))
        };
        let state = state + (taken << 8) + moves;
        if moves != END && state as u8 > 63 {
            self.fail(Fault::TooLong);
        }
        (state, found)
    }
}
