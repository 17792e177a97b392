//! `Packer`: from documents to blocks of at most one length.
//!
//! Pure and deterministic: the blocks depend on the documents, their order and the settings alone.
//! [`Packing::Concat`] joins documents in order and cuts. [`Packing::BestFit`] splits only documents
//! longer than a block; see the file of the window.

mod block;
mod window;

use serde::{Serialize, Serializer};
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

pub use self::block::{Block, DocumentId, Emit, Piece};
use self::window::Window;

/// How documents fill blocks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Best fit of decreasing lengths over a window of documents: no document is split unless it is
    /// longer than a block.
    #[default]
    BestFit,
    /// Documents one after the other, cut at every block.
    Concat,
    /// One document in each block, which has its length.
    Rows,
}

impl Packing {
    /// Returns the packing that a user asks for: blocks of best fit if there is a length, and without one a row for each
    /// conversation.
    ///
    /// # Errors
    /// Returns an error if there is no length for blocks.
    pub fn asked(
        given: Option<Packing>,
        length: Option<usize>,
        conversations: bool,
    ) -> Result<Packing, Failure> {
        match (given, length) {
            (Some(Packing::Rows), _) => Ok(Packing::Rows),
            (None, None) if conversations => Ok(Packing::Rows),
            (given, Some(_)) => Ok(given.unwrap_or(Packing::BestFit)),
            (_, None) => Err(Failure::usage(message!(
                "give {length} for samples of N ids, or {rows} for one document in each sample";
                length = Name::Length.stand("N"),
                rows = Name::Pack.is("rows")
            ))),
        }
    }

    /// Returns the word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Packing::BestFit => "bfd",
            Packing::Concat => "concat",
            Packing::Rows => "rows",
        }
    }
}

impl Serialize for Packing {
    /// Writes [`Packing::word`].
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

/// Fills blocks of at most `length` ids.
#[derive(Debug)]
pub struct Packer {
    length: usize,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    BestFit(Window),
    /// The block that is being filled, and its ids.
    Concat(Block, usize),
    Rows,
}

impl Packer {
    /// Documents of the window of [`Packing::BestFit`].
    pub const WINDOW: usize = 8192;

    /// Creates a packer for blocks of `length` ids, at least 1.
    pub fn new(packing: Packing, length: usize) -> Packer {
        Packer::with_window(packing, length, Packer::WINDOW)
    }

    /// As [`Packer::new`] with another window.
    pub fn with_window(packing: Packing, length: usize, window: usize) -> Packer {
        let length = length.max(1);
        let mode = match packing {
            Packing::BestFit => Mode::BestFit(Window::new(length, window)),
            Packing::Concat => Mode::Concat(Block::default(), 0),
            Packing::Rows => Mode::Rows,
        };
        Packer { length, mode }
    }

    /// Adds a document; calls `emit` with the blocks that are full. A document without ids leaves
    /// no trace.
    ///
    /// # Errors
    /// Returns the errors of `emit`.
    pub fn push(
        &mut self,
        document: DocumentId,
        ids: &[u32],
        emit: &mut Emit<'_>,
    ) -> Result<(), Failure> {
        self.push_from(document, 0, ids, emit)
    }

    /// As [`Packer::push`] for a document without its first `first` ids.
    ///
    /// # Errors
    /// Returns the errors of `emit`.
    pub fn push_from(
        &mut self,
        document: DocumentId,
        first: u64,
        ids: &[u32],
        emit: &mut Emit<'_>,
    ) -> Result<(), Failure> {
        let length = self.length;
        match &mut self.mode {
            Mode::BestFit(window) => {
                for (number, ids) in ids.chunks(length).enumerate() {
                    let piece =
                        Piece { document, from: first + (number * length) as u64, ids: ids.into() };
                    if ids.len() == length {
                        emit(Block { pieces: vec![piece] })?;
                    } else {
                        window.add(piece, emit)?;
                    }
                }
            }
            Mode::Concat(block, used) => {
                let mut rest = ids;
                let mut from = first;
                while !rest.is_empty() {
                    let (own, behind) = rest.split_at(rest.len().min(length - *used));
                    block.pieces.push(Piece { document, from, ids: own.into() });
                    rest = behind;
                    from += own.len() as u64;
                    *used += own.len();
                    if *used == length {
                        *used = 0;
                        emit(std::mem::take(block))?;
                    }
                }
            }
            Mode::Rows if ids.is_empty() => {}
            Mode::Rows => {
                let piece = Piece { document, from: first, ids: ids.into() };
                emit(Block { pieces: vec![piece] })?;
            }
        }
        Ok(())
    }

    /// Emits what is left: blocks that are not full.
    ///
    /// # Errors
    /// Returns the errors of `emit`.
    pub fn finish(self, emit: &mut Emit<'_>) -> Result<(), Failure> {
        match self.mode {
            Mode::BestFit(window) => window.finish(emit),
            Mode::Concat(block, _) if block.pieces.is_empty() => Ok(()),
            Mode::Concat(block, _) => emit(block),
            Mode::Rows => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
