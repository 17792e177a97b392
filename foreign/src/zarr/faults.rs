//! Why an array or a chunk is not read. Fields; the caller, who knows the files, writes the words.

/// Why an array is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayFault {
    /// A part of the format that is not read; other programs may.
    Unread {
        /// The part.
        part: Unread,
        /// Its name in the metadata.
        name: String,
    },
    /// The metadata is damaged, or contradicts itself.
    Metadata {
        /// A clause.
        why: String,
    },
    /// Decoding would take more memory than is permitted.
    TooLarge {
        /// What is too large, as a plural: `chunks`.
        what: &'static str,
        /// Its bytes; `None` if 64 bits do not hold them.
        bytes: Option<u64>,
        /// The limit.
        most: u64,
    },
}

/// A part of the format that can be one that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// A codec, compressor or filter.
    Codec,
    /// The type of the numbers.
    Type,
    /// The grid of the chunks.
    Grid,
    /// The names of the chunks.
    Keys,
    /// An extension of the metadata that a reader must understand.
    Extension,
}

impl ArrayFault {
    /// Creates the fault of metadata; `why` is a clause.
    pub(super) fn metadata(why: impl Into<String>) -> ArrayFault {
        ArrayFault::Metadata { why: why.into() }
    }

    /// Creates the fault of a part that is not read.
    pub(super) fn unread(part: Unread, name: impl Into<String>) -> ArrayFault {
        ArrayFault::Unread { part, name: name.into() }
    }
}

/// Why a chunk is not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkFault {
    /// Its bytes are damaged.
    Damaged {
        /// The byte of the stored chunk, if it is known.
        byte: Option<u64>,
        /// A clause about the bytes.
        why: String,
    },
    /// The machine has no memory for its bytes.
    NoMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
}

impl ChunkFault {
    /// Creates the fault of damaged bytes whose place is not known; `why` is a clause.
    pub(super) fn damaged(why: impl Into<String>) -> ChunkFault {
        ChunkFault::Damaged { byte: None, why: why.into() }
    }

    /// Creates the fault of damage at a byte.
    pub(super) fn at(byte: usize, why: impl Into<String>) -> ChunkFault {
        ChunkFault::Damaged { byte: Some(byte as u64), why: why.into() }
    }

    /// Counts the byte from the start of a file in which the stored chunk begins at `start`.
    #[must_use]
    pub fn from(self, start: u64) -> ChunkFault {
        match self {
            ChunkFault::Damaged { byte, why } => {
                let byte = Some(start.saturating_add(byte.unwrap_or(0)));
                ChunkFault::Damaged { byte, why }
            }
            other => other,
        }
    }

    /// The same without a byte, for damage in bytes that were decompressed.
    pub(super) fn without_byte(self) -> ChunkFault {
        match self {
            ChunkFault::Damaged { why, .. } => ChunkFault::Damaged { byte: None, why },
            other => other,
        }
    }
}

/// Returns `bytes` zeros.
///
/// # Errors
/// Returns [`ChunkFault::NoMemory`] if the machine has none.
pub(super) fn zeros(bytes: usize) -> Result<Vec<u8>, ChunkFault> {
    let mut space = Vec::new();
    space.try_reserve_exact(bytes).map_err(|_| ChunkFault::NoMemory { bytes })?;
    space.resize(bytes, 0);
    Ok(space)
}
