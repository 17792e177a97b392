//! Files of boxes (ISO 14496-12): AVIF and HEIC pictures, MP4 and QuickTime videos.
//!
//! The boxes of the file must fit one another and end with it, down to those that list samples. Pixels are not decoded.

use tarflume_formats::{Result, name};

use super::Looked;
use super::cursor::{Cursor, fault};

/// Boxes inside of boxes; real files have about ten.
const DEPTH: u8 = 16;
/// Boxes whose content is boxes.
const CONTAINERS: [&[u8; 4]; 12] = [
    b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf", b"edts", b"dinf", b"mvex",
    b"iprp", b"ipco",
];

/// What was found while the boxes were walked over.
#[derive(Debug, Default)]
struct Found {
    has_type: bool,
    has_movie: bool,
    has_meta: bool,
    /// Width and height of a picture item, if one is not zero.
    has_size: bool,
    /// Bytes of the file.
    length: u64,
}

/// Checks a picture: a box of its type, one that describes it, and its size.
///
/// # Errors
/// Returns the first fault.
pub(super) fn picture(bytes: &[u8]) -> Result<Looked> {
    let found = walked(bytes)?;
    if !found.has_type {
        return Err(fault(0, "it does not begin with the box 'ftyp'"));
    }
    // A sequence has a movie, and its pictures there.
    if !(found.has_movie || found.has_meta && found.has_size) {
        return Err(fault(0, "no box 'ispe' states the size of the picture"));
    }
    Ok(Looked::Whole)
}

/// Checks a video or sound: the box of the movie must be there.
///
/// # Errors
/// Returns the first fault.
pub(super) fn video(bytes: &[u8]) -> Result<Looked> {
    if !walked(bytes)?.has_movie {
        return Err(fault(
            bytes.len(),
            "the box 'moov' is missing: the recording was not finished",
        ));
    }
    Ok(Looked::Whole)
}

fn walked(bytes: &[u8]) -> Result<Found> {
    let mut found = Found { length: bytes.len() as u64, ..Found::default() };
    let mut cursor = Cursor::new(bytes);
    if !matches!(bytes.get(4..8), Some(b"ftyp" | b"moov" | b"mdat" | b"wide" | b"free" | b"skip")) {
        return Err(fault(0, "it does not begin with a box of a movie or picture"));
    }
    while !cursor.is_done() {
        one(&mut cursor, &mut found, 0)?;
    }
    Ok(found)
}

/// Walks over one box.
fn one(cursor: &mut Cursor<'_>, found: &mut Found, depth: u8) -> Result<()> {
    let at = cursor.at();
    // QuickTime ends some lists with four zeros.
    if depth > 0 && cursor.left() == 4 && cursor.rest() == [0; 4] {
        return cursor.take(4, "zeros").map(drop);
    }
    let short = u32::from_be_bytes(cursor.array("the length of a box")?);
    let kind: [u8; 4] = cursor.array("the name of a box")?;
    let shown = name::shown(&kind);
    let what = format!("the box '{shown}'");
    let head = if short == 1 { 16 } else { 8 };
    let body = match short {
        0 if depth == 0 => cursor.left() as u64,
        1 => {
            let long = u64::from_be_bytes(cursor.array(&what)?);
            long.checked_sub(head).ok_or_else(|| too_short(at, &shown))?
        }
        _ => u64::from(short).checked_sub(head).ok_or_else(|| too_short(at, &shown))?,
    };
    let from = cursor.at();
    let body = cursor.take(body, &what)?;
    note(&kind, body, from, found)?;
    let inner = match &kind {
        b"meta" => usize::from(body.get(4..8).is_none_or(|kind| kind != b"hdlr")) * 4,
        kind if CONTAINERS.contains(&kind) => 0,
        _ => return Ok(()),
    };
    if depth == DEPTH {
        return Err(fault(at, format!("more than {DEPTH} boxes are inside one another")));
    }
    let mut boxes = Cursor::from(body, inner);
    while !boxes.is_done() {
        one(&mut boxes, found, depth + 1).map_err(|error| {
            let byte = error.place().byte.unwrap_or(0) + from as u64;
            error.with_byte(byte)
        })?;
    }
    Ok(())
}

