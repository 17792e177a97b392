//! The segments of application data and comments: which of them a rewritten JPEG has.

use crate::error::{Error, Result};
use crate::header::markers::{APP0, APP1, APP14, EOI, SOS, Walk, is_segment};
use crate::header::{Header, scan_end};

const APP2: u8 = 0xe2;
const COM: u8 = 0xfe;

/// The metadata of a rewritten JPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// All application segments and comments.
    Keep,
    /// Only what changes colors or turns pixels: JFIF without its thumbnail, Adobe's segment, the
    /// color profile (ICC), and the orientation, alone in an EXIF segment.
    Strip,
}

/// A piece of a JPEG between its first and its last marker.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    /// A segment: marker and content.
    Segment(u8, &'a [u8]),
    /// Entropy-coded data.
    Scan(&'a [u8]),
}

/// Calls `each` with the pieces of a JPEG, in order.
///
/// # Errors
/// Returns [`crate::ErrorKind::Damaged`] if it is truncated or has an invalid marker.
pub(super) fn pieces<'a>(bytes: &'a [u8], mut each: impl FnMut(Piece<'a>)) -> Result<()> {
    let mut walk = Walk::start(bytes)?;
    loop {
        let (marker, at) = walk.marker()?;
        if marker == EOI {
            return Ok(());
        }
        if !is_segment(marker) {
            return Err(Error::damaged(at, format!("marker ff{marker:02x} is not allowed here")));
        }
        each(Piece::Segment(marker, walk.segment(at)?));
        if marker == SOS {
            let end = scan_end(bytes, walk.at())?;
            each(Piece::Scan(&bytes[walk.at()..end]));
            walk = Walk::from(bytes, end);
        }
    }
}

/// Returns true if a segment has no part in decoding, except for the meaning of colors.
pub(super) fn is_metadata(marker: u8) -> bool {
    matches!(marker, APP0..=0xef | COM)
}

/// Appends a segment.
pub(super) fn put(out: &mut Vec<u8>, marker: u8, content: &[u8]) {
    let length = (content.len() + 2) as u16; // it was read from a segment, or is short
    out.extend([0xff, marker]);
    out.extend(length.to_be_bytes());
    out.extend_from_slice(content);
}

/// Appends a segment of metadata if it is kept.
pub(super) fn put_kept(out: &mut Vec<u8>, marker: u8, content: &[u8], metadata: Metadata) {
    match (marker, metadata) {
        // It has the places of pictures after the end of this one, which a rewritten JPEG lacks.
        (APP2, _) if content.starts_with(b"MPF\0") => {}
        (_, Metadata::Keep) => put(out, marker, content),
        (APP0, Metadata::Strip) if content.starts_with(b"JFIF\0") && content.len() >= 14 => {
            let mut short = [0; 14];
            short.copy_from_slice(&content[..14]);
            short[12..].fill(0); // no thumbnail
            put(out, marker, &short);
        }
        (APP14, Metadata::Strip) if content.starts_with(b"Adobe") && content.len() >= 12 => {
            put(out, marker, &content[..12]);
        }
        (APP2, Metadata::Strip) if content.starts_with(b"ICC_PROFILE\0") => {
            put(out, marker, content);
        }
        (_, Metadata::Strip) => {}
    }
}

/// Returns the color profile (ICC) of a JPEG, joined from its segments; `None` if it has none, or not
/// all of it.
pub fn color_profile(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut chunks: Vec<(u8, u8, &[u8])> = Vec::new();
    let walked = pieces(bytes, |piece| {
        if let Piece::Segment(APP2, content) = piece
            && let Some([number, count, data @ ..]) = content.strip_prefix(b"ICC_PROFILE\0")
        {
            chunks.push((*number, *count, data));
        }
    });
    chunks.sort_by_key(|&(number, ..)| number);
    let is_whole = (1..)
        .zip(&chunks)
        .all(|(n, &(number, count, _))| number == n && usize::from(count) == chunks.len());
    let known = walked.is_ok() && is_whole && !chunks.is_empty();
    known.then(|| chunks.iter().flat_map(|(.., data)| data.iter().copied()).collect())
}

/// Appends an EXIF segment that has the orientation of a JPEG and nothing else, if it turns pixels.
pub(super) fn put_orientation(out: &mut Vec<u8>, header: &Header) {
    if let Some(orientation @ 2..) = header.orientation() {
        put(out, APP1, &exif_of(orientation));
    }
}

/// Returns the content of an EXIF segment (APP1) that has an orientation, 1 to 8, and nothing else.
pub fn exif_of(orientation: u8) -> [u8; 32] {
    // A TIFF header and a directory of one entry: tag 0x0112, one short number.
    let mut content = *b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    content[25] = orientation;
    content
}
