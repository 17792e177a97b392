//! Sound: WAV, FLAC and MP3. Headers and lengths; samples are not decoded.

use tarflume_formats::{Result, name};

use super::Looked;
use super::cursor::{Cursor, fault};

/// A length that a program writes which does not know it: to a pipe.
const UNKNOWN: [u32; 2] = [0, u32::MAX];

/// Checks the chunks of a WAV file (RIFF and RF64): format and data are there, and the data end in the file.
///
/// # Errors
/// Returns the first fault.
pub(super) fn wave(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    let kind: [u8; 4] = cursor.array("the header")?;
    let _length: [u8; 4] = cursor.array("the header")?;
    if !matches!(&kind, b"RIFF" | b"RF64" | b"BW64") || cursor.array::<4>("the header")? != *b"WAVE"
    {
        return Err(fault(0, "it is no WAV file: it does not begin with RIFF and WAVE"));
    }
    let mut has_format = false;
    let mut wide = None;
    while cursor.left() >= 8 {
        let at = cursor.at();
        let chunk: [u8; 4] = cursor.array("a chunk")?;
        let length = u32::from_le_bytes(cursor.array("a chunk")?);
        let what = format!("the chunk '{}'", name::shown(&chunk));
        match &chunk {
            b"data" if !has_format => return Err(fault(at, "the data have no chunk 'fmt '")),
            b"data" => {
                let stated = wide.filter(|_| length == u32::MAX).unwrap_or(u64::from(length));
                if wide.is_none() && UNKNOWN.contains(&length) {
                    return Ok(Looked::Whole); // the data are the rest
                }
                cursor.take(stated, &what)?;
                return Ok(Looked::Whole);
            }
            _ => {}
        }
        let body = cursor.take(u64::from(length), &what)?;
        has_format |= &chunk == b"fmt " && body.len() >= 16;
        if &chunk == b"ds64" {
            wide =
                body.get(8..16).and_then(|size| size.first_chunk()).map(|b| u64::from_le_bytes(*b));
        }
        if length % 2 == 1 && !cursor.is_done() {
            cursor.byte("padding")?;
        }
    }
    Err(fault(bytes.len(), "it has no chunk 'data'"))
}

/// Checks the blocks of metadata of a FLAC file, and that a frame follows them.
///
/// # Errors
/// Returns the first fault.
pub(super) fn flac(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    skip_tag(&mut cursor)?;
    let at = cursor.at();
    if cursor.array::<4>("the header")? != *b"fLaC" {
        return Err(fault(at, "it is no FLAC file: it does not begin with fLaC"));
    }
    let mut is_first = true;
    loop {
        let at = cursor.at();
        let [kind, a, b, c] = cursor.array("a block of metadata")?;
        let length = u32::from_be_bytes([0, a, b, c]);
        if is_first && (kind & 0x7f != 0 || length != 34) {
            return Err(fault(at, "its first block is not that of the stream"));
        }
        cursor.take(length.into(), "a block of metadata")?;
        is_first = false;
        if kind & 0x80 != 0 {
            break;
        }
    }
    match cursor.rest() {
        [0xff, 0xf8 | 0xf9, ..] => Ok(Looked::Whole),
        _ => Err(fault(cursor.at(), "no frame follows the metadata")),
    }
}

/// Checks the tag of an MP3 file, and its first frames.
///
/// # Errors
/// Returns the first fault.
pub(super) fn mp3(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    skip_tag(&mut cursor)?;
    // Encoders pad a tag with zeros.
    let zeros = cursor.rest().iter().take_while(|&&byte| byte == 0).count();
    cursor.take(zeros as u64, "padding")?;
    for _ in 0..FRAMES {
        if cursor.is_done() || is_trailer(cursor.rest()) {
            break;
        }
        let at = cursor.at();
        let Some(length) = frame_bytes(cursor.rest()) else {
            return Err(fault(at, "no frame of MP3 begins here"));
        };
        cursor.take(length, "a frame")?;
    }
    if cursor.at() == zeros { Err(fault(0, "it has no frame")) } else { Ok(Looked::Whole) }
}

