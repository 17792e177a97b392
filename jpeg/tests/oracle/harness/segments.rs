//! Splits a JPEG into its marker segments naively, for assertions about a file or changes to it.
//!
//! Does not use the crate's own parser, and trusts its input: only files of the oracle come here.

/// A marker and its content; markers inside scans (restarts) and EOI have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) marker: u8,
    pub(crate) body: &'a [u8],
    /// Start of the body in the file, bytes.
    pub(crate) at: usize,
}

/// Returns all markers of a file, in order.
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

/// Neither a stuffed FF nor a fill byte.
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

/// A file of one scan in pieces that can be changed and joined again.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// Marker and body of each segment up to the scan's header, which is the last.
    pub(crate) segments: Vec<(u8, Vec<u8>)>,
    /// The entropy-coded bytes with their restart markers.
    pub(crate) data: Vec<u8>,
}

impl Pieces {
    pub(crate) fn of(jpeg: &[u8]) -> Pieces {
        let all = segments(jpeg);
        let scan = all.iter().position(|s| s.marker == 0xDA).unwrap();
        let data = jpeg[all[scan].at + all[scan].body.len()..jpeg.len() - 2].to_vec();
        let segments = all[1..=scan].iter().map(|s| (s.marker, s.body.to_vec())).collect();
        Pieces { segments, data }
    }

    /// Returns the file with this many fill bytes (FF) before every marker but the first.
    pub(crate) fn file(&self, fill: usize) -> Vec<u8> {
        let mut jpeg = vec![0xFF, 0xD8];
        for (marker, body) in &self.segments {
            jpeg.extend(vec![0xFF; fill + 1]);
            jpeg.push(*marker);
            jpeg.extend((body.len() as u16 + 2).to_be_bytes());
            jpeg.extend(body);
        }
        for (at, &byte) in self.data.iter().enumerate() {
            let restart = matches!(self.data[at..], [0xFF, 0xD0..=0xD7, ..]);
            jpeg.extend(vec![0xFF; if restart { fill } else { 0 }]);
            jpeg.push(byte);
        }
        jpeg.extend(vec![0xFF; fill + 1]);
        jpeg.push(0xD9);
        jpeg
    }

    /// Returns the bodies of all segments of one kind.
    pub(crate) fn bodies(&mut self, marker: u8) -> impl Iterator<Item = &mut Vec<u8>> {
        self.segments.iter_mut().filter(move |(m, _)| *m == marker).map(|(_, body)| body)
    }

    /// Returns the body of the only segment of its kind.
    pub(crate) fn body(&mut self, marker: u8) -> &mut Vec<u8> {
        self.bodies(marker).next().unwrap()
    }

    /// Inserts a segment before the scan's header.
    pub(crate) fn push(&mut self, marker: u8, body: &[u8]) {
        let at = self.segments.len() - 1;
        self.segments.insert(at, (marker, body.to_vec()));
    }
}
