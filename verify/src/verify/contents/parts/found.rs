//! `FoundPart`: a part of the shard that is read.

/// A part of the shard that is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundPart<'p> {
    pub(crate) key: &'p [u8],
    pub(crate) ext: &'p [u8],
    /// Byte of the tar at which it begins.
    pub(crate) at: u64,
    pub(crate) data: &'p [u8],
}
