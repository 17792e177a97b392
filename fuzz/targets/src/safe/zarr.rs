//! Metadata of Zarr and a stored chunk: no panic, no more bytes than the metadata declares.

use tarflume_foreign::zarr::ZarrArray;

/// Bytes of a block at most that the target decodes.
const MOST: u64 = 1 << 20;

/// Parses the input up to the first zero byte as metadata, and decodes the rest as each of the first chunks.
pub fn zarr(input: &[u8]) {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (json, rest) = input.split_at(end);
    let stored = rest.get(1..).unwrap_or(rest);
    for array in [ZarrArray::of_v3(json), ZarrArray::of_v2(json)].into_iter().flatten() {
        let rows = array.block_rows().min(array.shape()[0]);
        let bytes = rows.saturating_mul(array.row_bytes());
        if rows == 0 || bytes > MOST || array.piece_bytes() > MOST {
            continue;
        }
        let mut space = vec![0; bytes as usize];
        if let Some(Ok(range)) = array.index_place(stored.len() as u64) {
            let index = stored[range.start as usize..range.end as usize].to_vec();
            if let Ok(places) = array.parse_index(index, stored.len() as u64) {
                assert!(places.iter().flatten().all(|place| place.end <= stored.len() as u64));
            }
        }
        for place in array.pieces(0).take(4) {
            let _ = array.put(&place, Some(stored.to_vec()), 0, &mut space);
            let _ = array.put(&place, None, 0, &mut space);
        }
    }
}
