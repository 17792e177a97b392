//! The EXIF block and the XMP packet of a PNG: in their own chunks, or as ImageMagick writes them into texts. They may
//! precede or follow the pixels.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::formats::png;

/// Maximum bytes of a compressed text that are decompressed. The orientation is near the start of its block.
const LONGEST: u64 = 256 << 10;
/// Keywords of ImageMagick: a hexadecimal dump of the block, or of an APP1 segment of a JPEG.
const RAW_EXIF: &[u8] = b"Raw profile type exif";
const RAW_XMP: &[u8] = b"Raw profile type xmp";
const RAW_APP1: &[u8] = b"Raw profile type APP1";
/// The keyword of XMP.
const XMP: &[u8] = b"XML:com.adobe.xmp";
/// Lines of a dump before its digits: an empty one, the name and the length.
const HEAD: usize = 3;
/// What APP1 begins with.
const APP1_EXIF: &[u8] = b"Exif\0\0";
const APP1_XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// The metadata that can state an orientation.
#[derive(Debug, Default)]
pub(in crate::formats) struct PngMetadata<'a> {
    exif_chunk: Option<&'a [u8]>,
    xmp_text: Option<Cow<'a, [u8]>>,
    raw_exif: Option<Vec<u8>>,
    raw_xmp: Option<Vec<u8>>,
    raw_app1: Option<Vec<u8>>,
}

impl<'a> PngMetadata<'a> {
    /// Reads the chunks of a file. The first of several chunks of a kind counts.
    pub(in crate::formats) fn of(bytes: &'a [u8]) -> PngMetadata<'a> {
        let mut found = PngMetadata::default();
        for (kind, data) in png::chunks(bytes) {
            match &kind {
                b"eXIf" => found.exif_chunk = found.exif_chunk.or(Some(data)),
                b"tEXt" | b"zTXt" | b"iTXt" => found.take_text(kind, data),
                _ => {}
            }
        }
        found
    }

    fn take_text(&mut self, kind: [u8; 4], data: &'a [u8]) {
        let Some((keyword, rest)) = split(data) else { return };
        match keyword {
            XMP if self.xmp_text.is_none() => self.xmp_text = text(kind, rest),
            RAW_EXIF => take_dump(&mut self.raw_exif, kind, rest),
            RAW_XMP => take_dump(&mut self.raw_xmp, kind, rest),
            RAW_APP1 => take_dump(&mut self.raw_app1, kind, rest),
            _ => {}
        }
    }

    /// The EXIF block. The chunk precedes the dumps.
    pub(in crate::formats) fn exif(&self) -> Option<&[u8]> {
        let app1 = self.raw_app1.as_deref().filter(|app1| app1.starts_with(APP1_EXIF));
        self.exif_chunk.or(self.raw_exif.as_deref()).or(app1)
    }

    /// The XMP packet.
    pub(in crate::formats) fn xmp(&self) -> Option<&[u8]> {
        let app1 = self.raw_app1.as_deref().and_then(|app1| app1.strip_prefix(APP1_XMP));
        self.xmp_text.as_deref().or(self.raw_xmp.as_deref()).or(app1)
    }
}

/// Keeps the first dump of a kind.
fn take_dump(kept: &mut Option<Vec<u8>>, kind: [u8; 4], rest: &[u8]) {
    if kept.is_none() {
        *kept = text(kind, rest).map(|text| from_dump(&text));
    }
}

/// The bytes before the next zero and after it.
fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let zero = data.iter().position(|&byte| byte == 0)?;
    Some((&data[..zero], &data[zero + 1..]))
}

/// The text of a chunk whose data continue with `rest` after the keyword.
fn text<'a>(kind: [u8; 4], rest: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match &kind {
        b"tEXt" => Some(Cow::Borrowed(rest)),
        // One byte for the method of compression; there is one method.
        b"zTXt" => Some(Cow::Owned(decompressed(rest.get(1..)?))),
        _ => {
            let (&[is_compressed, _], rest) = rest.split_first_chunk::<2>()?;
            let (_language, rest) = split(rest)?;
            let (_translated, rest) = split(rest)?;
            Some(match is_compressed {
                0 => Cow::Borrowed(rest),
                _ => Cow::Owned(decompressed(rest)),
            })
        }
    }
}

/// As much of a text as can be decompressed.
fn decompressed(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // Damaged metadata are used as far as they go.
    _ = ZlibDecoder::new(data).take(LONGEST).read_to_end(&mut text);
    text
}

/// The bytes that a dump of ImageMagick shows, up to the first character that is no digit.
fn from_dump(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|&byte| byte == b'\n').skip(HEAD);
    let digits = lines.flatten().filter(|byte| !byte.is_ascii_whitespace());
    let values = digits.map_while(|&digit| char::from(digit).to_digit(16));
    let values: Vec<u8> = values.map(|value| value as u8).collect();
    values.as_chunks::<2>().0.iter().map(|&[high, low]| high << 4 | low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_read_across_lines_and_up_to_its_damage() {
        assert_eq!(from_dump(b"\nexif\n      5\n4578\n69 66\r\n00"), b"Exif\0");
        assert_eq!(from_dump(b"\nexif\n      5\n4578xx69"), b"Ex");
        assert_eq!(from_dump(b"45786966"), b"");
        assert_eq!(from_dump(b"\n\n\n457"), b"E");
    }

    #[test]
    fn a_text_that_expands_beyond_measure_is_cut() {
        let mut zeros = flate2::read::ZlibEncoder::new(
            std::io::repeat(0).take(64 << 20),
            flate2::Compression::fast(),
        );
        let mut packed = Vec::new();
        zeros.read_to_end(&mut packed).unwrap();
        assert_eq!(decompressed(&packed).len() as u64, LONGEST);
    }
}
