//! Which JPEGs a device decodes: what the hardware takes by NVIDIA's documents, less what was never seen
//! to be right. Looks at headers; nothing is called here.
//!
//! Everything else stays with the CPU, which decodes it or says what is wrong: damage upsets the library,
//! and one such picture fails a whole batch.

use std::fmt;

use tarflume_jpeg::{Header, whole};

/// How the colors of a picture are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fit {
    /// One component.
    Gray,
    /// Color as fine as luma.
    Yuv444,
    /// Half as fine across.
    Yuv422,
    /// Half as fine in both directions.
    Yuv420,
    /// Half as fine down.
    Yuv440,
}

impl Fit {
    /// All of them.
    pub const ALL: [Fit; 5] = [Fit::Gray, Fit::Yuv444, Fit::Yuv422, Fit::Yuv420, Fit::Yuv440];
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fit::Gray => "one component",
            Fit::Yuv444 => "4:4:4",
            Fit::Yuv422 => "4:2:2",
            Fit::Yuv420 => "4:2:0",
            Fit::Yuv440 => "4:4:0",
        })
    }
}

/// Whether a device decodes a picture of this header.
///
/// # Errors
/// It does not: why, in words.
pub fn takes(header: &Header) -> Result<Fit, &'static str> {
    // Arithmetic, of 12 bits, lossless, progressive, of four components, of several scans.
    if let Some(why) = header.without_entry_points() {
        return Err(why);
    }
    if !header.is_baseline() {
        return Err("it is sequential, but not baseline");
    }
    if header.channels() == 3 && !header.is_luma_first() {
        return Err("its colors are stored as red, green and blue");
    }
    let mut blocks = [(0, 0); 3];
    for (each, found) in blocks.iter_mut().zip(header.blocks_of_mcu()) {
        *each = found;
    }
    match (header.channels(), blocks) {
        (1, _) => Ok(Fit::Gray),
        (3, [(1, 1), (1, 1), (1, 1)]) => Ok(Fit::Yuv444),
        (3, [(2, 1), (1, 1), (1, 1)]) => Ok(Fit::Yuv422),
        (3, [(2, 2), (1, 1), (1, 1)]) => Ok(Fit::Yuv420),
        (3, [(1, 2), (1, 1), (1, 1)]) => Ok(Fit::Yuv440),
        _ => Err("its colors are sampled in an unusual way"),
    }
}

/// The header of a JPEG that is whole and that a device decodes. Huffman codes are not looked at: damage
/// among them is seen by the library, if at all.
///
/// # Errors
/// Why a device does not decode it, in words.
pub fn checked(bytes: &[u8]) -> Result<Header, String> {
    let damaged = |error: tarflume_jpeg::Error| match error.byte() {
        Some(byte) => format!("it is damaged at byte {byte}: {}", error.text()),
        None => format!("it is damaged: {}", error.text()),
    };
    let header = Header::parse(bytes).map_err(damaged)?;
    takes(&header)?;
    whole(bytes).map_err(damaged)?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};

    use super::*;

    #[test]
    fn baseline_pictures_of_usual_sampling_are_taken_and_others_are_refused_in_words() {
        let of = |kind| {
            let jpeg = Photo::new(40, 24, kind).encode(1).unwrap();
            checked(&jpeg).map(|header| takes(&header).unwrap())
        };
        assert_eq!(of(PhotoKind::Yuv444), Ok(Fit::Yuv444));
        assert_eq!(of(PhotoKind::Yuv422), Ok(Fit::Yuv422));
        assert_eq!(of(PhotoKind::Yuv420), Ok(Fit::Yuv420));
        assert_eq!(of(PhotoKind::Gray), Ok(Fit::Gray));
        assert_eq!(of(PhotoKind::Exif(6)), Ok(Fit::Yuv420));
        assert!(of(PhotoKind::Progressive).unwrap_err().contains("progressive"));
        assert!(of(PhotoKind::Cmyk).unwrap_err().contains("four components"));
    }

    /// A frame header of another kind, with all else as it was.
    fn changed(change: impl Fn(&mut [u8])) -> Result<Fit, String> {
        let mut jpeg = PHOTOS[0].jpeg.to_vec();
        let at = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        change(&mut jpeg[at..]);
        checked(&jpeg).map(|header| takes(&header).unwrap())
    }

    #[test]
    fn kinds_that_look_nearly_right_are_refused() {
        assert!(changed(|_| ()).is_ok());
        assert!(changed(|frame| frame[1] = 0xc1).unwrap_err().contains("not baseline"));
        assert!(changed(|frame| frame[1] = 0xc9).unwrap_err().contains("arithmetically"));
        assert!(changed(|frame| frame[4] = 12).unwrap_err().contains("8 bits"));
        // 4:1:1.
        assert!(changed(|frame| frame[11] = 0x41).unwrap_err().contains("unusual"));
        // Components that are called R, G and B are refused, too: here the scan's names are others.
        assert!(changed(|frame| frame[10] = b'R').unwrap_err().contains("damaged"));
    }

    #[test]
    fn what_was_cut_is_refused_wherever_it_was_cut() {
        let jpeg = PHOTOS[1].jpeg;
        for length in [0, 1, 20, 300, jpeg.len() / 2, jpeg.len() - 2] {
            assert!(checked(&jpeg[..length]).unwrap_err().contains("damaged"), "{length} bytes");
        }
    }
}