/// Frames that are looked at.
const FRAMES: usize = 2;

/// Skips the tag that many programs write before the sound.
fn skip_tag(cursor: &mut Cursor<'_>) -> Result<()> {
    if !cursor.rest().starts_with(b"ID3") {
        return Ok(());
    }
    let head: [u8; 10] = cursor.array("the tag ID3")?;
    // Seven bits of each byte count.
    let length = head[6..].iter().fold(0, |sum: u64, &byte| sum << 7 | u64::from(byte & 0x7f));
    cursor.take(length, "the tag ID3").map(drop)
}

fn is_trailer(bytes: &[u8]) -> bool {
    [&b"TAG"[..], b"APETAGEX", b"LYRICS"].iter().any(|tag| bytes.starts_with(tag))
}

/// Returns the bytes of the frame that begins here; `None` if none does.
fn frame_bytes(bytes: &[u8]) -> Option<u64> {
    /// Kilobits a second of layer 3, MPEG 1 and MPEG 2.
    const FIRST: [u64; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const SECOND: [u64; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let &[first, second, third, _] = bytes.first_chunk()?;
    let version = (second >> 3) & 3;
    if first != 0xff || second & 0xe0 != 0xe0 || version == 1 || (second >> 1) & 3 != 1 {
        return None;
    }
    let is_first = version == 3;
    let rates = if is_first { FIRST } else { SECOND };
    let rate = *rates.get(usize::from(third >> 4)).filter(|&&rate| rate > 0)? * 1000;
    let hertz = *[44_100, 48_000, 32_000].get(usize::from((third >> 2) & 3))?;
    let hertz = match version {
        3 => hertz,
        2 => hertz / 2,
        _ => hertz / 4,
    };
    let samples = if is_first { 144 } else { 72 };
    Some(samples * rate / hertz + u64::from((third >> 1) & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(stated: u32, data: usize) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0".to_vec();
        out.extend([1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0]);
        out.extend(b"data");
        out.extend(stated.to_le_bytes());
        out.extend(vec![5; data]);
        out
    }

    #[test]
    fn the_data_of_a_wave_end_in_the_file() {
        assert!(wave(&wav(20, 20)).is_ok() && wave(&wav(20, 21)).is_ok());
        assert!(wave(&wav(u32::MAX, 20)).is_ok(), "written to a pipe");
        let whole = wav(20, 20);
        for length in 0..whole.len() {
            assert!(wave(&whole[..length]).is_err(), "cut to {length}");
        }
        assert!(wave(b"RIFF\0\0\0\0WEBPVP8 ").is_err());
    }

    #[test]
    fn the_metadata_of_a_flac_end_at_a_frame() {
        let mut whole = b"fLaC\0\0\0\x22".to_vec();
        whole.extend([0; 34]);
        whole.extend([0x84, 0, 0, 2, 1, 1, 0xff, 0xf8, 0, 0]);
        assert!(flac(&whole).is_ok());
        for length in 0..whole.len() - 2 {
            assert!(flac(&whole[..length]).is_err(), "cut to {length}");
        }
        let tagged = [&b"ID3\x04\0\0\0\0\0\x03abc"[..], &whole].concat();
        assert!(flac(&tagged).is_ok());
    }

    #[test]
    fn an_mp3_begins_with_frames() {
        // 128 kilobits at 44.1 kHz: 417 bytes.
        let mut frame = vec![0xff, 0xfb, 0x90, 0];
        frame.resize(417, 0);
        let whole = [&frame[..], &frame, &frame].concat();
        assert!(mp3(&whole).is_ok() && mp3(&frame).is_ok());
        assert!(mp3(&frame[..300]).is_err() && mp3(b"").is_err() && mp3(b"a text").is_err());
        assert!(mp3(&[&frame[..], b"garbage"].concat()).is_err());
        assert!(mp3(&[&frame[..], b"TAG and more"].concat()).is_ok());
    }
}