fn too_short(at: usize, shown: &str) -> tarflume_formats::Error {
    fault(at, format!("the box '{shown}' states fewer bytes than its own header has"))
}

/// Notes what a box says.
fn note(kind: &[u8; 4], body: &[u8], at: usize, found: &mut Found) -> Result<()> {
    match kind {
        b"ftyp" if body.len() < 8 => return Err(fault(at, "the box 'ftyp' has no brand")),
        b"ftyp" => found.has_type = true,
        b"moov" => found.has_movie = true,
        b"meta" => found.has_meta = true,
        b"ispe" => {
            let mut cursor = Cursor::from(body, 4);
            let width = u32::from_be_bytes(cursor.array("the box 'ispe'")?);
            let height = u32::from_be_bytes(cursor.array("the box 'ispe'")?);
            if width == 0 || height == 0 {
                return Err(fault(at, format!("the picture has no pixels: {width} x {height}")));
            }
            found.has_size = true;
        }
        b"stco" => chunks::<4>(body, found.length)?,
        b"co64" => chunks::<8>(body, found.length)?,
        _ => {}
    }
    Ok(())
}

/// Checks that all chunks of a track begin in the file.
fn chunks<const N: usize>(body: &[u8], length: u64) -> Result<()> {
    let mut cursor = Cursor::from(body, 4);
    let count = u64::from(u32::from_be_bytes(cursor.array("a list of chunks")?));
    let list = cursor.take(count.saturating_mul(N as u64), "a list of chunks")?;
    for (number, chunk) in list.chunks_exact(N).enumerate() {
        let place = chunk.iter().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
        if place >= length {
            let text = format!(
                "chunk {number} of a track is at byte {place}, behind the end of the file at {length}"
            );
            return Err(fault(0, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 8).to_be_bytes();
        [&length[..], kind, body].concat()
    }

    fn movie(chunk: u32) -> Vec<u8> {
        let list = [[0, 0, 0, 0], [0, 0, 0, 1], chunk.to_be_bytes()].concat();
        let mut track = boxed(b"stco", &list);
        for kind in [b"stbl", b"minf", b"mdia", b"trak", b"moov"] {
            track = boxed(kind, &track);
        }
        [boxed(b"ftyp", b"isom\0\0\0\0isom"), boxed(b"mdat", &[1; 100]), track].concat()
    }

    #[test]
    fn the_boxes_of_a_video_fit_and_have_a_movie() {
        let whole = movie(28);
        assert_eq!(video(&whole).unwrap(), Looked::Whole);
        for length in 0..whole.len() {
            assert!(video(&whole[..length]).is_err(), "cut to {length}");
        }
        assert!(video(&movie(5000)).unwrap_err().text().contains("behind the end"));
        let without = [boxed(b"ftyp", b"isom\0\0\0\0"), boxed(b"mdat", &[1; 9])].concat();
        assert!(video(&without).unwrap_err().text().contains("'moov' is missing"));
        assert!(video(b"a text that is no video").is_err());
        let mut deep = boxed(b"moov", b"");
        (0..40).for_each(|_| deep = boxed(b"moov", &deep));
        assert!(video(&deep).is_err());
    }

    fn avif(width: u32) -> Vec<u8> {
        let ispe = [[0; 4], width.to_be_bytes(), 9u32.to_be_bytes()].concat();
        let inner = boxed(b"iprp", &boxed(b"ipco", &boxed(b"ispe", &ispe)));
        let meta = boxed(b"meta", &[&[0; 4][..], &inner].concat());
        [boxed(b"ftyp", b"avif\0\0\0\0avif"), meta, boxed(b"mdat", &[7; 30])].concat()
    }

    #[test]
    fn a_picture_states_its_size() {
        let whole = avif(12);
        assert_eq!(picture(&whole).unwrap(), Looked::Whole);
        for length in 0..whole.len() - 38 {
            assert!(picture(&whole[..length]).is_err(), "cut to {length}");
        }
        assert!(picture(&whole[..whole.len() - 1]).is_err());
        assert!(picture(&avif(0)).unwrap_err().text().contains("no pixels"));
        assert!(picture(&movie(28)).is_ok(), "a sequence of pictures is a movie");
    }
}
