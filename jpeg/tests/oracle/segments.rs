//! A JPEG's marker segments, taken apart naively: what a test asserts of a file, or changes in it.
//!
//! It may not use the crate's own parser, and trusts its input: only files of the oracle come here.

/// A marker and what follows its length; markers inside scans (restarts) and EOI have nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) marker: u8,
    pub(crate) body: &'a [u8],
    /// Where the body begins in the file, bytes.
    pub(crate) at: usize,
}

/// All markers of a file, in order.
pub(crate) fn segments(jpeg: &[u8]) -> Vec<Segment<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = jpeg[at..].windows(2).position(|w| w[0] == 0xFF && is_marker(w[1])) {
        let marker = jpeg[at + step + 1];
        at += step + 2;
        if matches!(marker, 0xD0..=0xD9) {
            found.push(Segment { marker, body: &[], at });
            continue;
        }
        let length = usize::from(u16::from_be_bytes([jpeg[at], jpeg[at + 1]]));
        found.push(Segment { marker, body: &jpeg[at + 2..at + length], at: at + 2 });
        at += length;
    }
    found
}

/// Not a stuffed FF, nor one that fills.
fn is_marker(byte: u8) -> bool {
    !matches!(byte, 0 | 0xFF)
}

/// The markers of a file, in order.
pub(crate) fn markers(jpeg: &[u8]) -> Vec<u8> {
    segments(jpeg).iter().map(|s| s.marker).collect()
}

/// The bodies of all segments of one kind.
pub(crate) fn bodies(jpeg: &[u8], marker: u8) -> Vec<&[u8]> {
    segments(jpeg).iter().filter(|s| s.marker == marker).map(|s| s.body).collect()
}
