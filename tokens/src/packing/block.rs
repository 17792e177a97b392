//! `Block`: the content of one sample, as pieces of documents.

use tarflume_base::Failure;

/// Identifies a document. Identifiers have the order of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentId {
    /// The number of its source.
    pub source: u32,
    /// Its number in the source.
    pub number: u64,
}

/// A document in a block, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The document.
    pub document: DocumentId,
    /// The first of its ids in this piece.
    pub from: u64,
    /// The ids.
    pub ids: Vec<u32>,
}

/// The content of one sample.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Block {
    /// The pieces in order.
    pub pieces: Vec<Piece>,
}

impl Block {
    /// Returns the number of ids.
    pub fn tokens(&self) -> usize {
        self.pieces.iter().map(|piece| piece.ids.len()).sum()
    }

    /// Returns where each piece begins, and the number of ids at the end.
    pub fn cu_seqlens(&self) -> Vec<usize> {
        let mut at = 0;
        let mut begins = vec![0];
        for piece in &self.pieces {
            at += piece.ids.len();
            begins.push(at);
        }
        begins
    }
}

/// Takes a finished block.
pub type Emit<'a> = dyn FnMut(Block) -> Result<(), Failure> + 'a;
