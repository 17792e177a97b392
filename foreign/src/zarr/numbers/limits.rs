//! Limits on what metadata may claim, before anything is allocated. Pure.

use crate::zarr::faults::ArrayFault;

/// Dimensions of an array at most, those of NumPy.
pub(in crate::zarr) const DIMENSIONS: usize = 64;
/// Limit on the bytes of a chunk that is decoded as a whole.
pub(in crate::zarr) const CHUNK_MAX: u64 = 1 << 30;
/// Limit on the bytes of the index of a shard.
pub(in crate::zarr) const INDEX_MAX: u64 = 64 << 20;

/// Checks the edges of chunks: as many as dimensions, and none of them 0.
///
/// # Errors
/// Returns an error if they are not.
pub(in crate::zarr) fn check_edges(
    edges: &[u64],
    dimensions: usize,
    what: &str,
) -> Result<(), ArrayFault> {
    if edges.len() != dimensions || edges.contains(&0) {
        let why = format!(
            "its {what} have the shape {edges:?}, and the array has {dimensions} dimensions"
        );
        return Err(ArrayFault::metadata(why));
    }
    Ok(())
}

/// Checks a number of bytes, `None` for one that 64 bits do not hold.
///
/// # Errors
/// Returns an error if they are more than `most`.
pub(in crate::zarr) fn check_bytes(
    bytes: Option<u64>,
    what: &'static str,
    most: u64,
) -> Result<(), ArrayFault> {
    match bytes {
        Some(bytes) if bytes <= most => Ok(()),
        _ => Err(ArrayFault::TooLarge { what, bytes, most }),
    }
}

/// Returns the bytes of so many elements; `None` if 64 bits do not hold them.
pub(in crate::zarr) fn bytes_of(shape: &[u64], size: usize) -> Option<u64> {
    shape.iter().try_fold(size as u64, |bytes, &edge| bytes.checked_mul(edge))
}
