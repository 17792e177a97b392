//! `Skim`: one stream of entropy-coded blocks that is read without keeping coefficients.
//!
//! A first pass finds the end of each block, several symbols a look-up. A second one decodes the DC
//! of each block, because a position needs the predictors. What is wrong with invalid data is not
//! determined here: the caller reads them again with `lane`.

use std::slice::IterMut;

use super::code::{difference, window};
use super::lane::Predictors;
use super::steps::{Steps, rounds};
use super::unstuff::Unstuffed;
use crate::entropy::tables::huffman::{END, LOOK, RARE, Tables};
use crate::entropy::tables::pattern::{PLACES, Pattern};
use crate::entropy::tables::skips::{BITS, Entry, Pair, SkipTables, Skips, TURN};
use crate::error::Result;
use crate::header::Header;

/// A stream of blocks, read in *legs*: runs of blocks after which the caller examines the result.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    pub(crate) data: Unstuffed,
    /// 60 kB. Boxed, because a scanner with its four lanes is built on the stack.
    tables: Box<Tables>,
    skips: SkipTables,
    pattern: Pattern,
    /// The position of the leg's start and of the end of each block.
    ends: Vec<u64>,
    /// Blocks of the leg that have ended, and all of them.
    done: usize,
    blocks: usize,
    /// The position and, in the lowest 8 bits, the coefficients read of the current block.
    state: u64,
    /// The block's place in the MCU.
    place: usize,
    is_valid: bool,
    predictors: Predictors,
}

impl Skim {
    /// Prepares for a picture; the data follow.
    ///
    /// # Errors
    /// Returns an error if the codes of a table are invalid.
    pub(crate) fn open(&mut self, header: &Header, bytes: &[u8]) -> Result<()> {
        self.tables.build(header, bytes)?;
        let entry = Entry::for_data(bytes.len().saturating_sub(header.data));
        self.skips.build(&header.components, &self.tables, entry);
        self.pattern = Pattern::of(&header.components);
        Ok(())
    }

    /// Moves to a bit of the data, before an MCU, and resets the predictors.
    pub(crate) fn seek(&mut self, bit: usize) {
        self.state = (bit as u64) << 8;
        self.predictors = Predictors::default();
    }

    /// Begins a leg of `blocks` blocks, whole MCUs.
    pub(crate) fn begin(&mut self, blocks: usize) {
        if self.ends.len() <= blocks {
            self.ends.resize(blocks + 1, 0);
        }
        self.ends[0] = self.state >> 8;
        self.done = 0;
        self.blocks = blocks;
        self.place = 0;
        self.is_valid = true;
    }

    /// Returns true if no fault was found in the leg. Its bits may be beyond the data.
    pub(crate) fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// Returns the bit after `blocks` blocks of the leg.
    pub(crate) fn bit(&self, blocks: usize) -> usize {
        self.ends[blocks] as usize
    }

    /// Returns the DC of each component's last block of those added.
    pub(crate) fn predictors(&self) -> Predictors {
        self.predictors
    }

    /// Adds the DC of blocks `from..to` of the leg, whole MCUs, to the predictors.
    pub(crate) fn add(&mut self, from: usize, to: usize) {
        let mut place = 0;
        for &start in &self.ends[from..to] {
            let (component, dc, _) = self.pattern.at(place);
            place = if place + 1 >= self.pattern.len() { 0 } else { place + 1 };
            let found = window(&self.data.bytes, start as usize)
                .and_then(|window| difference(&self.tables.dc[dc], window));
            let Some((difference, _)) = found else {
                self.is_valid = false;
                return;
            };
            let predictor = &mut self.predictors[component];
            *predictor = predictor.wrapping_add(difference);
        }
    }

    /// Returns the state for steps. Its two parts are apart: what is needed once per block has its
    /// address taken, and would otherwise keep the rest out of registers.
    #[inline(always)]
    fn hot(&mut self) -> (Hot<'_>, Cold<'_>) {
        let mut pairs = [&self.skips.pairs[0]; PLACES];
        for (place, pair) in pairs.iter_mut().enumerate().take(self.pattern.len()) {
            *pair = &self.skips.pairs[usize::from(self.skips.of[self.pattern.at(place).0])];
        }
        let rest = pairs[self.place % PLACES].rest();
        let table = if self.state & 0xff == 0 { &pairs[self.place % PLACES].first } else { rest };
        let ends = self.ends[self.done + 1..=self.blocks].iter_mut();
        let cold = Cold {
            tables: &self.tables,
            pattern: &self.pattern,
            pairs,
            ends,
            place: self.place,
            places: self.pattern.len(),
            parked_place: &mut self.place,
            is_valid: &mut self.is_valid,
            done: &mut self.done,
            blocks: self.blocks,
            parked: &mut self.state,
        };
        let state = *cold.parked;
        (Hot { data: &self.data.bytes, state, table, rest, window: 0 }, cold)
    }
}

/// The state of a step.
struct Hot<'a> {
    data: &'a [u8],
    state: u64,
    /// The table of the next look-up, and the one for AC symbols.
    table: &'a Skips,
    rest: &'a Skips,
    window: u64,
}

