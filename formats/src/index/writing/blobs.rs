//! Collects the optional blobs of parts in the layout of a sidecar: one after the other, with an
//! end position for each part.
//!
//! Does not interpret a blob.

/// Blobs by part.
#[derive(Debug, Default)]
pub(in crate::index) struct Blobs {
    /// The end of each part's blob; parts after the newest blob have no entry yet.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Blobs {
    fn end(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Sets the blob of part number `part`, replacing an earlier one. Parts must come in order. A
    /// blob that would end after `most` bytes (at most `u32::MAX`) is left out.
    pub(in crate::index) fn put(&mut self, part: usize, blob: &[u8], most: u32) {
        self.ends.truncate(part);
        let start = self.end();
        self.bytes.truncate(start as usize);
        self.ends.resize(part, start);
        let end = u32::try_from(blob.len()).ok().and_then(|length| start.checked_add(length));
        if let Some(end) = end.filter(|&end| end <= most) {
            self.bytes.extend_from_slice(blob);
            self.ends.push(end);
        }
    }

    /// Returns `parts + 1` starts and the concatenated blobs; `None` if no part has one.
    pub(in crate::index) fn sections(mut self, parts: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.bytes.is_empty() {
            return None;
        }
        self.ends.resize(parts, self.end());
        let starts = [0].into_iter().chain(self.ends);
        Some((starts.flat_map(u32::to_le_bytes).collect(), self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes the blobs `put` of five parts and splits them again by part.
    fn blobs(put: &[(usize, &[u8])], most: u32) -> Option<Vec<Vec<u8>>> {
        let mut blobs = Blobs::default();
        put.iter().for_each(|(part, blob)| blobs.put(*part, blob, most));
        let (starts, bytes) = blobs.sections(5)?;
        let starts: Vec<_> =
            starts.chunks(4).map(|n| crate::bytes::le::u32_at(n, 0) as usize).collect();
        assert_eq!((starts.len(), starts[0], starts[5]), (6, 0, bytes.len()));
        Some(starts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect())
    }

    #[test]
    fn blobs_belong_to_their_parts_and_a_later_one_replaces() {
        let found = blobs(&[(1, b"one"), (1, b"two"), (3, b""), (4, b"three")], 100).unwrap();
        assert_eq!(found, [&b""[..], b"two", b"", b"", b"three"]);
        assert_eq!(blobs(&[(1, b"gone"), (1, b"")], 100), None);
        assert_eq!(blobs(&[], 100), None);
    }

    #[test]
    fn a_picture_without_room_is_left_out_and_a_later_one_may_fit() {
        let found = blobs(&[(0, b"12345"), (1, b"123456"), (2, b"12345"), (3, b"1")], 10).unwrap();
        assert_eq!(found, [&b"12345"[..], b"", b"12345", b"", b""]);
    }
}
