//! `ZarrArray`: which file and which bytes have which rows of an array, and where their numbers belong. Pure.

use std::ops::Range;

use super::chain::{Chain, Filled, advance};
use super::copy::{Side, copy, fill, row_major};
use super::faults::{ArrayFault, ChunkFault};
use super::keys::Keys;
use super::numbers::element::Element;
use super::numbers::limits::{CHUNK_MAX, DIMENSIONS, bytes_of, check_bytes, check_edges};
use super::packing::most_packed;

/// An array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZarrArray {
    shape: Vec<u64>,
    /// The shape of the chunk of one file.
    chunk: Vec<u64>,
    element: Element,
    /// The bytes of the element that chunks without a file have.
    fill: Vec<u8>,
    keys: Keys,
    chain: Chain,
}

/// What metadata states about an array.
pub(super) struct Stated {
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    pub(super) element: Element,
    pub(super) fill: Vec<u8>,
    pub(super) keys: Keys,
    pub(super) chain: Chain,
}

/// Where a piece is: the place of its file in the grid of chunks, and its number in a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiecePlace {
    /// The number of the file in the grid of chunks, in row-major order.
    pub file: u64,
    /// The name of the file under the folder of the array.
    pub key: String,
    /// The number of the inner chunk; `None` if the whole file is one piece.
    pub inner: Option<usize>,
    /// The place of the piece in the grid of pieces.
    grid: Vec<u64>,
}

impl ZarrArray {
    /// Checks what metadata states.
    ///
    /// # Errors
    /// Returns an error for an array without rows or elements, for chunks of another number of dimensions, and for those
    /// that are larger than is decoded at once.
    pub(super) fn new(stated: Stated) -> Result<ZarrArray, ArrayFault> {
        let Stated { shape, chunk, element, fill, keys, chain } = stated;
        if shape.is_empty() {
            let why = "it is a single number and has no rows";
            return Err(ArrayFault::metadata(why));
        }
        if shape.len() > DIMENSIONS {
            let why =
                format!("it has {} dimensions, and NumPy has at most {DIMENSIONS}", shape.len());
            return Err(ArrayFault::metadata(why));
        }
        check_edges(&chunk, shape.len(), "chunks")?;
        if shape[1..].contains(&0) {
            let why = format!("its shape is {shape:?}, so a row has no numbers");
            return Err(ArrayFault::metadata(why));
        }
        check_bytes(bytes_of(&shape, element.size()), "arrays", i64::MAX as u64)?;
        let array = ZarrArray { shape, chunk, element, fill, keys, chain };
        check_bytes(bytes_of(array.piece(), element.size()), "chunks", CHUNK_MAX)?;
        // A shard that is decoded as a whole has a length, too.
        check_bytes(bytes_of(&array.chunk, element.size()), "shards", i64::MAX as u64)?;
        Ok(array)
    }