/// The state that is needed once per block.
struct Cold<'a> {
    tables: &'a Tables,
    pattern: &'a Pattern,
    /// The tables for each block of an MCU.
    pairs: [&'a Pair; PLACES],
    /// The ends of the blocks that have not ended.
    ends: IterMut<'a, u64>,
    /// The block's place in the MCU, and its number of blocks.
    place: usize,
    places: usize,
    parked_place: &'a mut usize,
    is_valid: &'a mut bool,
    done: &'a mut usize,
    blocks: usize,
    parked: &'a mut u64,
}

impl<'a> Hot<'a> {
    /// Loads the next 57 bits. Returns false at the end of the data.
    #[inline(always)]
    fn load(&mut self, cold: &mut Cold<'a>) -> bool {
        match window(self.data, (self.state >> 8) as usize) {
            Some(window) => {
                self.window = window;
                true
            }
            None => cold.fail(),
        }
    }

    /// Reads the symbols of one look-up. Returns false if the lane stops.
    #[inline(always)]
    fn look(&mut self, cold: &mut Cold<'a>) -> bool {
        let entry = self.table[(self.window >> (64 - BITS)) as usize];
        self.window <<= entry >> 8;
        self.state += u64::from(entry);
        // The DC is part of the first look-up of a block alone.
        self.table = self.rest;
        if self.state & TURN == 0 { true } else { self.turn(cold, entry) }
    }

    /// Ends the block, or reads a part of it symbol by symbol. Returns false if the lane stops.
    #[inline(always)]
    fn turn(&mut self, cold: &mut Cold<'a>, entry: u16) -> bool {
        // Ended with fewer than 64 coefficients, or full without an end.
        if self.state & TURN != 0x80 && self.state & 0xff != 64 {
            match cold.finish(self.data, self.state - u64::from(entry)) {
                Some(state) => self.state = state,
                None => return cold.fail(),
            }
            if !self.load(cold) {
                return false;
            }
            if self.state & TURN == 0 {
                return true;
            }
        }
        // Whether these bits exist is checked once per leg, in `SkimWalk::go_on`: the zeros behind the
        // data are read like data, and a leg that has used them is rejected.
        self.state &= !0xff;
        if let Some(end) = cold.ends.next() {
            *end = self.state >> 8;
        }
        let next = cold.place + 1;
        cold.place = if next >= cold.places { 0 } else { next };
        let pair = cold.pairs[cold.place % PLACES];
        self.table = &pair.first;
        self.rest = pair.rest();
        cold.ends.len() > 0
    }
}

impl Cold<'_> {
    #[inline(always)]
    fn fail(&mut self) -> bool {
        *self.is_valid = false;
        false
    }

    /// Writes back the state for later calls.
    #[inline(always)]
    fn park(self, state: u64) {
        *self.parked = state;
        *self.parked_place = self.place;
        *self.done = self.blocks - self.ends.len();
    }

    /// Reads one symbol that the entries do not hold, or the last symbols of a block, from `state`
    /// on. Returns the state after them, in which one of the bits of `TURN` is set if the block has
    /// ended; `None` if the data are at fault.
    #[inline(never)]
    fn finish(&self, data: &[u8], state: u64) -> Option<u64> {
        let mut bit = (state >> 8) as usize;
        let mut count = state & 0xff;
        let (_, dc, ac) = self.pattern.at(self.place);
        let ac = &self.tables.ac[ac];
        if count == 0 {
            let found = difference(&self.tables.dc[dc], window(data, bit)?)?;
            return Some(((bit + found.1) as u64) << 8 | 1);
        }
        while count < 64 {
            let window = window(data, bit)?;
            let entry = ac.entries[(window >> (64 - LOOK)) as usize];
            let mut moves = entry >> 8 & 0xff;
            let mut taken = 64 - (entry & 0xff) as usize;
            let is_rare = moves == RARE;
            if is_rare {
                let rare = ac.rare_ac(window)?;
                let ends = rare.run == 0 && rare.size == 0;
                moves = if ends { END } else { u64::from(rare.run) + 1 };
                taken = (rare.length + rare.size) as usize;
            }
            bit += taken;
            if moves == END {
                count = 64;
                break;
            }
            count += moves;
            // The next symbol is probably in the entries again.
            if is_rare && count < 64 {
                break;
            }
        }
        (count <= 64).then_some((bit as u64) << 8 | count)
    }
}

rounds!(skims1, [Skim; 1], Hot::look, a cold_a 0);
rounds!(skims2, [Skim; 2], Hot::look, a cold_a 0, b cold_b 1);
rounds!(skims3, [Skim; 3], Hot::look, a cold_a 0, b cold_b 1, c cold_c 2);
rounds!(skims4, [Skim; 4], Hot::look, a cold_a 0, b cold_b 1, c cold_c 2, d cold_d 3);

/// The steps of the scanner's lanes.
pub(crate) type Skimmers = Steps<Skim>;

impl Skimmers {
    /// For every processor.
    pub(super) const PORTABLE: Skimmers =
        Skimmers { one: skims1, two: skims2, three: skims3, four: skims4 };
}
