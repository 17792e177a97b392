//! `Chain`: the codecs of an array or of its inner chunks, and what they make of the bytes of a chunk. Pure.

use super::copy::{Side, copy, fill, row_major};
use super::faults::{ChunkFault, zeros};
use super::numbers::element::Element;
use super::packing::{Packing, most_packed, unpack};
use super::sharding::ShardIndex;

/// The codecs of a chunk, in the order in which they were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    /// The dimension of the chunk that is each dimension of its bytes.
    pub(super) order: Vec<usize>,
    pub(super) serial: Serial,
    pub(super) packings: Vec<Packing>,
}

/// How numbers become bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Serial {
    /// One after the other.
    Numbers {
        /// Whether they are big-endian.
        is_big: bool,
    },
    /// By inner chunks with an index.
    Shard(Box<Sharding>),
}

/// How a chunk is divided into inner chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sharding {
    /// The shape of an inner chunk.
    pub(super) chunk: Vec<u64>,
    /// The codecs of inner chunks.
    pub(super) inner: Chain,
    pub(super) index: ShardIndex,
}

impl Sharding {
    /// Returns the number of inner chunks along each dimension of a shard whose bytes have this shape.
    fn counts(&self, shape: &[usize]) -> Vec<usize> {
        shape.iter().zip(&self.chunk).map(|(&edge, &inner)| edge / inner as usize).collect()
    }
}

/// A type and its fill value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filled<'a> {
    pub(super) element: Element,
    pub(super) fill: &'a [u8],
}

impl Chain {
    /// Returns the shape of the bytes of a chunk of this shape.
    pub(super) fn serial_shape<T: Copy>(&self, shape: &[T]) -> Vec<T> {
        self.order.iter().map(|&dimension| shape[dimension]).collect()
    }

    /// Returns the distances between neighbors in the decoded bytes of a chunk, along each dimension of the chunk.
    pub(super) fn strides(&self, shape: &[usize]) -> Vec<usize> {
        let mut strides = vec![0; shape.len()];
        let serial = row_major(&self.serial_shape(shape));
        for (&dimension, stride) in self.order.iter().zip(serial) {
            strides[dimension] = stride;
        }
        strides
    }

    /// Returns the shards, if inner chunks can be read without the others: nothing is done to the shard as a whole.
    pub(super) fn open_shard(&self) -> Option<&Sharding> {
        match &self.serial {
            Serial::Shard(sharding) if self.packings.is_empty() && self.order.is_sorted() => {
                Some(sharding)
            }
            _ => None,
        }
    }

    /// Decodes the stored bytes of a chunk: little-endian numbers with the distances of [`Chain::strides`].
    ///
    /// # Errors
    /// Returns an error for damaged bytes, and if the machine has no memory.
    pub(super) fn decode(
        &self,
        stored: Vec<u8>,
        shape: &[usize],
        filled: Filled<'_>,
    ) -> Result<Vec<u8>, ChunkFault> {
        let size = filled.element.size();
        let content = shape.iter().product::<usize>() * size;
        match &self.serial {
            Serial::Numbers { is_big } => {
                let mut bytes = unpack(&self.packings, stored, Some(content), content)?;
                if *is_big {
                    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                }
                Ok(bytes)
            }
            Serial::Shard(sharding) => {
                let shape = self.serial_shape(shape);
                let index = sharding.index.length(sharding.counts(&shape).iter().product());
                let most = most_packed(content).saturating_add(index);
                let shard = unpack(&self.packings, stored, None, most)?;
                whole_shard(sharding, &shard, &shape, filled).map_err(|fault| {
                    if self.packings.is_empty() { fault } else { fault.without_byte() }
                })
            }
        }
    }
}

/// Decodes all inner chunks of a shard; `shape` is that of its bytes.
fn whole_shard(
    sharding: &Sharding,
    shard: &[u8],
    shape: &[usize],
    filled: Filled<'_>,
) -> Result<Vec<u8>, ChunkFault> {
    let size = filled.element.size();
    let counts = sharding.counts(shape);
    let index = sharding.index.of_shard(shard, counts.iter().product())?;
    let mut space = zeros(shape.iter().product::<usize>() * size)?;
    let strides = row_major(shape);
    let inner: Vec<usize> = sharding.chunk.iter().map(|&n| n as usize).collect();
    let mut place = vec![0; counts.len()];
    for range in index {
        let start = place.iter().zip(&inner).zip(&strides).map(|((n, edge), step)| n * edge * step);
        let into = Side { start: start.sum(), strides: &strides };
        match range {
            None => fill(filled.fill, &mut space, into, &inner),
            Some(range) => {
                let stored = shard[range.start as usize..range.end as usize].to_vec();
                let bytes = sharding.inner.decode(stored, &inner, filled);
                let bytes = bytes.map_err(|fault| fault.from(range.start))?;
                let from = Side { start: 0, strides: &sharding.inner.strides(&inner) };
                copy(&bytes, from, &mut space, into, &inner, size);
            }
        }
        advance(&mut place, &counts);
    }
    Ok(space)
}

/// Goes to the next place of a grid, in row-major order; to the first one after the last.
pub(super) fn advance(place: &mut [usize], counts: &[usize]) {
    for n in (0..place.len()).rev() {
        place[n] += 1;
        if place[n] < counts[n] {
            return;
        }
        place[n] = 0;
    }
}
