//! Matroska and WebM: the elements of EBML (RFC 8794) that are outermost, and those of a segment.

use tarflume_formats::Result;

use super::Looked;
use super::cursor::{Cursor, fault};

const HEADER: u64 = 0x1a45_dfa3;
const SEGMENT: u64 = 0x1853_8067;
const TRACKS: u64 = 0x1654_ae6b;
const CLUSTER: u64 = 0x1f43_b675;

/// Checks that the elements fit one another and end with the file, and that tracks are described. A live recording does
/// not state the length of its segment or of its clusters: there the elements are walked over as far as they state it.
///
/// # Errors
/// Returns the first fault.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    let head = element(&mut cursor)?;
    let Some(length) = head.length.filter(|_| head.id == HEADER) else {
        return Err(fault(0, "it does not begin with the header of EBML"));
    };
    cursor.take(length, "the header of EBML")?;
    let mut has_tracks = false;
    let mut has_segment = false;
    while !cursor.is_done() {
        let at = cursor.at();
        let found = element(&mut cursor)?;
        has_tracks |= found.id == TRACKS;
        match (found.id, found.length) {
            (SEGMENT, length) => {
                has_segment = true;
                // Its elements follow: the length is compared, and the walk goes on inside.
                let left = cursor.left() as u64;
                if let Some(length) = length.filter(|&length| length > left) {
                    let text =
                        format!("the segment states {length} bytes, {left} are there: it is cut");
                    return Err(fault(at, text));
                }
            }
            (_, Some(length)) => drop(cursor.take(length, "an element")?),
            (CLUSTER, None) => {}
            (id, None) => {
                return Err(fault(at, format!("the element {id:#x} does not state its length")));
            }
        }
    }
    if !has_segment {
        return Err(fault(bytes.len(), "it has no segment"));
    }
    if has_tracks { Ok(Looked::Whole) } else { Err(fault(bytes.len(), "it describes no tracks")) }
}

/// The id of an element, and the bytes that follow; `None` if it does not state them.
struct Element {
    id: u64,
    length: Option<u64>,
}

fn element(cursor: &mut Cursor<'_>) -> Result<Element> {
    let at = cursor.at();
    let id = number(cursor, true)?;
    if id.width > 4 {
        return Err(fault(at, "there is no element here"));
    }
    let length = number(cursor, false)?;
    let unknown = (1u64 << (7 * length.width)) - 1;
    Ok(Element { id: id.value, length: Some(length.value).filter(|&length| length != unknown) })
}

/// A number whose first bits state its width in bytes.
struct Number {
    value: u64,
    width: u32,
}

fn number(cursor: &mut Cursor<'_>, with_marker: bool) -> Result<Number> {
    let at = cursor.at();
    let first = cursor.byte("an element")?;
    let width = first.leading_zeros() + 1;
    if width > 8 {
        return Err(fault(at, "there is no element here"));
    }
    let kept = if with_marker { first } else { first & (0xff_u16 >> width) as u8 };
    let rest = cursor.take(u64::from(width) - 1, "an element")?;
    let value = rest.iter().fold(u64::from(kept), |sum, &byte| sum << 8 | u64::from(byte));
    Ok(Number { value, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element_of(id: &[u8], body: &[u8]) -> Vec<u8> {
        [id, &[0x40 | (body.len() >> 8) as u8, body.len() as u8], body].concat()
    }

    fn video(segment_length: Option<usize>) -> Vec<u8> {
        let tracks = element_of(&[0x16, 0x54, 0xae, 0x6b], b"tracks");
        let cluster = element_of(&[0x1f, 0x43, 0xb6, 0x75], &[3; 50]);
        let inner = [tracks, cluster].concat();
        let head =
            element_of(&[0x1a, 0x45, 0xdf, 0xa3], &[0x42, 0x82, 0x84, b'w', b'e', b'b', b'm']);
        let mut out = [&head[..], &[0x18, 0x53, 0x80, 0x67, 0x01]].concat();
        match segment_length {
            Some(more) => out.extend(&((inner.len() + more) as u64).to_be_bytes()[1..]),
            None => out.extend([0xff; 7]),
        }
        [out, inner].concat()
    }

    #[test]
    fn elements_fit_and_describe_tracks() {
        let whole = video(Some(0));
        assert_eq!(check(&whole).unwrap(), Looked::Whole);
        assert_eq!(check(&video(None)).unwrap(), Looked::Whole);
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut to {length}");
        }
        assert!(check(&video(Some(1))).unwrap_err().text().contains("it is cut"));
        assert!(check(b"RIFF....").is_err());
    }
}