    /// Returns the number of rows, then the shape of a row.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the type of the numbers.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Returns the bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        bytes_of(&self.shape[1..], self.element.size()).expect("the bytes of all rows were checked")
    }

    /// Returns the shape of what is decoded at once.
    fn piece(&self) -> &[u64] {
        self.chain.open_shard().map_or(&self.chunk, |sharding| &sharding.chunk)
    }

    /// Returns the rows of a block: what is decoded at once has so many.
    pub fn block_rows(&self) -> u64 {
        self.piece()[0]
    }

    /// Returns the bytes that are decoded at once.
    pub fn piece_bytes(&self) -> u64 {
        bytes_of(self.piece(), self.element.size()).expect("they were checked")
    }

    /// Returns the most bytes that the stored form of a piece has.
    pub fn most_stored(&self) -> u64 {
        most_packed(self.piece_bytes() as usize) as u64
    }

    /// Returns the number of files if each chunk has one; `None` if 64 bits do not hold it.
    pub fn files(&self) -> Option<u64> {
        let counts = self.shape.iter().zip(&self.chunk).map(|(edge, chunk)| edge.div_ceil(*chunk));
        counts.into_iter().try_fold(1u64, |files, count| files.checked_mul(count))
    }

    /// Returns the names of the files of all chunks, in row-major order of the grid.
    pub fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let edges = self.shape.iter().zip(&self.chunk);
        let counts: Vec<usize> =
            edges.map(|(edge, chunk)| edge.div_ceil(*chunk) as usize).collect();
        let mut place = vec![0; counts.len()];
        (0..self.files().unwrap_or(u64::MAX)).map(move |_| {
            let wide: Vec<u64> = place.iter().map(|&n| n as u64).collect();
            let key = self.keys.key(&wide);
            advance(&mut place, &counts);
            key
        })
    }

    /// Returns the pieces that have the rows of a block, whose first row is a multiple of [`ZarrArray::block_rows`].
    pub fn pieces(&self, first: u64) -> impl Iterator<Item = PiecePlace> + '_ {
        let piece = self.piece();
        let row = first / piece[0];
        let counts: Vec<usize> = self.shape[1..]
            .iter()
            .zip(&piece[1..])
            .map(|(edge, piece)| edge.div_ceil(*piece) as usize)
            .collect();
        let mut place = vec![0; counts.len()];
        // A row has fewer pieces than bytes, which were checked.
        (0..counts.iter().product::<usize>()).map(move |_| {
            let rest = place.iter().map(|&n| n as u64);
            let grid: Vec<u64> = [row].into_iter().chain(rest).collect();
            advance(&mut place, &counts);
            self.place(grid)
        })
    }

    /// Returns where the piece at a place of the grid of pieces is.
    fn place(&self, grid: Vec<u64>) -> PiecePlace {
        let piece = self.piece();
        let mut file = Vec::with_capacity(grid.len());
        let mut inner = 0;
        let mut number = 0;
        for (n, &at) in grid.iter().enumerate() {
            let each = self.chunk[n] / piece[n];
            file.push(at / each);
            inner = inner * each + at % each;
            number = number * self.shape[n].div_ceil(self.chunk[n]) + at / each;
        }
        let has_inner = self.chain.open_shard().is_some();
        let inner = has_inner.then_some(inner as usize);
        PiecePlace { file: number, key: self.keys.key(&file), inner, grid }
    }

    /// Returns where the index is in a shard of `length` bytes; `None` for an array whose files are no shards, or are
    /// decoded as a whole.
    ///
    /// # Errors
    /// Returns an error for a file that is shorter than its index.
    pub fn index_place(&self, length: u64) -> Option<Result<Range<u64>, ChunkFault>> {
        let sharding = self.chain.open_shard()?;
        Some(sharding.index.place(self.inner_chunks(), length))
    }

    /// Returns the number of inner chunks of a shard.
    fn inner_chunks(&self) -> usize {
        let edges = self.chunk.iter().zip(self.piece());
        edges.map(|(edge, inner)| (edge / inner) as usize).product()
    }

    /// Reads the index of a shard of `length` bytes: where each inner chunk is, `None` for one that was not written.
    ///
    /// # Errors
    /// Returns an error if the index is damaged. Its byte is one of the index.
    pub fn parse_index(
        &self,
        stored: Vec<u8>,
        length: u64,
    ) -> Result<Vec<Option<Range<u64>>>, ChunkFault> {
        let sharding = self.chain.open_shard().expect("only shards have an index");
        sharding.index.parse(stored, self.inner_chunks(), length)
    }

    /// Decodes a piece and puts its numbers into `rows` of a block that begins with the row `first`, row by row. A piece
    /// without stored bytes has the fill value.
    ///
    /// # Errors
    /// Returns an error if the stored bytes are damaged, and if the machine has no memory.
    pub fn put(
        &self,
        place: &PiecePlace,
        stored: Option<Vec<u8>>,
        first: u64,
        rows: &mut [u8],
    ) -> Result<(), ChunkFault> {
        let size = self.element.size();
        let piece: Vec<usize> = self.piece().iter().map(|&edge| edge as usize).collect();
        let row: Vec<usize> = self.shape[1..].iter().map(|&edge| edge as usize).collect();
        let count = rows.len() / (row.iter().product::<usize>() * size);
        let shape: Vec<usize> = [count].into_iter().chain(row).collect();
        let strides = row_major(&shape);
        let mut extents = Vec::with_capacity(shape.len());
        let mut start = 0;
        for (n, &at) in place.grid.iter().enumerate() {
            let from =
                if n == 0 { at * self.piece()[0] - first } else { at * self.piece()[n] } as usize;
            extents.push(piece[n].min(shape[n] - from));
            start += from * strides[n];
        }
        let into = Side { start, strides: &strides };
        let Some(stored) = stored else {
            fill(&self.fill, rows, into, &extents);
            return Ok(());
        };
        let chain = self.chain.open_shard().map_or(&self.chain, |sharding| &sharding.inner);
        let filled = Filled { element: self.element, fill: &self.fill };
        let bytes = chain.decode(stored, &piece, filled)?;
        let from = Side { start: 0, strides: &chain.strides(&piece) };
        copy(&bytes, from, rows, into, &extents, size);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
