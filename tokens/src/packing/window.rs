//! `Window`: best fit of decreasing lengths over a number of pieces.
//!
//! Longest pieces are placed first, each into the block with the least room that is enough. Blocks
//! that stay rather empty give their pieces back to the next window, so only the last window has
//! such blocks. Memory is that of [`MOST_IDS`] ids and of the pieces' number.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tarflume_base::Failure;

use super::block::{Block, Emit, Piece};

/// Limit on the ids of a window: 64 MiB.
const MOST_IDS: usize = 16 << 20;
/// A block with less than this share of its length, in percent, gives its pieces back.
const ENOUGH: usize = 99;

/// Pieces that wait for a block; each is shorter than a block.
#[derive(Debug)]
pub(super) struct Window {
    length: usize,
    most: usize,
    pieces: Vec<Piece>,
    ids: usize,
}

/// A block with much room, in the order of its ids and then of its first piece.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RatherEmpty {
    ids: usize,
    /// The number of its first piece.
    first: usize,
    pieces: usize,
}

impl Window {
    pub(super) fn new(length: usize, most: usize) -> Window {
        Window { length, most: most.max(1), pieces: Vec::new(), ids: 0 }
    }

    /// Adds a piece; packs the window if it is full.
    pub(super) fn add(&mut self, piece: Piece, emit: &mut Emit<'_>) -> Result<(), Failure> {
        self.ids += piece.ids.len();
        self.pieces.push(piece);
        if self.pieces.len() >= self.most || self.ids >= MOST_IDS.max(self.length) {
            self.pack(false, emit)?;
        }
        Ok(())
    }

    /// Packs all that is left.
    pub(super) fn finish(mut self, emit: &mut Emit<'_>) -> Result<(), Failure> {
        self.pack(true, emit)
    }

    fn pack(&mut self, last: bool, emit: &mut Emit<'_>) -> Result<(), Failure> {
        let mut blocks = self.filled();
        let kept = if last { BTreeSet::new() } else { self.returned(&blocks) };
        blocks.retain(|block| !kept.contains(&block[0]));
        // Blocks in the order of their first pieces: about that of the documents.
        blocks.sort();
        let mut pieces: Vec<Option<Piece>> = self.pieces.drain(..).map(Some).collect();
        for block in blocks {
            let own = block.iter().filter_map(|&piece| pieces[piece].take()).collect();
            emit(Block { pieces: own })?;
        }
        self.pieces.extend(pieces.into_iter().flatten());
        self.ids = self.pieces.iter().map(|piece| piece.ids.len()).sum();
        Ok(())
    }

    /// Assigns all pieces to blocks; a block is a sorted list of numbers of pieces.
    fn filled(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        order.sort_by_key(|&piece| (Reverse(self.size(piece)), piece));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
        for piece in order {
            let (room, block) = match open.range((self.size(piece), 0)..).next().copied() {
                Some(found) => {
                    open.remove(&found);
                    found
                }
                None => {
                    blocks.push(Vec::new());
                    (self.length, blocks.len() - 1)
                }
            };
            blocks[block].push(piece);
            if room > self.size(piece) {
                open.insert((room - self.size(piece), block));
            }
        }
        blocks.iter_mut().for_each(|block| block.sort_unstable());
        blocks
    }

    /// Returns the first pieces of blocks that wait for the next window: the emptiest ones, with at
    /// most half of the pieces and ids, so that every window packs something.
    fn returned(&self, blocks: &[Vec<usize>]) -> BTreeSet<usize> {
        let mut emptiest: Vec<RatherEmpty> = blocks
            .iter()
            .map(|block| RatherEmpty {
                ids: block.iter().map(|&piece| self.size(piece)).sum(),
                first: block[0],
                pieces: block.len(),
            })
            .filter(|block| block.ids * 100 < self.length.saturating_mul(ENOUGH))
            .collect();
        emptiest.sort_unstable();
        let mut pieces = 0;
        let mut total = 0;
        let fitting = emptiest.into_iter().take_while(|block| {
            pieces += block.pieces;
            total += block.ids;
            pieces * 2 <= self.most && total * 2 <= MOST_IDS
        });
        fitting.map(|block| block.first).collect()
    }

    /// Returns the number of ids of a piece.
    fn size(&self, piece: usize) -> usize {
        self.pieces[piece].ids.len()
    }
}
